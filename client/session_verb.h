/* SPDX-License-Identifier: Apache-2.0 */
/* session_verb.h - the common part of the verbs with a session */
#pragma once

#include <systemd/sd-event.h>

struct edl_error;
struct invocation;
struct server;
struct session_name;

/* session_verb_begin - the server, and the process that a word names; prints failures. --json is
 * refused: the output is the program's. Enum status; on STATUS_OK the caller clears both. */
int session_verb_begin(const struct invocation *invocation, const char *word,
                       struct server *ret_server, struct session_name *ret_name);

/* session_verb_refuse - enum status of a command line that cannot be meant */
int session_verb_refuse(const char *remedy, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* session_verb_check - STATUS_OK, or the refusal of --json */
int session_verb_check(const struct invocation *invocation);

/* session_verb_signals - SIGINT, SIGTERM and SIGQUIT come to the loop from now on. 0, or -errno */
int session_verb_signals(sd_event *event, sd_event_signal_handler_t on_signal, void *userdata);
