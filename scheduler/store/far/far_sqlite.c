/* SPDX-License-Identifier: Apache-2.0 */
/* far_sqlite.c - the database in the state directory as if it were far: for tests
 *
 * Whatever holds over a network is tried with it, without one. */
#include <stdlib.h>

#include "scheduler/store/far/far.h"
#include "scheduler/store/sqlite/sqlite_engine.h"
#include "shared/macro.h"

static bool is_never_late(void *userdata)
{
    (void)userdata;
    return false;
}

static int open_reader(void *userdata, struct engine **ret, struct edl_error *error)
{
    return sqlite_engine_open_beside(userdata, is_never_late, NULL, ret, error);
}

int store_far_delayed(sd_event *event, const char *path, uint64_t delay_us, struct store **store,
                      struct edl_error *error)
{
    struct far_config config = { .writer = *store,
                                 .open_reader = open_reader,
                                 .release = free,
                                 .userdata = xstrdup(path),
                                 .delay_us = delay_us };
    int r = store_far_new(event, &config, store, error);

    if (r < 0)
        free(config.userdata);
    return r;
}
