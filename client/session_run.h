/* SPDX-License-Identifier: Apache-2.0 */
/* session_run.h - a session whose program has this process's standard streams: exec, shell, attach
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct server;
struct session_name;

struct session_run {
    struct server *server;
    const struct session_name *name;
    json_t *body;     /* borrowed: more of the request (kind, command, key, ends_job) */
    bool pty;         /* the terminal is raw, and the program has one of its own */
    bool reads;       /* standard input goes to the program; else it has none */
    bool detaches;    /* Ctrl-C leaves the program alone and ends the session only (attach) */
    bool quiet;       /* signals of the terminal mean nothing here (a ProxyCommand) */
    bool masks;       /* on a terminal its output steers nothing (output_mask.h) */
    bool no_eof;      /* the end of standard input is not told */
    int in_fd;        /* instead of standard input; 0: that */
    int out_fd;       /* instead of standard output; 0: that */
    const char *left; /* what is said when the person leaves; NULL: nothing */
    bool *ret_left;   /* becomes true then; may be NULL */
};

/* session_run - until it is over; prints failures. Returns the exit status of edl: the command's,
 * 128 and the number of the signal that ended it, or SESSION_BROKEN */
int session_run(const struct session_run *run);

/* session_body - of a kind, as job_run borrows it; command: n words, or NULL; new reference, NULL
 * after a word that is not UTF-8 was told of */
json_t *session_body(const char *kind, char *const *command, size_t n);
