/* SPDX-License-Identifier: Apache-2.0 */
/* job_command.h - a command where a document is expected: `edl submit run.sh` */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* job_command_is - whether a file is a program and no document: it begins with "#!", is an ELF
 * file, or is called *.py or *.sh. text: its beginning, of so many bytes; NULL: it cannot be read,
 * and then a name that the shell would find in PATH is a program. */
bool job_command_is(const char *path, const char *text, size_t size);

/* job_command_form - how the shell runs that program: "./run.sh", "python3 train.py", "sleep"; new
 * string. is_executable: the file may be executed as it is */
char *job_command_form(const char *path, const char *text, size_t size, bool is_executable);
