/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_collect.h - a short-lived program, and its output; on an sd-event loop
 *
 * Used by: ssh_config.c, ssh_connect.c, ssh_program.c. Tests: tests/integration/320-ssh.sh. */
#pragma once

#include <sys/types.h>
#include <systemd/sd-event.h>

struct edl_error;
struct ssh_collect;

#define SSH_COLLECT_MAX 65536 /* of each stream; a program that prints more is cut off */

/* status: the exit status, or 128 and a signal's number; texts are borrowed until it is freed,
 * terminated, without a NUL inside */
typedef void ssh_collect_done(void *userdata, int status, const char *out, const char *err);

/* ssh_collect_start - argv[0] is looked up in PATH; stdin is /dev/null. done is called once, from
 * the loop, and may free it. Errors: -ENOENT (no such program) and what else starting it gives */
int ssh_collect_start(sd_event *event, const char *const *argv, ssh_collect_done *done,
                      void *userdata, struct ssh_collect **ret, struct edl_error *error);

/* ssh_collect_free - ends the program if it still runs; NULL is fine; returns NULL */
struct ssh_collect *ssh_collect_free(struct ssh_collect *collect);
