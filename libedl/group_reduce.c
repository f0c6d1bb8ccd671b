/* SPDX-License-Identifier: Apache-2.0 */
/* group_reduce.c - the sums of a step, and the collectives of a program
 *
 * Each rank owns a part of the values. Each other sends it what it has of that part, REDUCE, and
 * the owner sends it the sum, GATHER: two hops, and 2 (n - 1) / n of the bytes, as much as a ring.
 * The owner adds while parts come, and sends what all have brought of a prefix. Sums grow in memory
 * of their own: the gradient stays as it was, for a generation that redoes the step.
 *
 * Where a node has several ranks and there are other nodes, it is one in this (group_nodes.h). Its
 * ranks read each other's gradients first, and each other's sums at last: REDUCE and GATHER without
 * bytes. A rank sends nothing to another node before all of its own have brought theirs. So a word
 * of each node, which any rank hears, says that all ranks there have the step before. */
#include <errno.h>
#include <string.h>

#include "libedl/group_exact.h"
#include "libedl/group_internal.h"
#include "shared/macro.h"

/* A reduction under way. A rank of a node of several adds up the values that it collects, of all
 * chunks, from its node. Then each rank adds the part that it owns, from those of other nodes. */
struct reduction {
    struct edl_group *group;
    uint64_t step;
    size_t n_values;
    unsigned count;      /* of micro-batches in the sums so far, of other nodes */
    unsigned node_count; /* of my own */
    struct group_range mine;
    size_t n_ready;                   /* values of mine that all have brought */
    bool is_node_whole;               /* all of my node have brought theirs */
    bool is_whole;                    /* mine is a sum */
    bool is_counted[GROUP_RANKS_MAX]; /* node */
};

static bool is_near(const struct reduction *r, unsigned rank)
{
    return group_nodes_are_one(&r->group->nodes, rank, r->group->rank);
}

/* part_of - what that rank collects of the chunk of a node */
static struct group_range part_of(const struct reduction *r, unsigned node, unsigned rank)
{
    return group_nodes_part(&r->group->nodes, r->n_values, node, rank);
}

static size_t form_bytes(enum group_form form)
{
    static const size_t bytes[GROUP_FORMS] = { [GROUP_F32] = 4, [GROUP_I64] = 8 };

    return bytes[form];
}

/* ---- out ---- */

static enum group_form form_held(const struct reduction *r)
{
    static const enum group_form forms[] = {
        [HELD_NOTHING] = GROUP_NOTHING, [HELD_F32] = GROUP_F32, [HELD_I64] = GROUP_I64
    };

    return r->n_values > 0 ? forms[r->group->held] : GROUP_NOTHING;
}

static const void *held_at(const struct edl_group *group, size_t value)
{
    return group->held == HELD_I64 ? (const void *)(group->kept + value)
                                   : (const void *)(group->work + value);
}

/* float_slice - sums that are not exact. Not in group->sum: a rank of this machine may
 * still read the step before there. */
static float *float_slice(const struct edl_group *group)
{
    return (float *)(void *)group->slice;
}

/* begin_sums - of a range, with what I hold */
static void begin_sums(const struct reduction *r, struct group_range range)
{
    struct edl_group *group = r->group;
    size_t at = range.first;
    enum group_form form = form_held(r);

    if (group->exact && form == GROUP_I64)
        memcpy(group->slice + at, group->kept + at, range.n * sizeof *group->slice);
    else if (group->exact && form == GROUP_F32)
        group_exact_put(group->slice + at, group->work + at, range.n);
    else if (group->exact)
        memset(group->slice + at, 0, range.n * sizeof *group->slice);
    else if (form == GROUP_F32)
        memcpy(float_slice(group) + at, group->work + at, range.n * sizeof *group->sum);
    else
        memset(float_slice(group) + at, 0, range.n * sizeof *group->sum);
}

static bool is_node_single(const struct edl_group *group)
{
    return group->nodes.size[group->nodes.node[group->rank]] == 1;
}

static struct group_frame reduce_frame(const struct reduction *r, enum group_form form,
                                       size_t n_values)
{
    struct group_frame f =
        group_frame_of(r->group, GROUP_REDUCE, r->step, n_values * form_bytes(form));

    f.form = form;
    f.count = r->node_count;
    f.flags = r->group->any_leaves ? GROUP_LEAVES : 0;
    return f;
}

/* begin_part - what goes to a rank and comes from it */
static void begin_part(const struct reduction *r, unsigned rank)
{
    const struct edl_group *group = r->group;
    const struct group_nodes *nodes = &group->nodes;
    bool meets = group_nodes_meet(nodes, rank, group->rank);

    r->group->parts_in[rank] =
        (struct group_part){ .is_met = meets, .is_done = !meets && !is_near(r, rank) };
    if (!meets)
        return;
    r->group->parts_in[rank].in =
        group_nodes_common(nodes, r->n_values, nodes->node[group->rank], rank, group->rank);
    r->group->parts_in[rank].out =
        group_nodes_common(nodes, r->n_values, nodes->node[rank], rank, group->rank);
}

/* begin - what my node needs of me; it reads that where it lies */
static void begin(struct reduction *r)
{
    struct edl_group *group = r->group;
    unsigned own = group->nodes.node[group->rank];

    r->node_count = r->n_values > 0 ? group_cover_count(&group->cover) : 0;
    r->mine = part_of(r, own, group->rank);
    for (unsigned node = 0; node < group->nodes.n; node++)
        if (node == own || !is_node_single(group))
            begin_sums(r, part_of(r, node, group->rank));
    for (unsigned k = 0; k < group->n; k++) {
        struct group_frame f = reduce_frame(r, form_held(r), 0);

        begin_part(r, k);
        if (k == group->rank || !is_near(r, k))
            continue;
        f.flags |= GROUP_SHARED;
        (void)group_link_put(&group->links[k], &f, NULL, 0);
        group->parts_in[k].is_gather_due = true;
    }
}

/* put_node - what my node has of a part that a rank of another node owns, and its sum of mine */
static void put_node(struct reduction *r, unsigned k)
{
    struct edl_group *group = r->group;
    struct group_range out = group->parts_in[k].out, in = group->parts_in[k].in;
    bool single = is_node_single(group);
    enum group_form form = single ? form_held(r) : GROUP_NOTHING;
    const void *body = single ? held_at(group, out.first) : NULL;
    struct group_frame f;

    if (!single && r->node_count > 0) {
        form = group->exact ? GROUP_I64 : GROUP_F32;
        body = group->exact ? (const void *)(group->slice + out.first)
                            : (const void *)(float_slice(group) + out.first);
    }
    f = reduce_frame(r, form, out.n);
    if (group->views[k].is_seen) { /* it reads the part where it lies */
        f.flags |= GROUP_SHARED;
        f.bytes = 0;
    }
    (void)group_link_put(&group->links[k], &f, body, f.bytes);
    if (group->views[k].is_seen) {
        group->parts_in[k].is_gather_due = true;
        return;
    }
    f = group_frame_of(group, GROUP_GATHER, r->step, in.n * sizeof *group->sum);
    f.form = GROUP_F32;
    group->parts_in[k].gather = group_link_put(&group->links[k], &f, group->sum + in.first, 0);
}

/* make_node - when all of my node have brought theirs, others may have it */
static void make_node(struct reduction *r)
{
    struct edl_group *group = r->group;

    for (unsigned k = 0; k < group->n; k++)
        if (k != group->rank && is_near(r, k) && !group->parts_in[k].has_reduce)
            return;
    r->is_node_whole = true;
    group_at(group, GROUP_AT_NODE_SUM);
    for (unsigned k = 0; k < group->n; k++)
        if (group->parts_in[k].is_met)
            put_node(r, k);
}

/* count_ready - the values of my part that all have brought, from its beginning on */
static size_t count_ready(const struct reduction *r)
{
    const struct edl_group *group = r->group;
    size_t ready = r->mine.n;

    for (unsigned k = 0; k < group->n; k++) {
        const struct group_part *part = &group->parts_in[k];

        if (part->is_met && part->reduced < part->in.n)
            ready = MIN_OF(ready, part->in.first - r->mine.first + part->reduced);
    }
    return ready;
}

/* have_all_given - the sums of all that I collect are here, those that others own too */
static bool have_all_given(const struct reduction *r)
{
    for (unsigned k = 0; k < r->group->n; k++)
        if (r->group->parts_in[k].is_met && !r->group->parts_in[k].is_done)
            return false;
    return r->is_whole;
}

/* put_due - the sums that lie where their reader sees them */
static void put_due(struct reduction *r)
{
    struct edl_group *group = r->group;
    bool all = have_all_given(r);

    for (unsigned k = 0; r->is_whole && k < group->n; k++)
        if (group->parts_in[k].is_gather_due && (all || !is_near(r, k))) {
            struct group_frame f = group_frame_of(group, GROUP_GATHER, r->step, 0);

            f.form = GROUP_F32;
            f.flags = GROUP_SHARED;
            (void)group_link_put(&group->links[k], &f, NULL, 0);
            group->parts_in[k].is_gather_due = false;
        }
}

/* make_ready - the prefix that all have brought is a sum: it may go */
static void make_ready(struct reduction *r)
{
    struct edl_group *group = r->group;
    size_t ready, at = r->mine.first + r->n_ready;

    if (!r->is_node_whole)
        make_node(r);
    if (!r->is_node_whole)
        return;
    ready = count_ready(r);
    r->is_whole = ready == r->mine.n;
    if (ready > r->n_ready && group->exact)
        group_exact_round(group->sum + at, group->slice + at, ready - r->n_ready);
    else if (ready > r->n_ready)
        memcpy(group->sum + at, float_slice(group) + at, (ready - r->n_ready) * sizeof *group->sum);
    r->n_ready = ready;
    for (unsigned k = 0; k < group->n; k++) {
        struct group_part *part = &group->parts_in[k];
        size_t before = part->in.first - r->mine.first; /* of one that is met */

        if (part->gather != NULL && ready > before)
            part->gather->ready = MIN_OF(ready - before, part->in.n) * sizeof *group->sum;
    }
    put_due(r);
}

/* send_all - 1: something went; 0: nothing; GROUP_ABORTED is -EPIPE here */
static int send_all(struct reduction *r)
{
    struct edl_group *group = r->group;
    bool moved = false;

    for (unsigned k = 0; k < group->n; k++) {
        struct group_link *link = &group->links[k];
        bool had = !group_link_is_empty(link);
        int sent;

        if (k == group->rank || !had)
            continue;
        sent = group_link_send(link);
        if (sent < 0 && group->parts_in[k].is_done)
            return -EPIPE; /* else its reading side decides */
        moved |= sent > 0;
        if (group_link_is_empty(link))
            group_at(group, GROUP_AT_ALL_OUT);
    }
    return moved;
}

/* ---- in ---- */

/* bytes_of - behind a head; UINT64_MAX: it points into a window that this rank does not see, or
 * brings what must lie in one */
static uint64_t bytes_of(const struct reduction *r, unsigned rank, const struct group_frame *f,
                         uint64_t otherwise)
{
    if ((f->flags & GROUP_SHARED) == 0)
        return is_near(r, rank) ? UINT64_MAX : otherwise;
    return r->group->views[rank].bytes != NULL ? 0 : UINT64_MAX;
}

static bool is_reduce(const struct reduction *r, unsigned rank, const struct group_frame *f)
{
    const struct edl_group *group = r->group;
    bool form = r->n_values == 0 ? f->form == GROUP_NOTHING : f->form != GROUP_I64 || group->exact;
    uint64_t bytes = bytes_of(r, rank, f, r->group->parts_in[rank].in.n * form_bytes(f->form));

    return f->kind == GROUP_REDUCE && form && !group->parts_in[rank].has_reduce &&
           bytes != UINT64_MAX && f->bytes == bytes && f->count <= GROUP_MICRO_BATCHES_MAX &&
           (f->count == 0) == (f->form == GROUP_NOTHING);
}

static bool is_gather(const struct reduction *r, unsigned rank, const struct group_frame *f)
{
    uint64_t bytes = bytes_of(r, rank, f, r->group->parts_in[rank].out.n * sizeof *r->group->sum);

    return f->kind == GROUP_GATHER && r->group->parts_in[rank].has_reduce && bytes != UINT64_MAX &&
           f->bytes == bytes;
}

static int check_head(struct reduction *r, unsigned rank, const struct group_frame *f)
{
    if (f->generation != r->group->generation || f->rank != rank || f->step != r->step ||
        (!is_reduce(r, rank, f) && !is_gather(r, rank, f)))
        return -EPROTO;
    return 0;
}

static void add_values(struct reduction *r, size_t at, const uint8_t *bytes, size_t n,
                       enum group_form form)
{
    struct edl_group *group = r->group;
    if (form == GROUP_I64)
        group_exact_add_sums(group->slice + at, (const int64_t *)(const void *)bytes, n);
    else if (group->exact)
        group_exact_add(group->slice + at, (const float *)(const void *)bytes, n);
    else
        group_f32_add(float_slice(group) + at, (const float *)(const void *)bytes, n);
}

/* take_reduce - adds what came, whole values; the rest waits for its other bytes */
static ssize_t take_reduce(struct reduction *r, struct group_link *link, struct group_part *part)
{
    struct edl_group *group = r->group;
    size_t value = form_bytes(link->frame.form), whole;
    ssize_t n;

    memcpy(group->scratch, part->rest, part->n_rest);
    n = group_link_body(link, group->scratch + part->n_rest, GROUP_SCRATCH_BYTES - part->n_rest);
    if (n <= 0)
        return n;
    n += (ssize_t)part->n_rest;
    whole = (size_t)n / value;
    add_values(r, part->in.first + part->reduced, group->scratch, whole, link->frame.form);
    part->reduced += whole;
    part->n_rest = (size_t)n - whole * value;
    memcpy(part->rest, group->scratch + whole * value, part->n_rest);
    return n;
}

/* take_body - -1 with errno: the link is over; 0: no more yet; above: something came */
static ssize_t take_body(struct reduction *r, unsigned rank, struct group_link *link)
{
    struct edl_group *group = r->group;
    struct group_part *part = &group->parts_in[rank];
    uint8_t *to;

    if (link->frame.kind == GROUP_REDUCE)
        return take_reduce(r, link, part);
    to = (uint8_t *)(group->sum + r->group->parts_in[rank].out.first);
    return group_link_body(link, to + link->n_body, link->frame.bytes - link->n_body);
}

/* read_range - of the window of a rank: its part of my sums, or its sums */
static void read_range(struct reduction *r, unsigned rank, const struct group_frame *f,
                       struct group_range range)
{
    struct edl_group *group = r->group;
    const int64_t *kept = (const int64_t *)(const void *)group->views[rank].bytes;
    const float *work = (const float *)(const void *)(kept + group->n_values);
    const float *sum = work + group->n_values;
    size_t at = range.first;

    if (f->kind == GROUP_GATHER)
        memcpy(group->sum + at, sum + at, range.n * sizeof *sum);
    else if (f->form == GROUP_I64)
        add_values(r, at, (const uint8_t *)(kept + at), range.n, f->form);
    else if (f->form == GROUP_F32)
        add_values(r, at, (const uint8_t *)(work + at), range.n, f->form);
}

/* read_window - the part that a head without bytes speaks of; within a node, of each chunk */
static void read_window(struct reduction *r, unsigned rank, const struct group_frame *f)
{
    bool is_sum = f->kind == GROUP_GATHER;

    if (!is_near(r, rank)) {
        read_range(r, rank, f, is_sum ? r->group->parts_in[rank].out : r->group->parts_in[rank].in);
        return;
    }
    for (unsigned node = 0; node < r->group->nodes.n; node++)
        read_range(r, rank, f, part_of(r, node, is_sum ? rank : r->group->rank));
}

/* count_in - the micro-batches of a rank of my node, or of another node, of which several bring */
static void count_in(struct reduction *r, unsigned rank, unsigned count)
{
    unsigned node = r->group->nodes.node[rank];

    if (is_near(r, rank))
        r->node_count += count;
    else if (!r->is_counted[node])
        r->count += count;
    r->is_counted[node] = true;
}

static void end_message(struct reduction *r, unsigned rank, struct group_link *link)
{
    struct group_part *part = &r->group->parts_in[rank];

    if ((link->frame.flags & GROUP_SHARED) != 0)
        read_window(r, rank, &link->frame);
    if (link->frame.kind == GROUP_REDUCE) {
        part->has_reduce = true;
        part->reduced = r->group->parts_in[rank].in.n; /* also when it has nothing to add */
        count_in(r, rank, link->frame.count);
        r->group->any_leaves |= (link->frame.flags & GROUP_LEAVES) != 0;
        group_at(r->group, GROUP_AT_REDUCE_IN);
    } else {
        part->is_done = true;
        group_at(r->group, GROUP_AT_GATHER_IN);
    }
    group_link_next(link);
}

/* take_of - 1: something came; 0: nothing; below 0: the link is over */
static int take_of(struct reduction *r, unsigned rank)
{
    struct group_link *link = &r->group->links[rank];
    struct group_part *part = &r->group->parts_in[rank];
    bool moved = false;

    while (!part->is_done) {
        int h = group_link_head(link, NULL);
        ssize_t n = 0;

        if (h <= 0)
            return h < 0 ? h : moved;
        if (check_head(r, rank, &link->frame) < 0)
            return -EPROTO;
        while (!group_link_has_body(link) && (n = take_body(r, rank, link)) > 0)
            moved = true;
        if (n < 0)
            return (int)n;
        if (!group_link_has_body(link))
            break;
        end_message(r, rank, link);
        moved = true;
    }
    return moved;
}

static int take_all(struct reduction *r)
{
    bool moved = false;

    for (unsigned k = 0; k < r->group->n; k++) {
        int came = k == r->group->rank ? 0 : take_of(r, k);

        if (came < 0)
            return came;
        moved |= came > 0;
    }
    return moved;
}

static bool is_complete(const struct reduction *r)
{
    const struct edl_group *group = r->group;

    for (unsigned k = 0; k < group->n; k++)
        if (k != group->rank && (!group->parts_in[k].is_done || group->parts_in[k].is_gather_due ||
                                 !group_link_is_empty(&group->links[k])))
            return false;
    return true;
}

static int check_count(const struct reduction *r)
{
    struct edl_group *group = r->group;
    uint64_t expected = r->n_values > 0 ? group->micro_batches : 0;
    unsigned count = r->count + r->node_count;

    if (count == expected)
        return GROUP_WELL;
    (void)edl_error_set(&group->error, -EPROTO,
                        "micro-batches in the sum of step %llu: %u, not %llu; a fault of libedl",
                        (unsigned long long)r->step, count, (unsigned long long)expected);
    return group_fail(group, -EPROTO);
}

int group_reduce(struct edl_group *group, size_t n_values)
{
    struct reduction r = { .group = group, .step = group->applied + 1, .n_values = n_values };

    begin(&r);
    make_ready(&r);
    for (;;) {
        int came = take_all(&r), went;

        if (came < 0)
            return GROUP_ABORTED;
        make_ready(&r);
        went = send_all(&r);
        if (went < 0)
            return GROUP_ABORTED;
        if (is_complete(&r))
            return check_count(&r);
        if (came > 0 || went > 0)
            continue;
        for (unsigned k = 0; k < group->n; k++)
            group->awaits[k] = k != group->rank && !group->parts_in[k].is_done;
        group_poll(group, GROUP_WAITS);
    }
}

/* ---- collectives of the program ---- */

/* take_bytes - 1: all of a rank's message is here; 0: not yet; below 0: the link is over */
static int take_bytes(struct edl_group *group, unsigned rank, void *to, size_t n)
{
    struct group_link *link = &group->links[rank];
    const struct group_frame *f = &link->frame;
    int h = group_link_head(link, NULL);

    if (h <= 0)
        return h;
    if (f->kind != GROUP_BYTES || f->generation != group->generation || f->rank != rank ||
        f->step != group->applied + 1 || f->count != group->n_collectives || f->bytes != n)
        return -EPROTO;
    while (!group_link_has_body(link)) {
        ssize_t r = group_link_body(link, (uint8_t *)to + link->n_body, n - link->n_body);

        if (r <= 0)
            return (int)r;
    }
    group_link_next(link);
    return 1;
}

int group_exchange(struct edl_group *group, const void *const *out, const size_t *n_out,
                   void *const *in, const size_t *n_in)
{
    bool all;

    for (unsigned k = 0; k < group->n; k++) {
        struct group_frame f = group_frame_of(group, GROUP_BYTES, group->applied + 1, n_out[k]);

        f.count = group->n_collectives;
        if (k != group->rank && out[k] != NULL)
            (void)group_link_put(&group->links[k], &f, out[k], n_out[k]);
        group->awaits[k] = k != group->rank && in[k] != NULL;
    }
    do {
        all = true;
        for (unsigned k = 0; k < group->n; k++) {
            struct group_link *link = &group->links[k];
            int r = group->awaits[k] ? take_bytes(group, k, in[k], n_in[k]) : 0;

            if (r < 0 || (group_link_send(link) < 0 && !group->awaits[k]))
                return GROUP_ABORTED;
            if (r == 1)
                group->awaits[k] = false;
            all &= !group->awaits[k] && (k == group->rank || group_link_is_empty(link));
        }
        if (!all)
            group_poll(group, GROUP_WAITS);
    } while (!all);
    group->n_collectives++;
    return GROUP_WELL;
}
