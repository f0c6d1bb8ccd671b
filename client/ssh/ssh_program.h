/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_program.h - the transport by the program ssh, as its own files see it
 *
 * One ssh is the master: it logs in, runs `cat` until its input ends, and keeps a socket in a
 * folder of ours. Each script is another ssh, which goes through that socket and need not log in.
 * ssh_program.c has the master and the meaning of its end, _argv.c the options, _askpass.c
 * passwords, _run.c scripts. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "client/ssh/ssh_child.h"
#include "client/ssh/ssh_internal.h"

#define SSH_PROGRAM_DIR_MAX 80 /* a socket's path has 107 bytes, and ssh adds 18 while it binds */
#define SSH_PROGRAM_TEXT_MAX 4096

struct ssh_collect;

/* One ssh that runs. */
struct ssh_program_child {
    struct ssh_child child;
    sd_event_source *in, *out, *err, *gone;
};

struct ssh_program {
    struct ssh_session *session;
    char dir[SSH_PROGRAM_DIR_MAX]; /* "": none yet */
    struct ssh_program_child master, script;
    struct ssh_lines hello, words;   /* of the master's stdout and stderr */
    char said[SSH_PROGRAM_TEXT_MAX]; /* lines of its stderr */
    size_t said_length;
    struct ssh_collect *scan; /* asks for the host's key */
    bool scanned;
    unsigned int passwords; /* refused */
    int secret;             /* our end of the askpass pipe; -1: none */
};

enum ssh_program_use {
    SSH_PROGRAM_MASTER,          /* no password is asked for */
    SSH_PROGRAM_MASTER_PASSWORD, /* SSH_ASKPASS answers */
    SSH_PROGRAM_SCRIPT,
    SSH_PROGRAM_SCAN,
};

#define SSH_PROGRAM_ARGV_MAX 64

/* Arguments that belong to each other; owned. */
struct ssh_program_argv {
    char *items[SSH_PROGRAM_ARGV_MAX];
    size_t n;
};

/* ssh_program_argv - for this use; command NULL: `true` */
void ssh_program_argv(const struct ssh_program *this, enum ssh_program_use use, const char *command,
                      struct ssh_program_argv *ret);
void ssh_program_argv_clear(struct ssh_program_argv *argv);

/* ssh_program_path - of a file in this transport's folder */
void ssh_program_path(const struct ssh_program *this, const char *file, char ret[PATH_MAX]);

/* ssh_program_askpass - answers ssh's next prompt for a password; false: files cannot be made */
bool ssh_program_askpass(struct ssh_program *this, const char *password);

/* ssh_program_environment - ours, and how ssh asks */
char **ssh_program_environment(const struct ssh_program *this);
void ssh_program_environment_free(char **env);

/* ssh_program_run - session->job begins */
void ssh_program_run(struct ssh_program *this);

/* ssh_program_drop - forgets one, and ends it if it still runs */
void ssh_program_drop(struct ssh_program *this, struct ssh_program_child *child);

/* ssh_program_told - ends the session by what ssh said; while: what it was to do */
void ssh_program_told(struct ssh_program *this, const char *said, const char *doing);
