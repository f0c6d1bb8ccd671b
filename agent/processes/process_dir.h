/* SPDX-License-Identifier: Apache-2.0 */
/* process_dir.h - the folder of one process: its order, its supervisor, its end
 *
 * order.json is written by the agent before anything runs, supervisor.json by the supervisor before
 * the program runs. exit.json is written once, by the holder of the folder's lock. Every file
 * appears whole or not at all (temporary file, rename). The room for exit.json is reserved before
 * the process starts: its end is on record also when the disk is full by then. Nothing waits for
 * the disk: a loss of power ends the process as well, and a folder of another boot is only cleared
 * away. The supervisor holds flock() on the folder for its life: a free lock proves that no
 * supervisor lives, and a supervisor that finds exit.json starts nothing. So no pid has to be
 * believed. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/groups/cgroup.h"
#include "agent/machine/procfs.h"
#include "shared/exit_cause.h"
#include "shared/start_fault.h"
#include "shared/unfit.h"

struct edl_error;

struct supervisor_record {
    pid_t pid;
    uint64_t start_ticks;
    char boot_id[BOOT_ID_SIZE];
    pid_t child_pid;
    uid_t uid;           /* of its processes */
    uint64_t started_us; /* boot time, of the program; 0: of a supervisor of an earlier version */
    /* of the unit that it runs in, or that its supervisor made for it; unified is "": none */
    struct cgroup_paths cgroup;
    uint64_t frozen_since_us; /* boot time: it stands still since then; 0: it runs */
    uint64_t frozen_us;       /* for so long it stood still before, in all */
};

struct exit_record {
    int exit_code;   /* 128 + signal when a signal ended it; -1 when nobody saw the end */
    int exit_signal; /* 0: none */
    enum exit_cause cause;
    char reason[256];       /* the same for people */
    char error[256];        /* the line of its output that tells its error; "": none does */
    enum unfit unfit;       /* this node cannot run it: nothing ran */
    enum start_fault fault; /* it could not be started */
    uint64_t ended_wall_us;
    uint64_t cpu_used_us;
    uint64_t frozen_us;       /* for so long it stood still, in all */
    uint64_t error_before_us; /* so long before that its program wrote why; 0: not known */
    uint64_t orphans_reaped;  /* what the program left behind and its supervisor killed */
};

/* file_write_atomic - name in folder dir_fd, whole or not at all, on disk when this returns 0 */
int file_write_atomic(int dir_fd, const char *name, const void *data, size_t size, mode_t mode,
                      struct edl_error *error);

/* process_dir_create - makes the folder (0700) and its order.json, and reserves the room for its
 * exit.json; an existing folder is -EEXIST */
int process_dir_create(const char *path, const json_t *order, struct edl_error *error);

/* process_dir_open - descriptor of the folder */
int process_dir_open(const char *path, struct edl_error *error);

/* file_read_json - an object, a new reference. EDL_ECORRUPT: something else */
int file_read_json(int dir_fd, const char *name, json_t **ret, struct edl_error *error);

/* process_dir_lock - 0: locked (held until dir_fd is closed), -EWOULDBLOCK: a supervisor lives */
int process_dir_lock(int dir_fd);

/* Readers: -ENOENT when the file is not there (yet), EDL_ECORRUPT when it is damaged. */
int process_dir_read_order(int dir_fd, json_t **ret, struct edl_error *error);
int process_dir_read_supervisor(int dir_fd, struct supervisor_record *ret, struct edl_error *error);
int process_dir_read_exit(int dir_fd, struct exit_record *ret, struct edl_error *error);

/* process_dir_write_supervisor - and reserves the room for the next one, if there is any */
int process_dir_write_supervisor(int dir_fd, const struct supervisor_record *record,
                                 struct edl_error *error);
/* process_dir_write_promise - its program will say that it is alive within that time (promise.h),
 * for an agent that adopts it. process_dir_read_promise - 0: it promises nothing */
int process_dir_write_promise(int dir_fd, uint64_t within_us);
uint64_t process_dir_read_promise(int dir_fd);

/* process_dir_note_ooms - of the kills in its control group as its memory was used up, those behind
 * the first `from`, up to `to`, were of programs of sessions (agent/session): not the end of its
 * own program. Several may tell of the same ones. process_dir_read_ooms - how many, of all sessions
 */
void process_dir_note_ooms(int dir_fd, uint64_t from, uint64_t to);
uint64_t process_dir_read_ooms(int dir_fd);

int process_dir_write_exit(int dir_fd, const struct exit_record *record, struct edl_error *error);

/* process_dir_forget_unstarted - removes the folder if nothing of it ever ran and nothing does; a
 * supervisor that was ordered and comes later finds no folder, or a lock. 1: removed, 0: something
 * ran, or is about to */
int process_dir_forget_unstarted(const char *path, struct edl_error *error);

/* process_dir_remove - the known files, then the folder; a missing one is a success */
int process_dir_remove(const char *path, struct edl_error *error);
