/* SPDX-License-Identifier: Apache-2.0 */
/* job_shm.h - a /dev/shm of a job's own, which goes with its last process on this node
 *
 * Shared memory (shm_overview(7)) is files below /dev/shm that stay when nobody has them open.
 * Those of a job are in a folder BASE/edl/JOB.ID that is its account's. Its processes on this node
 * see it as /dev/shm (hidden.h), so that they can share memory with each other and with nobody
 * else. Each supervisor holds a shared lock (flock(2)) on the folder; the last one to let go
 * removes it. Files that a killed supervisor leaves are removed by a later one. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct edl_error;

#define JOB_SHM_BASE "/dev/shm"
#define JOB_SHM_PATH_SIZE 256

struct job_shm {
    int root_fd, fd;              /* owned; -1: there is none */
    char path[JOB_SHM_PATH_SIZE]; /* of the job's folder; "": there is none */
    char base[64];
};

/* job_shm_enter - processes_dir tells the agents of one machine apart, whose jobs may have the same
 * numbers uid, gid: the account's. Takes root, as BASE/edl is passed through by other accounts, and
 * not listed. On failure (-errno) *ret holds nothing. */
int job_shm_enter(const char *base, const char *processes_dir, uint64_t job_id, uid_t uid,
                  gid_t gid, struct job_shm *ret, struct edl_error *error);

/* job_shm_leave - after the last process of this supervisor; removes the folder with all that is in
 * it unless another supervisor of the job is there */
void job_shm_leave(struct job_shm *shm);
