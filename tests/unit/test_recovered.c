/* SPDX-License-Identifier: Apache-2.0 */
/* test_recovered.c - what a parameter server that came back makes of its job */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static struct job *running_job(struct world *w)
{
    struct job *job = world_submit(w, world_spec("train", 1, 1, 200, 1, 200));

    world_run(w, 4);
    assert_int_equal(job->state, JOB_RUNNING);
    return job;
}

/* The text of the newest such event of this turn; "": there is none. */
static const char *event_of(struct world *w, const char *name)
{
    size_t n;
    const struct effect *effects = cluster_effects(w->cluster, &n);

    for (size_t i = n; i-- > 0;)
        if (effects[i].kind == EFFECT_EVENT && streq(effects[i].event, name))
            return effects[i].text;
    return "";
}

static void told(struct world *w, struct process *server, const struct recovered *recovered)
{
    assert_int_equal(cluster_recovered(w->cluster, server, recovered, w->now, NULL), 0);
}

/* Each update counts once, however often the server tells of it, and a restart forgets none. */
TEST(test_lost_updates_are_counted)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = running_job(w);
    struct process *server = world_live(job, "pserver", 0);
    struct recovered recovered = { .source = RECOVERED_FROM_CHECKPOINT, .lost = 661, .of = 10140 };
    const uint64_t id = job->id;

    told(w, server, &recovered);
    assert_string_equal(event_of(w, "server-recovered"),
                        "pserver-0 is back with its checkpoint: 661 of 10140 updates are lost");
    told(w, server, &recovered);
    assert_int_equal(job->updates_lost, 661);
    assert_int_equal(job->updates_lost_of, 10140);
    recovered = (struct recovered){ RECOVERED_FROM_CHECKPOINT, 663, 10142, 661, 10140, 0, 0 };
    told(w, server, &recovered);
    assert_int_equal(job->updates_lost, 663);
    world_commit(w);
    world_restart(w);
    job = cluster_job(w->cluster, id);
    server = world_live(job, "pserver", 0);
    assert_int_equal(job->updates_lost, 663);
    recovered.told = 663, recovered.told_of = 10142, recovered.lost = 670;
    told(w, server, &recovered);
    assert_int_equal(job->updates_lost, 670);
    assert_int_equal(job->updates_lost_of, 10142);
    world_free(w);
}

TEST(test_values_of_trainers)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = running_job(w);
    const struct recovered recovered = {
        .source = RECOVERED_FROM_TRAINERS, .lost = 2, .of = 500, .rows_missing = 40, .rows = 2073
    };

    told(w, world_live(job, "pserver", 0), &recovered);
    assert_string_equal(event_of(w, "server-recovered"),
                        "pserver-0 is back without its checkpoint, with the values that trainers "
                        "had: 2 of 500 updates are lost, 40 of 2073 rows have start values, and "
                        "the optimizer's state begins anew");
    assert_int_equal(job->state, JOB_RUNNING);
    world_free(w);
}

TEST(test_nobody_has_the_values)
{
    struct world *w = world_new(1, 1000, GIB, 1000);
    struct job *job = running_job(w);
    struct process *trainer = world_live(job, "trainer", 0);
    const struct recovered nothing = { .source = RECOVERED_FROM_NOTHING };
    struct edl_error error;

    told(w, trainer, &nothing);
    assert_int_equal(job->state, JOB_STOPPING);
    told(w, trainer, &nothing); /* another one says it as well */
    world_run(w, 4);
    assert_int_equal(job->state, JOB_FAILED);
    assert_string_equal(job->reason_code, "values-lost");
    assert_non_null(strstr(job->reason, "no trainer has its values"));
    assert_int_equal(cluster_recovered(w->cluster, trainer, &nothing, w->now, &error), EDL_ESTALE);
    world_free(w);
}

TEST(test_words)
{
    assert_int_equal(recovered_source_of("checkpoint"), RECOVERED_FROM_CHECKPOINT);
    assert_int_equal(recovered_source_of("nothing"), RECOVERED_FROM_NOTHING);
    assert_int_equal(recovered_source_of("heaven"), -EINVAL);
}
