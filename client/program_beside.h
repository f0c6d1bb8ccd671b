/* SPDX-License-Identifier: Apache-2.0 */
/* program_beside.h - another program of the project, in the folder of this one
 *
 * Used by: cmd_deploy.c, cmd_doctor.c, cmd_model.c, workspace_program.c, edl-paddle. */
#pragma once

struct edl_error;
struct invocation;

/* program_path - of the program with that name; *ret is the caller's. -errno with error */
int program_path(const char *name, char **ret, struct edl_error *error);

/* program_become - runs the program in this process's place; argv[0] is its name, argv ends with
 * NULL. Returns only when it cannot be started: a negative error, whose remedy names the package */
int program_become(const char *const argv[], const char *package, struct edl_error *error);

/* program_continue - the same with the options and words of a call. command: the first argument;
 * NULL: none. Returns the enum status of the error, which it has printed. */
int program_continue(const struct invocation *invocation, const char *name, const char *command,
                     const char *package);
