/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - command line and files of edl-scheduler */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/core/model/holdings.h"
#include "scheduler/leadership/store_url.h"
#include "scheduler/workspaces/datasets.h"
#include "scheduler/calls/listen_spec.h"
#include "scheduler/accounts/users.h"
#include "scheduler/nodes/sessions.h"
#include "scheduler/notices/notice_send.h"
#include "scheduler/workspaces/workspaces.h"
#include "shared/job_spec.h"
#include "shared/options_table.h"

struct edl_error;
struct policy;
struct shared_database;

#define SERVER_NAMES_MAX 16
#define SERVER_NAME_BYTES 254 /* with the NUL */
#define SETTINGS_MAX 64
#define SETTING_TEXT_BYTES 64
#define SCHEDULER_NAME_MAX 63
#define SCHEDULER_ADDRESS_MAX 160 /* with the NUL */

struct scheduler_options {
    char state_dir[4096 - 64]; /* room for a file name behind it */
    char port_file[4096];
    char restore_file[4096]; /* not to run, but to restore this backup; "" to run */
    char join_standby[SCHEDULER_ADDRESS_MAX]; /* not to run, but to become a standby; "" to run */
    char token[80], ca_pin[80];               /* of that */
    char store[STORE_URL_MAX]; /* a secret may be in it; "": the database of the state directory */
    const struct shared_database *database;      /* of `store`; NULL: PostgreSQL */
    char scheduler_name[SCHEDULER_NAME_MAX + 1]; /* among those of one database; "": the host's */
    char address[SCHEDULER_ADDRESS_MAX];         /* how others reach this one; "": as it listens */
    char migrate_to[4096]; /* the same: to copy the state there; it may have a password in it */
    bool json;             /* what is told of that */
    bool begin_epoch;      /* the same: the database was put back to an earlier moment */
    char former[4096];     /* what it was before: a backup of later; "": none */
    struct listen_spec listen[LISTEN_MAX];
    size_t n_listen;
    char names[SERVER_NAMES_MAX][SERVER_NAME_BYTES]; /* names by which nodes reach this machine */
    size_t n_names;
    const struct policy *policy;
    uint32_t max_load_permille;
    bool first_come; /* waiting jobs go by their turn, and users have no shares */
    struct role_defaults role_defaults; /* of jobs that do not say what they need */
    uint64_t parking_us;
    uint64_t lease_us;
    uint64_t away_us[2]; /* told when it stops in order, and when its machine ends; 0: nothing */
    struct holding_limits limits;  /* of jobs that are not over */
    struct dataset_limits dataset; /* of one job */
    struct workspace_limits workspaces;
    struct session_limits sessions;
    struct notice_ways notices;
    uint64_t notify_tries, notify_rate; /* tries of a message; messages of a user in an hour */
    uint64_t keep_jobs_bytes;           /* of jobs that are over; 0: all */
    uint64_t keep_logs_bytes;           /* of ends of processes' output; 0: all */
    uint64_t keep_events, keep_jobs, keep_us;     /* of history; 0: all */
    uint64_t keep_audit, keep_audit_us;           /* lines of the audit log; 0: all */
    bool lease_keeper_given;                      /* an option of an earlier version */
    enum user_role socket_role;                   /* of accounts of this machine that have no row */
    enum user_role log_role;                      /* the least that reads output of others' jobs */
    char given[SETTINGS_MAX][SETTING_TEXT_BYTES]; /* of each setting, cut; "": its default */
    int argc;                                     /* to be read again */
    char **argv;
};

/* options_parse - scheduler.conf and scheduler.conf.d, and the command line, which wins
 * *ret_done: --help or --version was asked for and printed. ret->argv is borrowed. -EINVAL with
 * remedy; for files also what conf_read gives. */
int options_parse(int argc, char **argv, struct scheduler_options *ret, bool *ret_done,
                  struct edl_error *error);

/* options_scheduler_name_valid - of --scheduler-name */
bool options_scheduler_name_valid(const char *name);

/* options_gone - an option of an earlier version that was given, and of which nothing comes; NULL:
 * none was. The next version refuses it. */
const char *options_gone(const struct scheduler_options *options);

/* options_take - takes over from newer the options that a running scheduler can change; the
 * differing ones are in ret, as many as are returned; the text of a default is "" */
size_t options_take(struct scheduler_options *options, const struct scheduler_options *newer,
                    struct option_change ret[OPTIONS_MAX]);
