/* SPDX-License-Identifier: Apache-2.0 */
/* dev_child.h - a daemon that `edl dev` runs: started, noticed when it dies, started again */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

struct edl_error;

struct dev_child {
    sd_event *event;          /* borrowed */
    char *name;               /* "scheduler", "node-1"; owned */
    char **argv;              /* NULL-terminated, owned */
    char *log_path;           /* stdout and stderr, appended; owned */
    pid_t pid;                /* 0: not running */
    int pidfd;                /* -1: not running */
    unsigned failures;        /* deaths in a row, each soon after the start */
    uint64_t started_us;      /* boot time */
    sd_event_source *restart; /* armed while waiting to be started again, owned */
};

/* dev_child_new - argv is copied; nothing is started */
struct dev_child *dev_child_new(sd_event *event, const char *name, const char *const *argv,
                                const char *log_path);
struct dev_child *dev_child_free(struct dev_child *child); /* does not kill */

/* dev_child_set - replaces the argument after `option` */
void dev_child_set(struct dev_child *child, const char *option, const char *value);

int dev_child_start(struct dev_child *child, struct edl_error *error);

/* dev_child_signal - nothing when it does not run */
void dev_child_signal(struct dev_child *child, int number);

/* dev_child_ended - to be called when its pid was reaped: forgets the pid, says so on stderr
 * With restart it is started again after a back-off of 100 ms to 5 s. */
void dev_child_ended(struct dev_child *child, const siginfo_t *how, bool restart);

/* dev_child_cancel - not to be started again */
void dev_child_cancel(struct dev_child *child);

/* dev_child_print_log - the last lines of its log on stderr */
void dev_child_print_log(const struct dev_child *child);
