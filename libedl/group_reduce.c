/* SPDX-License-Identifier: Apache-2.0 */
/* group_reduce.c - the sums of a step, and the collectives of a program
 *
 * Rank k owns slice k of the values. Each sends each owner its part of that slice, REDUCE, and the
 * owner sends each the sum of it, GATHER: two hops, and 2 (n - 1) / n of the bytes, as much as a
 * ring. The owner adds while parts come, and sends what all have brought of a prefix. Sums grow in
 * memory of their own: the gradient stays as it was, for a generation that redoes the step. */
#include <errno.h>
#include <string.h>

#include "libedl/group_exact.h"
#include "libedl/group_internal.h"
#include "shared/macro.h"

/* A reduction under way. */
struct reduction {
    struct edl_group *group;
    uint64_t step;
    size_t n_values;
    unsigned count; /* of micro-batches in the sums so far */
    size_t n_ready; /* values of my slice that all have brought */
    bool is_whole;  /* all of them */
};

static size_t first_of(const struct reduction *r, unsigned rank)
{
    return (size_t)((unsigned __int128)r->n_values * rank / r->group->n);
}

static size_t size_of(const struct reduction *r, unsigned rank)
{
    return first_of(r, rank + 1) - first_of(r, rank);
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

/* float_slice - sums of my slice that are not exact. Not in group->sum: whoever is on this machine
 * may still read the step before there. */
static float *float_slice(const struct edl_group *group)
{
    return (float *)(void *)group->slice;
}

static void begin(struct reduction *r)
{
    struct edl_group *group = r->group;
    size_t mine = first_of(r, group->rank), n_mine = size_of(r, group->rank);
    enum group_form form = form_held(r);

    memset(group->parts_in, 0, sizeof group->parts_in);
    if (group->exact && form == GROUP_I64)
        memcpy(group->slice, group->kept + mine, n_mine * sizeof *group->slice);
    else if (group->exact && form == GROUP_F32)
        group_exact_put(group->slice, group->work + mine, n_mine);
    else if (group->exact)
        memset(group->slice, 0, n_mine * sizeof *group->slice);
    else if (form == GROUP_F32)
        memcpy(float_slice(group), group->work + mine, n_mine * sizeof *group->sum);
    else
        memset(float_slice(group), 0, n_mine * sizeof *group->sum);
    r->count = r->n_values > 0 ? group_cover_count(&group->cover) : 0;
    for (unsigned k = 0; k < group->n; k++) {
        struct group_frame f =
            group_frame_of(group, GROUP_REDUCE, r->step, size_of(r, k) * form_bytes(form));

        if (k == group->rank)
            continue;
        f.form = form;
        f.count = r->count;
        f.flags = group->any_leaves ? GROUP_LEAVES : 0;
        if (group->views[k].is_seen) { /* it reads the part where it lies */
            f.flags |= GROUP_SHARED;
            f.bytes = 0;
        }
        (void)group_link_put(&group->links[k], &f, held_at(group, first_of(r, k)), f.bytes);
        if (group->views[k].is_seen) {
            group->parts_in[k].is_gather_due = true;
            continue;
        }
        f = group_frame_of(group, GROUP_GATHER, r->step, n_mine * sizeof *group->sum);
        f.form = GROUP_F32;
        group->parts_in[k].gather = group_link_put(&group->links[k], &f, group->sum + mine, 0);
    }
}

/* make_ready - the prefix that all have brought is a sum: it may go */
static void make_ready(struct reduction *r)
{
    struct edl_group *group = r->group;
    size_t ready = size_of(r, group->rank), mine = first_of(r, group->rank);

    for (unsigned k = 0; k < group->n; k++)
        if (k != group->rank)
            ready = MIN_OF(ready, group->parts_in[k].reduced);
    r->is_whole = ready == size_of(r, group->rank);
    if (ready > r->n_ready && group->exact)
        group_exact_round(group->sum + mine + r->n_ready, group->slice + r->n_ready,
                          ready - r->n_ready);
    else if (ready > r->n_ready)
        memcpy(group->sum + mine + r->n_ready, float_slice(group) + r->n_ready,
               (ready - r->n_ready) * sizeof *group->sum);
    r->n_ready = ready;
    for (unsigned k = 0; k < group->n; k++)
        if (k != group->rank && group->parts_in[k].gather != NULL)
            group->parts_in[k].gather->ready = ready * sizeof *group->sum;
    for (unsigned k = 0; r->is_whole && k < group->n; k++)
        if (group->parts_in[k].is_gather_due) {
            struct group_frame f = group_frame_of(group, GROUP_GATHER, r->step, 0);

            f.form = GROUP_F32;
            f.flags = GROUP_SHARED;
            (void)group_link_put(&group->links[k], &f, NULL, 0);
            group->parts_in[k].is_gather_due = false;
        }
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

/* bytes_of - behind a head; UINT64_MAX: it points into a window that this rank does not see */
static uint64_t bytes_of(const struct reduction *r, unsigned rank, const struct group_frame *f,
                         uint64_t otherwise)
{
    if ((f->flags & GROUP_SHARED) == 0)
        return otherwise;
    return r->group->views[rank].bytes != NULL ? 0 : UINT64_MAX;
}

static bool is_reduce(const struct reduction *r, unsigned rank, const struct group_frame *f)
{
    const struct edl_group *group = r->group;
    bool form = r->n_values == 0 ? f->form == GROUP_NOTHING : f->form != GROUP_I64 || group->exact;

    return f->kind == GROUP_REDUCE && form && !group->parts_in[rank].has_reduce &&
           f->bytes == bytes_of(r, rank, f, size_of(r, group->rank) * form_bytes(f->form)) &&
           f->count <= GROUP_MICRO_BATCHES_MAX && (f->count == 0) == (f->form == GROUP_NOTHING);
}

static bool is_gather(const struct reduction *r, unsigned rank, const struct group_frame *f)
{
    return f->kind == GROUP_GATHER && r->group->parts_in[rank].has_reduce &&
           f->bytes == bytes_of(r, rank, f, size_of(r, rank) * sizeof *r->group->sum);
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
    add_values(r, part->reduced, group->scratch, whole, link->frame.form);
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
    to = (uint8_t *)(group->sum + first_of(r, rank));
    return group_link_body(link, to + link->n_body, link->frame.bytes - link->n_body);
}

/* read_window - the part that a head without bytes speaks of */
static void read_window(struct reduction *r, unsigned rank, const struct group_frame *f)
{
    struct edl_group *group = r->group;
    const int64_t *kept = (const int64_t *)(const void *)group->views[rank].bytes;
    const float *work = (const float *)(const void *)(kept + group->n_values);
    const float *sum = work + group->n_values;
    size_t mine = first_of(r, group->rank), n_mine = size_of(r, group->rank);
    size_t his = first_of(r, rank);

    if (f->kind == GROUP_GATHER)
        memcpy(group->sum + his, sum + his, size_of(r, rank) * sizeof *sum);
    else if (f->form == GROUP_I64)
        add_values(r, 0, (const uint8_t *)(kept + mine), n_mine, f->form);
    else if (f->form == GROUP_F32)
        add_values(r, 0, (const uint8_t *)(work + mine), n_mine, f->form);
}

static void end_message(struct reduction *r, unsigned rank, struct group_link *link)
{
    struct group_part *part = &r->group->parts_in[rank];

    if ((link->frame.flags & GROUP_SHARED) != 0)
        read_window(r, rank, &link->frame);
    if (link->frame.kind == GROUP_REDUCE) {
        part->has_reduce = true;
        part->reduced = size_of(r, r->group->rank); /* also when it has nothing to add */
        r->count += link->frame.count;
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

    if (r->count == expected)
        return GROUP_WELL;
    (void)edl_error_set(&group->error, -EPROTO,
                        "micro-batches in the sum of step %llu: %u, not %llu; a fault of libedl",
                        (unsigned long long)r->step, r->count, (unsigned long long)expected);
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
