/* SPDX-License-Identifier: Apache-2.0 */
/* session_request.h - a session as a person asks for it, and the agent's additions
 *
 * Pure. An entry of "sessions" in orders comes from a person by way of the scheduler: it is checked
 * whole before anything is done. Fuzzed: replay_orders. Used by: sessions.c, edl-session. Tests:
 * tests/unit/test_session_request.c */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "agent/core/process_id.h"
#include "shared/session_frame.h"

struct edl_error;

#define SESSION_ID_SIZE 33 /* 32 hex digits */
#define SESSION_WORDS_MAX 4096
#define SESSION_TERM_SIZE 64
#define SESSION_KEY_MAX 16384 /* a line of authorized_keys */

enum session_kind {
    SESSION_KIND_EXEC,
    SESSION_KIND_SHELL,
    SESSION_KIND_ATTACH,
    SESSION_KIND_FORWARD,
    SESSION_KIND_SSH,
    SESSION_KINDS
};

struct session_request {
    char id[SESSION_ID_SIZE];
    enum session_kind kind;
    struct process_id process;
    char *job;    /* its name; owned */
    char **words; /* of the command; owned, NULL-terminated, maybe none */
    bool has_pty;
    struct session_size size; /* never 0 x 0 */
    char term[SESSION_TERM_SIZE];
    char *key; /* owned; NULL: none */
};

/* What the agent tells edl-session. All texts are owned. */
struct session_config {
    char *server, *ca, *credential, *node; /* ca: NULL: none */
    char *boot_id;
    char *process_dir; /* it need not be there */
    char *program_dir;
    json_t *accounts; /* who may run processes here, by the agent's own options */
    struct session_request request;
};

/* session_request_id - whether an entry has one; else nobody can be answered */
bool session_request_id(const json_t *entry, char ret[SESSION_ID_SIZE]);

/* session_request_parse - -EINVAL with error; session_request_clear in any case */
int session_request_parse(const json_t *entry, struct session_request *ret,
                          struct edl_error *error);
void session_request_clear(struct session_request *request);

/* session_size_or_default - 80 columns and 24 rows instead of a terminal that has none */
struct session_size session_size_or_default(struct session_size size);

/* session_config_parse - what sessions.c sends; as session_request_parse. Without a request that is
 * understood the rest is there: somebody waits to hear why (request.id). */
int session_config_parse(const json_t *document, struct session_config *ret,
                         struct edl_error *error);
void session_config_clear(struct session_config *config);
