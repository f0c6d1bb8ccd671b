/* SPDX-License-Identifier: Apache-2.0 */
/* test_policy_second.c - a policy of ten lines in the place of the real one: the core asks it who
 * grows, who gives and why, and knows nothing of fulfilment itself */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "shared/macro.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* --- the policy: who came first gets all, and gives first --- */

struct policy_state {
    struct policy_job jobs[8]; /* [id] */
};

static struct policy_state *state_new(void)
{
    return xcalloc(1, sizeof(struct policy_state));
}

static struct policy_state *state_free(struct policy_state *state)
{
    free(state);
    return NULL;
}

static void put(struct policy_state *state, const struct policy_job *job)
{
    assert_in_range(job->id, 1, ELEMENTS(state->jobs) - 1);
    state->jobs[job->id] = *job;
}

static void drop(struct policy_state *state, uint64_t id)
{
    assert_in_range(id, 1, ELEMENTS(state->jobs) - 1);
    state->jobs[id] = (struct policy_job){ 0 };
}

static void decide(struct policy_state *state, const struct policy_totals *totals,
                   const struct policy_ops *ops, void *userdata)
{
    int64_t idle = totals->cpu_total_millicores - totals->cpu_requested_millicores;

    for (size_t i = 0; i < ELEMENTS(state->jobs); i++) {
        const struct policy_job *job = &state->jobs[i];

        for (uint32_t n = job->parallelism; job->stable && n < job->max; n++) {
            if (idle < (int64_t)job->cpu_millicores || !ops->grow(userdata, job->id))
                break;
            idle -= (int64_t)job->cpu_millicores;
        }
    }
}

static void explain(const struct policy_state *state, uint64_t id, char *buffer, size_t size)
{
    (void)snprintf(buffer, size, "number %llu of %u at least",
                   (unsigned long long)state->jobs[id].id, state->jobs[id].min);
}

static int compare_givers(const struct policy_state *state, const struct policy_job *a,
                          const struct policy_job *b)
{
    (void)state;
    assert_true(a->parallelism > a->min && a->parallelism <= a->max);
    return a->id < b->id ? -1 : a->id > b->id;
}

static const struct policy first_come = { .name = "first-come",
                                          .summary = "who came first gets all",
                                          .new = state_new,
                                          .free = state_free,
                                          .put = put,
                                          .drop = drop,
                                          .decide = decide,
                                          .explain = explain,
                                          .compare_givers = compare_givers };

/* --- a cluster of one node of five places --- */

static struct instant now = { .now_us = 1000 * USEC_PER_SEC, .wall_us = 1700000000 * USEC_PER_SEC };

static const struct node_offer offer = { .address = "127.0.0.1",
                                         .cpu_millicores = 1000,
                                         .memory_bytes = GIB,
                                         .port_first = 20000,
                                         .port_last = 20099 };

/* All that was ordered runs, all that was to stop is gone. */
static void report(struct cluster *cluster, struct node *node)
{
    struct process_report list[16];
    struct node_report say = {
        .boot_id = "boot", .offer = offer, .processes = list, .complete = true
    };
    const struct process *process;

    DL_FOREACH2(node->processes, process, node_next)
    list[say.n_processes++] = (struct process_report){
        .job_id = process->job->id,
        .role = process->job->spec->roles[process->role].name,
        .index = process->index,
        .incarnation = process->incarnation,
        .state = process->stop_wanted ? PROCESS_EXITED : PROCESS_RUNNING,
    };
    assert_int_equal(cluster_report(cluster, node, &say, now, NULL), 0);
    cluster_plan(cluster, now);
}

static struct job *submit(struct cluster *cluster, const char *name, uint32_t min, uint32_t max)
{
    struct job *job = NULL;

    assert_int_equal(cluster_submit(cluster, world_spec(name, min, max, 200, 0, 0), "me", now, &job,
                                    NULL),
                     0);
    cluster_plan(cluster, now);
    return job;
}

static bool was_told(struct cluster *cluster, const char *part)
{
    size_t n;
    const struct effect *effects = cluster_effects(cluster, &n);

    for (size_t i = 0; i < n; i++)
        if (effects[i].kind == EFFECT_EVENT && strstr(effects[i].text, part) != NULL)
            return true;
    return false;
}

static uint32_t working(const struct job *job)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->n_slots[0]; i++)
        n += job->slots[0][i].live != NULL && !job->slots[0][i].live->stop_wanted;
    return n;
}

TEST(test_a_policy_decides_who_grows_who_gives_and_why)
{
    const struct cluster_config config = { .policy = &first_come,
                                           .max_load_permille = 1000,
                                           .lease_us = 20 * USEC_PER_SEC,
                                           .lease_margin_us = USEC_PER_SEC };
    struct cluster *cluster = cluster_new(&config);
    struct node *node = NULL;
    struct job *one, *two;

    assert_int_equal(cluster_join_node(cluster, "node-0", "", &offer, now, &node, NULL), 0);
    report(cluster, node);
    one = submit(cluster, "one", 1, 3);
    two = submit(cluster, "two", 1, 3);
    report(cluster, node);
    report(cluster, node);
    assert_int_equal(working(one), 3); /* the first takes all that it may */
    assert_int_equal(working(two), 2);
    assert_true(was_told(cluster, "grown: number 1 of 1 at least, load"));
    assert_false(was_told(cluster, "fulfilment"));

    /* a gang of two: by fulfilment each would give one */
    (void)submit(cluster, "three", 2, 2);
    assert_int_equal(working(one), 1);
    assert_int_equal(working(two), 2);
    assert_null(cluster_free(cluster));
}
