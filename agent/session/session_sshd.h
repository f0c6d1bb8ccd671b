/* SPDX-License-Identifier: Apache-2.0 */
/* session_sshd.h - sshd(8) for one connection, as the account of a process
 *
 * Used by: edl-session --sshd. Tests: tests/unit/test_session_sshd.c */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* session_sshd - standard input is the connection; key may enter, and no other. The environment is
 * that of the process, and each session of sshd has it. Runs sshd in a private folder that is
 * removed behind it. The status for the end of this program */
int session_sshd(const char *key);

/* session_sshd_is_installed - the package openssh-server */
bool session_sshd_is_installed(void);

/* session_sshd_environment - the line SetEnv of its configuration: without the variables that
 * sshd sets by itself, and without those of more than one line. Pure. */
void session_sshd_environment(FILE *file, char *const *environment);

/* session_sshd_has_terminals - whether sshd of an ordinary account can hand out terminals here:
 * by the options of /dev/pts in /proc/self/mounts, in text. Pure. */
bool session_sshd_has_terminals(const char *mounts);
