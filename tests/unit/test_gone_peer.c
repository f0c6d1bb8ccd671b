/* SPDX-License-Identifier: Apache-2.0 */
/* test_gone_peer.c - who seems to wait for a process that has ended, and who does not */
#include <string.h>

#include "scheduler/core/ask/gone_peer.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_names.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* Minutes in which each process uses so much processor a second. */
static void minutes(struct world *w, unsigned n, uint64_t cpu_us_per_s)
{
    for (unsigned s = 0; s < n * 6; s++) {
        for (size_t a = 0; a < w->n_agents; a++)
            for (size_t i = 0; i < w->agents[a].n; i++)
                if (w->agents[a].items[i].state == PROCESS_RUNNING)
                    w->agents[a].items[i].cpu_used_us += 10 * cpu_us_per_s;
        world_advance(w, 9 * USEC_PER_SEC);
        world_run(w, 1);
    }
}

static struct world *world_of_three(struct job **ret)
{
    struct world *w = world_new(3, 1000, GIB, 1000);

    *ret = world_submit(w, world_spec("fixed", 1, 3, 600, 0, 0));
    world_run(w, 5);
    assert_int_equal((*ret)->state, JOB_RUNNING);
    minutes(w, 1, 500000);
    return w;
}

static const char *says(struct world *w, const struct job *job, char buffer[GONE_PEER_TEXT_SIZE])
{
    struct gone_peer gone;

    job_gone_peer(job, w->now, &gone);
    return gone_peer_text(&gone, buffer, GONE_PEER_TEXT_SIZE);
}

TEST(test_two_wait_for_the_first)
{
    char text[GONE_PEER_TEXT_SIZE];
    struct job *job;
    struct world *w = world_of_three(&job);

    world_exit(w, world_live(job, "trainer", 0), 0, 0);
    minutes(w, 4, 10000); /* a thread that looks around */
    assert_string_equal(says(w, job, text), "");
    minutes(w, 2, 10000);
    assert_ptr_equal(strstr(says(w, job, text),
                            "2 processes seem to wait for trainer-0, which ended "
                            "5 min ago, and use no processor"),
                     text);
    /* a restart has to see it again */
    world_restart(w);
    job = cluster_find_job(w->cluster, "fixed");
    world_run(w, 2);
    assert_string_equal(says(w, job, text), "");
    minutes(w, 6, 10000);
    assert_string_not_equal(says(w, job, text), "");
    minutes(w, 1, 100000);
    assert_string_equal(says(w, job, text), "");
    world_free(w);
}

TEST(test_one_that_was_replaced)
{
    char text[GONE_PEER_TEXT_SIZE];
    struct job *job;
    struct world *w = world_of_three(&job);

    world_exit(w, world_live(job, "trainer", 1), -1, 9);
    minutes(w, 7, 0);
    assert_non_null(world_live(job, "trainer", 1));
    assert_ptr_equal(strstr(says(w, job, text), "3 processes seem to wait for trainer-1"), text);
    world_free(w);
}

TEST(test_who_does_not_wait)
{
    char text[GONE_PEER_TEXT_SIZE];
    struct job *job;
    struct world *w = world_of_three(&job);

    minutes(w, 7, 0); /* nobody has ended */
    assert_string_equal(says(w, job, text), "");
    world_exit(w, world_live(job, "trainer", 2), 0, 0);
    minutes(w, 7, 0);
    assert_string_not_equal(says(w, job, text), "");
    job->spec->mode = JOB_MODE_SERVICE;
    assert_string_equal(says(w, job, text), "");
    job->spec->mode = JOB_MODE_COLLECTIVE;
    /* they meet by the rendezvous, and are told who is gone */
    world_live(job, "trainer", 0)->generation = 4;
    assert_string_equal(says(w, job, text), "");
    world_live(job, "trainer", 0)->generation = 0;
    world_live(job, "trainer", 1)->stands_still = true;
    assert_string_equal(says(w, job, text), "");
    world_live(job, "trainer", 1)->stands_still = false;
    /* those that began after its end wait for something else */
    world_live(job, "trainer", 0)->started_wall_us = w->now.wall_us;
    world_live(job, "trainer", 1)->started_wall_us = w->now.wall_us;
    assert_string_equal(says(w, job, text), "");
    world_free(w);
}
