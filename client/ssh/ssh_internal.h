/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_internal.h - what a session and its two transports share; included by client/ssh/ only
 *
 * A transport is driven by the session: begin, the answers of a person, run, end. It tells the
 * session what happened by the functions below, always from the loop. Behind each of those that may
 * call a handler stands the question ssh_session_goes_on: the handler may have freed the session,
 * or the host goes on with the other transport. Then the transport returns and touches nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "client/ssh/ssh_config.h"
#include "client/ssh/ssh_known_hosts.h"
#include "client/ssh/ssh_lines.h"
#include "client/ssh/ssh_session.h"

/* What a session waits for: name, seconds that it may take, and what is said when it took longer.
 * 0 seconds: a person thinks. */
#define SSH_STAGE_MAP(XX)                                                                          \
    XX(SSH_STAGE_PERSON, 0, SSH_FAULT_NONE, "", "")                                                \
    XX(SSH_STAGE_CONFIG, 10, SSH_FAULT_HERE, "ssh -G does not end",                                \
       "look at Match exec in ssh_config")                                                         \
    XX(SSH_STAGE_RESOLVE, 10, SSH_FAULT_RESOLVE, "the name servers do not answer",                 \
       "look at /etc/resolv.conf, or write an address instead of the name")                        \
    XX(SSH_STAGE_CONNECT, 5, SSH_FAULT_CONNECT, "it does not answer",                              \
       "is it on, and does a firewall drop what is sent to the port of ssh?")                      \
    XX(SSH_STAGE_HANDSHAKE, 10, SSH_FAULT_PROTOCOL,                                                \
       "something listens there, but it is no ssh server, or it hangs",                            \
       "look at the port; on that machine: systemctl restart ssh")                                 \
    XX(SSH_STAGE_LOGIN, 10, SSH_FAULT_SILENT, "it does not answer any more while logging in",      \
       "is it still on? Try it again")                                                             \
    XX(SSH_STAGE_AGENT, 30, SSH_FAULT_HERE, "the ssh agent does not answer",                       \
       "does it ask you something? Look with ssh-add -l; IdentityAgent none does without it")      \
    XX(SSH_STAGE_PROGRAM, 30, SSH_FAULT_SILENT, "ssh does not get in, and does not say why",       \
       "try ssh yourself; is the machine on?")                                                     \
    XX(SSH_STAGE_RUN, 10, SSH_FAULT_SILENT, "it does not answer any more while a script runs",     \
       "is it still on? Try it again, nothing is half done")

enum ssh_stage {
#define XX(name, seconds, fault, text, remedy) name,
    SSH_STAGE_MAP(XX)
#undef XX
};

#define SSH_INPUT_PIECE ((size_t)256 * 1024) /* of a file that is sent */

/* The script that runs, and how far its input is. */
struct ssh_job {
    char *command; /* owned; NULL: none */
    uint8_t *bytes;
    size_t n_bytes, at; /* of bytes, and where the next one to be sent is */
    int fd;             /* borrowed; -1: none */
    uint64_t sent_bytes;
    struct ssh_lines out, err;
    char before[200]; /* the last line before the script began */
    uint64_t started_us, got_before_bytes, got_bytes;
};

struct ssh_transport_ops {
    enum ssh_transport transport;
    void (*begin)(struct ssh_session *session);
    void (*accepted)(struct ssh_session *session); /* the host key that was shown */
    /* it is wiped after the call; NULL: there is none */
    void (*password)(struct ssh_session *session, const char *password);
    void (*run)(struct ssh_session *session); /* session->job */
    void (*end)(struct ssh_session *session); /* frees impl; says goodbye when idle */
};

extern const struct ssh_transport_ops ssh_libssh2_ops, ssh_program_ops;

enum ssh_state {
    SSH_STATE_OPENING,
    SSH_STATE_KEY_SHOWN,
    SSH_STATE_PASSWORD_ASKED,
    SSH_STATE_IDLE,
    SSH_STATE_RUNNING,
    SSH_STATE_FAILED
};

/* what the loop does next for a session; nothing is done inside a call of the caller */
enum ssh_next {
    SSH_NEXT_NONE,
    SSH_NEXT_CONFIGURED,
    SSH_NEXT_SWITCH,
    SSH_NEXT_KEY,
    SSH_NEXT_PASSWORD,
    SSH_NEXT_RUN,
};

struct ssh_session {
    sd_event *event; /* ref */
    struct ssh_handlers handlers;
    void *userdata;
    struct ssh_target target;   /* strings owned */
    struct ssh_options options; /* strings owned; transport as it was asked for */
    struct ssh_config config;
    char known_name[SSH_KNOWN_NAME_MAX];

    const struct ssh_transport_ops *ops; /* NULL: not chosen yet */
    void *impl;                          /* the transport's own */
    enum ssh_transport transport;        /* the last one that was chosen */
    char why[160];                       /* why it is the program ssh; "": it is not */

    enum ssh_state state;
    enum ssh_next next;
    bool key_accepted;
    char *password; /* given, not yet told to the transport; wiped */
    uint8_t *shown; /* the host key that a person looks at */
    size_t shown_size;
    struct ssh_job job;
    unsigned int silent_s;

    struct ssh_collect *asked; /* ssh -G */
    sd_event_source *defer, *deadline;
    enum ssh_stage stage;
    unsigned int depth; /* of the loop's calls into this session */
    bool closed;        /* ssh_session_free was called inside one of them */
};

/* A transport's callback begins and ends with these; after leave the session may be gone. */
void ssh_session_enter(struct ssh_session *session);
void ssh_session_leave(struct ssh_session *session);

/* ssh_session_goes_on - false: return now */
bool ssh_session_goes_on(const struct ssh_session *session);

/* ssh_session_stage - what is waited for from now on */
void ssh_session_stage(struct ssh_session *session, enum ssh_stage stage);

/* ssh_session_fail - it is over; the host's name is put before the text */
void ssh_session_fail(struct ssh_session *session, enum ssh_fault fault, const char *remedy,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* ssh_session_fail_with - the same with an error that has text and remedy */
void ssh_session_fail_with(struct ssh_session *session, enum ssh_fault fault,
                           struct edl_error *error);

/* ssh_session_unfit - this transport cannot serve the host: the program ssh goes on, or it is over
 */
void ssh_session_unfit(struct ssh_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void ssh_session_opened(struct ssh_session *session);
void ssh_session_ask_password(struct ssh_session *session, unsigned int tried);

/* ssh_session_judge - what known_hosts say of a key (NULL: of its types only). Errors: of reading
 * a file */
int ssh_session_judge(struct ssh_session *session, const uint8_t *key, size_t size,
                      struct ssh_known_hosts *ret, struct edl_error *error);

/* ssh_session_host_key - the key that the host showed: true, go on with the login; false: it is
 * over, a person is asked, or the other transport goes on */
bool ssh_session_host_key(struct ssh_session *session, const uint8_t *key, size_t size);

/* ssh_session_add_key - a key that a person or ssh_config accepts; false: it is over */
bool ssh_session_add_key(struct ssh_session *session, const uint8_t *key, size_t size);

/* ssh_session_refused_key - a person does not accept the one that was shown */
void ssh_session_refused_key(struct ssh_session *session);

/* ssh_session_job_started - the job is given to the transport: what it may take counts from now */
void ssh_session_job_started(struct ssh_session *session);

/* ssh_session_output - what a script printed. It counts as a sign of life, up to bounds of bytes
 * and time; beyond these it is over */
void ssh_session_output(struct ssh_session *session, struct ssh_lines *stream, const char *bytes,
                        size_t size);

/* ssh_session_input - the bytes to be sent next; 0: that was all. The same bytes until
 * ssh_session_sent. false: it is over, the file cannot be read */
bool ssh_session_input(struct ssh_session *session, const uint8_t **ret, size_t *ret_size);
void ssh_session_sent(struct ssh_session *session, size_t size);

/* ssh_session_clear_job - frees and wipes what a job owns */
void ssh_session_clear_job(struct ssh_job *job);

/* ssh_session_ended - the streams are at their end, or both end lines have come. detail: what is
 * known of the end when there is none of the latter, or NULL */
void ssh_session_ended(struct ssh_session *session, const char *detail);
