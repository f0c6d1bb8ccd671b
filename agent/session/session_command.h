/* SPDX-License-Identifier: Apache-2.0 */
/* session_command.h - which program a session runs, and with which environment
 *
 * Used by: session_program.c. Tests: tests/unit/test_session_command.c */
#pragma once

struct session_config;
struct session_target;

struct session_command {
    const char *program; /* borrowed, or its own */
    char **argv;         /* owned, with its words */
    char **environment;  /* owned, with its strings */
    const char *note;    /* static; for the person, before it starts; NULL: none */
    char *own;           /* owned */
};

/* session_command_choose - of exec and shell what was asked for, else the account's login shell, as
 * one that logs in; of ssh our own `edl-session --sshd`. Its environment is that of the process,
 * with EDL_PID, the number of that. session_command_clear in any case */
void session_command_choose(const struct session_config *config,
                            const struct session_target *target, struct session_command *ret);
void session_command_clear(struct session_command *command);
