/* SPDX-License-Identifier: Apache-2.0 */
/* orders_fixture.h - a job whose processes are on the node n1 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <utlist.h>

#include "shared/macro.h"
#include "tests/unit/scheduler_fixture.h"

struct fixture {
    struct cluster *cluster;
    struct job *job;
    struct node *node;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    f->cluster = new_cluster();
    f->job = run_job(f->cluster);
    f->node = cluster_node(f->cluster, "n1");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    (void)cluster_free(f->cluster);
    free(f);
    return 0;
}

static struct process *trainer(const struct fixture *f, uint32_t index)
{
    struct process *process;

    DL_FOREACH2(f->job->processes, process, job_next)
    if (process->role == 1 && process->index == index)
        return process;
    fail_msg("no trainer %u", index);
    return NULL;
}
