/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - instance 0: files of hosts, the command in its environment, the end of the others */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "mpi/host_table.h"
#include "mpi/meeting.h"

struct edl_error;

/* mpi_folder_make - a private one, below TMPDIR or /tmp; new string. It is the TMPDIR of what this
 * process starts: each part of MPI makes its folders and sockets there.
 * mpi_folder_remove - with what is in it; frees it, returns NULL; accepts NULL */
char *mpi_folder_make(struct edl_error *error);
char *mpi_folder_remove(char *folder);

/* mpi_launch - writes the files of hosts into folder, and begins the command: its pid. A command
 * that cannot be executed ends with 127, after a line on stderr.
 * interface: NULL, not known; slots: of each host in the files */
pid_t mpi_launch(const struct mpi_hosts *hosts, const char *folder, const char *interface,
                 uint64_t slots, char *const *argv, struct edl_error *error);

/* mpi_warn_unused - the command ended well and has asked no other instance for anything: it may
 * have been "rank 0 of 1" */
void mpi_warn_unused(const struct mpi_hosts *hosts, const char *folder);

/* mpi_end_slots - all instances but that one end, with success; one that does not answer ends with
 * the job */
void mpi_end_slots(const struct mpi_hosts *hosts, struct mpi_meeting *meeting, uint64_t own_index);
