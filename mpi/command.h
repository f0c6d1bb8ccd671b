/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - whether the command of a job in mode mpi starts mpirun itself, or is what mpirun is
 * to start
 *
 * A program of MPI that is started without mpirun is silently "rank 0 of 1", once in each instance.
 * So what does not start mpirun is put behind "mpirun -n N". Tests: tests/unit/test_mpi_command.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MPI_SCRIPT_BYTES_MAX 65536 /* of a script: so much of it is looked through */

/* mpi_text_launches - a text for a shell names mpirun, mpiexec, orterun, one of them with a suffix
 * (mpirun.mpich), or a script (*.sh), with or without a folder. Pure */
bool mpi_text_launches(const char *text);

/* mpi_command_launches - the command starts mpirun itself. Where its program is a file that begins
 * with "#!", its first MPI_SCRIPT_BYTES_MAX bytes are read
 * *ret_word: the word that says so, or "mpirun"; new string. It is a path if it has a folder. */
bool mpi_command_launches(char *const *argv, char **ret_word);

/* mpi_program_find - an executable file of that name in the folders of PATH, or at that path
 * Returns a new string, NULL: there is none. path: NULL, that of execvp */
char *mpi_program_find(const char *name, const char *path);

/* mpi_command_wrap - "mpirun -n N COMMAND"; the words are borrowed, the list is the caller's.
 * count: borrowed, N */
char **mpi_command_wrap(char *const *argv, char *count);
