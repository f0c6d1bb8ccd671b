/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - a thread that asks the database each second for its leader, its schedulers and its
 * copies
 *
 * It also tells the database that this scheduler is there (watch_tell).
 *
 * Used by: leadership. Tests: tests/integration/402-standby.sh. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "scheduler/leadership/shared_database.h"

struct edl_error;
struct watch;

struct watch_config {
    const struct shared_database *database;
    const char *url;         /* borrowed, as those of self are */
    struct shared_self self; /* as it is at each look */
    /* in the loop; facts NULL: it could not be asked, error tells why */
    void (*told)(const struct shared_facts *facts, const struct edl_error *error, void *userdata);
    void *userdata;
};

int watch_new(sd_event *event, const struct watch_config *config, struct watch **ret,
              struct edl_error *error);

/* watch_tell - whether looks tell the database that self is there: not before the name and the
 * address are its own */
void watch_tell(struct watch *watch, bool tells);

/* watch_ask - at once, unless it looks */
void watch_ask(struct watch *watch);

/* watch_renew - at once, over a new connection: another server may take writes now. A look that
 * runs tells nothing any more. */
void watch_renew(struct watch *watch);

/* watch_forget - the next looks let the database forget that scheduler, until one did */
void watch_forget(struct watch *watch, const char *name);

/* watch_free - waits for nothing; accepts NULL, returns NULL */
struct watch *watch_free(struct watch *watch);
