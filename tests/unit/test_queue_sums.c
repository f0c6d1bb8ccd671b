/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue_sums.c - what failed by sums alone starts once those let it */
#include <stdio.h>

#include "scheduler/core/core.h"
#include "scheduler/core/model/cluster_internal.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* Behind a gang that nodes are kept for: what waits for labels is looked at when those change,
 * though nothing came free. */
TEST(test_who_waits_starts_where_labels_change)
{
    static const uint32_t used[] = { 900, 600, 500 };
    struct world *w = world_new(3, 1000, GIB, 1000);
    struct job *waits[2];
    char name[16];

    assert_int_equal(labels_set(&w->agents[0].offer.labels, "disk", "ssd", NULL), 0);
    world_run(w, 1);
    for (size_t i = 0; i < ELEMENTS(used); i++) {
        (void)snprintf(name, sizeof name, "runs-%zu", i);
        (void)world_submit(w, world_spec(name, 1, 1, used[i], 0, 0));
        world_run(w, 1);
    }
    (void)world_submit(w, world_spec("gang", 1, 1, 1000, 0, 0)); /* node-2 is kept for it */
    for (size_t i = 0; i < ELEMENTS(waits); i++) {               /* the first one starts */
        struct job_spec *spec = world_spec(i == 0 ? "tiny" : "waits", 1, 1, 100 + 300 * i, 0, 0);

        assert_int_equal(role_select(&spec->roles[0], "disk", "ssd", NULL), 0);
        waits[i] = world_submit(w, spec);
    }
    for (int i = 0; i < 4; i++) { /* it is gone through, and nothing is new */
        w->cluster->plan_wanted = true;
        world_run(w, 1);
    }
    assert_int_equal(waits[1]->state, JOB_QUEUED);
    assert_int_equal(labels_set(&w->agents[1].offer.labels, "disk", "ssd", NULL), 0);
    world_run(w, 4);
    assert_int_equal(waits[1]->state, JOB_RUNNING);
    world_free(w);
}
