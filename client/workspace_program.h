/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_program.h - edl-workspace, started beside this program to read a folder
 *
 * Used by: workspace_send.c, workspace_list.c. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct edl_error;

struct workspace_program {
    FILE *told; /* what it prints; owned */
    pid_t pid;
};

/* workspace_program_start - argv ends with NULL; archive_fd becomes its descriptor 3, -1 none */
int workspace_program_start(const char *const argv[], int archive_fd, struct workspace_program *ret,
                            struct edl_error *error);

/* workspace_program_end - waits for it. 0; 1: it failed and has said why on standard error, or a
 * negative error */
int workspace_program_end(struct workspace_program *program, struct edl_error *error);

/* workspace_folder - a folder as it was typed; new string
 * A shell replaces "~" in front of a word only, so that --upload=~/x comes as it was typed. */
char *workspace_folder(const char *given);
