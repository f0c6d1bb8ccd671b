/* SPDX-License-Identifier: Apache-2.0 */
/* group_meet.c - the next generation: its members, and the newest state for all */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libedl/group_internal.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* ---- arrived: the scheduler says who is there ---- */

/* members_failed - an error of a call about members, or the end of this rank */
static int members_failed(struct edl_group *group, int code)
{
    if (code == -EINTR)
        return GROUP_LEAVES_NOW;
    (void)edl_error_set(&group->error, code, "%s",
                        group->client != NULL ? edl_last_error(group->client)
                                              : "no members were named");
    return group_fail(group, code);
}

static int await_world(struct edl_group *group, struct edl_world **ret)
{
    struct group_members *m = &group->members;
    int r = 0;

    if (group->early_world != NULL) {
        *ret = TAKE_PTR(group->early_world);
        group->is_arriving = false;
        return GROUP_WELL;
    }
    if (!group->is_arriving)
        r = m->begin(m->self, GROUP_WAIT_WORLD, group->generation);
    if (r < 0)
        return members_failed(group, r);
    group->is_arriving = false;
    while ((r = m->go_on(m->self, GROUP_WAIT_WORLD, ret)) == -EAGAIN) {
        if (group->ends) {
            m->end(m->self, GROUP_WAIT_WORLD);
            return GROUP_LEAVES_NOW;
        }
        group_poll(group, GROUP_WAIT_WORLD);
    }
    if (r == 0)
        return GROUP_LEAVES_NOW;
    return r < 0 ? members_failed(group, r) : GROUP_WELL;
}

/* ---- setup: links to all ---- */

static void begin_nodes(struct edl_group *group)
{
    group->is_node_told = false;
    group->all_share = true;
    memset(group->is_node_heard, 0, sizeof group->is_node_heard);
    memset(group->machines, 0, sizeof group->machines);
    group->machines[group->rank] = group->machine;
    group_nodes_apart(group->n, &group->nodes);
}

/* choose_batch - the micro-batches of the next step, by the ranks that there are and the state that
 * this one has. The choice of the donor counts (group_plan_micro_batches). */
static int choose_batch(struct edl_group *group)
{
    uint64_t n;

    if (group->micro_batches_of == NULL)
        return GROUP_WELL;
    n = group->micro_batches_of(group->micro_batches_userdata, group->n);
    if (n == 0 || n > GROUP_MICRO_BATCHES_MAX) {
        (void)edl_error_set(&group->error, -EINVAL,
                            "micro-batches of a step with ranks: %u: %llu; 1 to %d are possible",
                            group->n, (unsigned long long)n, GROUP_MICRO_BATCHES_MAX);
        return group_fail(group, -EINVAL);
    }
    group->chosen = n;
    return GROUP_WELL;
}

static int begin_generation(struct edl_group *group, const struct edl_world *world)
{
    struct group_members *m = &group->members;
    int r;

    if (world->size > GROUP_RANKS_MAX || world->n_members != world->size) {
        (void)edl_error_set(&group->error, -E2BIG,
                            "ranks of the generation: %llu, a group has at most %d",
                            (unsigned long long)world->size, GROUP_RANKS_MAX);
        (void)edl_error_remedy(&group->error, "set \"max\" of the role to %d", GROUP_RANKS_MAX);
        return group_fail(group, -E2BIG);
    }
    group->generation = world->generation;
    group->n = (unsigned)world->size;
    group->rank = (unsigned)world->rank;
    group->reforms = false;
    for (unsigned k = 0; k < group->n; k++)
        (void)snprintf(group->node_names[k], sizeof group->node_names[k], "%s",
                       world->members[k].node);
    memset(group->is_ready, 0, sizeof group->is_ready);
    memset(group->awaits, 0, sizeof group->awaits);
    begin_nodes(group);
    group->is_setting_up = true;
    r = m->begin(m->self, GROUP_WAIT_OVER, group->generation);
    if (r < 0)
        return members_failed(group, r);
    group_at(group, GROUP_AT_JOINED);
    r = choose_batch(group);
    for (unsigned k = 0; r == GROUP_WELL && k < group->rank; k++)
        r = group_dial(group, k, &world->members[k]);
    return r;
}

/* exchange_views - with a rank of the same machine: each tells whether it reads the window of the
 * other. GROUP_ABORTED: the link is over */
static int exchange_views(struct edl_group *group, unsigned rank)
{
    struct group_view *v = &group->views[rank];
    struct group_link *link = &group->links[rank];
    int r = 1;

    if (!group->is_ready[rank] || v->window == 0)
        return GROUP_WELL;
    if (!v->is_told && group_view_go_on(group, rank)) {
        struct group_frame f = group_frame_of(group, GROUP_WINDOW, 0, 0);

        f.flags = v->bytes != NULL ? GROUP_SHARED : 0;
        (void)group_link_put(link, &f, NULL, 0);
        v->is_told = true;
    }
    if (!v->is_heard)
        r = group_link_head(link, NULL);
    if (r < 0 || group_link_send(link) < 0)
        return GROUP_ABORTED;
    if (r == 0 || v->is_heard)
        return GROUP_WELL;
    if (link->frame.kind != GROUP_WINDOW || link->frame.bytes != 0)
        return GROUP_ABORTED;
    v->is_seen = (link->frame.flags & GROUP_SHARED) != 0;
    v->is_heard = true;
    group_link_next(link);
    return GROUP_WELL;
}

static bool is_view_done(const struct group_view *v)
{
    return v->window == 0 || (v->is_told && v->is_heard);
}

/* awaits_of - whether the set-up waits for bytes of that rank's link */
static bool awaits_of(const struct edl_group *group, unsigned rank)
{
    const struct group_view *v = &group->views[rank];

    if (rank == group->rank)
        return false;
    if (!group->is_ready[rank])
        return rank < group->rank;
    return (v->window != 0 && !v->is_heard) || (group->is_node_told && !group->is_node_heard[rank]);
}

static bool are_all_ready(const struct edl_group *group)
{
    for (unsigned k = 0; k < group->n; k++)
        if (k != group->rank && (!group->is_ready[k] || !is_view_done(&group->views[k]) ||
                                 !group_link_is_empty(&group->links[k])))
            return false;
    return true;
}

/* sees_node - all of my node see me, and I them */
static bool sees_node(const struct edl_group *group, const struct group_nodes *nodes)
{
    for (unsigned k = 0; k < group->n; k++)
        if (k != group->rank && group_nodes_are_one(nodes, k, group->rank) &&
            (group->views[k].bytes == NULL || !group->views[k].is_seen))
            return false;
    return true;
}

static void tell_node(struct edl_group *group, const struct group_nodes *nodes)
{
    struct group_frame f = group_frame_of(group, GROUP_NODE, 0, 0);

    f.flags = sees_node(group, nodes) ? GROUP_SHARED : 0;
    group->all_share &= f.flags != 0;
    for (unsigned k = 0; k < group->n; k++)
        if (k != group->rank)
            (void)group_link_put(&group->links[k], &f, NULL, 0);
    group->is_node_told = group->is_node_heard[group->rank] = true;
}

/* hear_node - GROUP_ABORTED: the link is over */
static int hear_node(struct edl_group *group, unsigned rank)
{
    struct group_link *link = &group->links[rank];
    int r = group->is_node_heard[rank] ? 0 : group_link_head(link, NULL);

    if (r < 0 || group_link_send(link) < 0)
        return GROUP_ABORTED;
    if (r == 0)
        return GROUP_WELL;
    if (link->frame.kind != GROUP_NODE || link->frame.bytes != 0)
        return GROUP_ABORTED;
    group->all_share &= (link->frame.flags & GROUP_SHARED) != 0;
    group->is_node_heard[rank] = true;
    group_link_next(link);
    return GROUP_WELL;
}

static bool are_all_told(const struct edl_group *group)
{
    for (unsigned k = 0; k < group->n; k++)
        if (!group->is_node_heard[k] || !group_link_is_empty(&group->links[k]))
            return false;
    return true;
}

/* exchange_nodes - whether nodes add up in memory first: a function of what each tells to all, so
 * all do the same. *ret_all: it is decided. GROUP_ABORTED: a link is over */
static int exchange_nodes(struct edl_group *group, bool *ret_all)
{
    struct group_nodes nodes;

    *ret_all = are_all_ready(group);
    if (!group->is_node_told) {
        if (!*ret_all || !group_nodes_by_machine(group->machines, group->n, &nodes))
            return GROUP_WELL;
        tell_node(group, &nodes);
    }
    for (unsigned k = 0; k < group->n; k++)
        if (k != group->rank && hear_node(group, k) != GROUP_WELL)
            return GROUP_ABORTED;
    *ret_all = are_all_told(group);
    if (*ret_all && group->all_share)
        (void)group_nodes_by_machine(group->machines, group->n, &group->nodes);
    return GROUP_WELL;
}

static int set_up(struct edl_group *group)
{
    struct group_members *m = &group->members;

    for (;;) {
        int r = GROUP_WELL;
        bool all = false;

        for (unsigned k = 0; r == GROUP_WELL && k < group->rank; k++)
            r = group_dialled(group, k);
        if (r != GROUP_WELL)
            return r;
        group_at(group, GROUP_AT_GREETED);
        group_greet_all(group);
        if (group->error.code != 0)
            return group->error.code;
        for (unsigned k = 0; r == GROUP_WELL && k < group->n; k++)
            r = k == group->rank ? r : exchange_views(group, k);
        if (r == GROUP_WELL)
            r = exchange_nodes(group, &all);
        if (r != GROUP_WELL || all)
            return r;
        /* a rank that died before it was dialled, or before it dialled, ends no link: its end is
         * heard of here */
        r = m->go_on(m->self, GROUP_WAIT_OVER, NULL);
        if (r != -EAGAIN)
            return r < 0 ? members_failed(group, r) : GROUP_ABORTED;
        for (unsigned k = 0; k < group->n; k++)
            group->awaits[k] = awaits_of(group, k);
        group_poll(group, GROUP_WAIT_OVER);
    }
}

/* ---- catch up: the newest state for all ---- */

struct giving {
    size_t part; /* the next one to send */
    bool is_given;
};

static int give(struct edl_group *group, unsigned rank, struct giving *giving)
{
    struct group_link *link = &group->links[rank];
    int r = group_link_send(link);

    while (r >= 0 && group_link_is_empty(link) && giving->part < group->n_parts) {
        const struct edl_group_part *part = &group->parts[giving->part];
        struct group_frame f = group_frame_of(group, GROUP_STATE, group->applied, part->n_bytes);

        f.count = (uint32_t)giving->part++;
        f.hello.identity = group->identity;
        (void)group_link_put(link, &f, part->bytes, part->n_bytes);
        r = group_link_send(link);
        group_at(group, GROUP_AT_HALF_STATE);
    }
    giving->is_given = giving->part == group->n_parts && group_link_is_empty(link);
    return r < 0 ? GROUP_ABORTED : GROUP_WELL;
}

static int give_all(struct edl_group *group)
{
    struct giving giving[GROUP_RANKS_MAX] = { { 0 } };
    bool all;

    do {
        all = true;
        for (unsigned k = 0; k < group->n; k++)
            if (group->plan.behind[k]) {
                if (give(group, k, &giving[k]) != GROUP_WELL)
                    return GROUP_ABORTED;
                all &= giving[k].is_given;
            }
        if (!all)
            group_poll(group, GROUP_WAITS);
    } while (!all);
    return GROUP_WELL;
}

/* take_part - 1: all of that part is in the spare; 0: not yet */
static int take_part(struct edl_group *group, struct group_link *link, size_t part, size_t at)
{
    const struct group_frame *f = &link->frame;
    int r = group_link_head(link, NULL);
    ssize_t n;

    if (r <= 0)
        return r;
    if (f->kind != GROUP_STATE || f->count != part || f->generation != group->generation ||
        f->bytes != group->parts[part].n_bytes || f->step != group->plan.applied ||
        f->hello.identity != group->plan.identity)
        return -EPROTO;
    while (!group_link_has_body(link)) {
        n = group_link_body(link, group->spare + at + link->n_body, f->bytes - link->n_body);
        if (n <= 0)
            return (int)n;
        group_at(group, GROUP_AT_HALF_STATE);
    }
    group_link_next(link);
    return 1;
}

void group_change_state(struct edl_group *group, uint64_t applied, uint64_t identity)
{
    size_t at = 0;

    for (size_t i = 0; i < group->n_parts; at += group->parts[i++].n_bytes)
        memcpy(group->parts[i].bytes, group->spare + at, group->parts[i].n_bytes);
    free(TAKE_PTR(group->spare));
    group->applied = applied;
    group->identity = identity;
    group->state_came = true;
    group_drop_gradient(group);
}

/* take_state - into spare memory, and changed over when the last byte is there: while it comes this
 * rank still has its old one, and says so if the donor dies */
static int take_state(struct edl_group *group)
{
    struct group_link *link = &group->links[group->plan.donor];
    size_t part = 0, at = 0;
    int r = 1;

    group->spare = xreallocarray(group->spare, group->state_bytes, 1);
    while (part < group->n_parts) {
        r = take_part(group, link, part, at);
        if (r < 0)
            return GROUP_ABORTED;
        if (r == 0) {
            group->awaits[group->plan.donor] = true;
            group_poll(group, GROUP_WAITS);
            continue;
        }
        at += group->parts[part++].n_bytes;
    }
    group->awaits[group->plan.donor] = false;
    group_change_state(group, group->plan.applied, group->plan.identity);
    return GROUP_WELL;
}

static int catch_up(struct edl_group *group)
{
    unsigned micro_batches;

    group->hellos[group->rank] =
        (struct group_hello){ .identity = group->identity,
                              .applied = group->applied,
                              .gradient_step = group->gradient_step,
                              .micro_batches = (unsigned)group->micro_batches,
                              .cover = group->cover,
                              .chosen = (unsigned)group->chosen };
    micro_batches = group_plan_micro_batches(group->hellos, group->n);
    group_plan_make(group->hellos, group->n, micro_batches, &group->plan);
    if (micro_batches != group->micro_batches) /* of a step with others: it cannot be completed */
        group_drop_gradient(group);
    group->micro_batches = micro_batches;
    if (group->plan.behind[group->rank])
        return take_state(group);
    if (!group->plan.keeps[group->rank])
        group_drop_gradient(group);
    return group->plan.donor == group->rank ? give_all(group) : GROUP_WELL;
}

/* meet_alone - a group of one, without a scheduler */
static int meet_alone(struct edl_group *group)
{
    int r;

    group->generation++;
    group->n = 1;
    group->rank = 0;
    group->reforms = false;
    begin_nodes(group);
    r = choose_batch(group);
    return r == GROUP_WELL ? catch_up(group) : r;
}

int group_meet(struct edl_group *group)
{
    struct edl_world *world = NULL;
    int r;

    if (group->ends)
        return GROUP_LEAVES_NOW;
    if (group->is_alone)
        return meet_alone(group);
    r = await_world(group, &world);
    if (r != GROUP_WELL)
        return r;
    r = begin_generation(group, world);
    world = edl_world_free(world);
    if (r == GROUP_WELL)
        r = set_up(group);
    group->is_setting_up = false;
    if (r == GROUP_WELL) {
        group->foreign_us = 0;
        r = catch_up(group);
    }
    if (group->rank != 0) /* rank 0 alone watches for newcomers */
        group->members.end(group->members.self, GROUP_WAIT_OVER);
    return r;
}
