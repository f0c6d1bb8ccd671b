/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - a group: ranks that train together, while some of them come and go */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "libedl/client.h"
#include "libedl/group_exact.h"
#include "libedl/group_internal.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define FOREIGN_PATIENCE_US (30 * USEC_PER_SEC)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define ALIVE_TRIES 3

_Static_assert(EDL_GROUP_MICRO_BATCHES_MAX == GROUP_MICRO_BATCHES_MAX, "as the header says");
_Static_assert(EDL_GROUP_RANKS_MAX == GROUP_RANKS_MAX, "as the header says");
_Static_assert(EDL_GROUP_SIGNATURE_BYTES_MAX == GROUP_SIGNATURE_BYTES - 1, "as the header says");

/* ---- errors ---- */

int group_fail(struct edl_group *group, int code)
{
    group->error.code = code;
    return code;
}

const char *edl_group_error(const struct edl_group *group)
{
    struct edl_group *own = (struct edl_group *)(uintptr_t)group; /* why: its text is made here */
    const char *remedy = group->error.remedy;

    (void)snprintf(own->text, sizeof own->text, "%s%s%s",
                   group->error.text[0] != '\0' ? group->error.text : "no error",
                   *remedy != '\0' ? "; " : "", remedy);
    return own->text;
}

static int refuse(struct edl_group *group, int code, const char *what)
{
    (void)edl_error_set(&group->error, code, "%s", what);
    return group_fail(group, code);
}

void group_at(struct edl_group *group, enum group_point point)
{
    if (group->at != NULL)
        group->at(group, point);
}

/* ---- memory ---- */

/* map - with huge pages where the kernel has some: a process with many small ones is long in
 * dying, and its peers hear of its death at the end of that */
static void *map(size_t bytes)
{
    void *p = mmap(NULL, MAX_OF(bytes, (size_t)1), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        abort();
    if (bytes >= HUGE_PAGE_BYTES)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static void unmap(void *p, size_t bytes)
{
    if (p != NULL)
        (void)munmap(p, MAX_OF(bytes, (size_t)1));
}

/* ---- making one ---- */

static int read_options(struct edl_group *group, const struct edl_group_options *o)
{
    if (o->micro_batches == 0 || o->micro_batches > GROUP_MICRO_BATCHES_MAX)
        return refuse(group, -EINVAL, "a step has 1 to 128 micro-batches");
    if (o->n_buckets == 0 || o->n_parts == 0)
        return refuse(group, -EINVAL, "a group has at least one bucket and one part of state");
    group->buckets = xcalloc(o->n_buckets, sizeof *group->buckets);
    for (; group->n_buckets < o->n_buckets; group->n_buckets++) {
        const struct edl_group_bucket *b = &o->buckets[group->n_buckets];

        group->buckets[group->n_buckets] =
            (struct edl_group_bucket){ xstrdup(b->name != NULL ? b->name : ""), b->n_values };
        if (b->n_values > SIZE_MAX / 16 - group->n_values)
            return refuse(group, -E2BIG, "the gradient is larger than memory can be");
        group->n_values += b->n_values;
    }
    group->parts = xcalloc(o->n_parts, sizeof *group->parts);
    for (; group->n_parts < o->n_parts; group->n_parts++) {
        group->parts[group->n_parts] = o->state[group->n_parts];
        if (o->state[group->n_parts].n_bytes > SIZE_MAX / 2 - group->state_bytes)
            return refuse(group, -E2BIG, "the state is larger than memory can be");
        group->state_bytes += o->state[group->n_parts].n_bytes;
    }
    if (group->n_values == 0)
        return refuse(group, -EINVAL, "the gradient has no values");
    if (o->signature != NULL && strlen(o->signature) >= GROUP_SIGNATURE_BYTES)
        return refuse(group, -E2BIG, "a signature has at most 1023 bytes");
    if (o->signature != NULL)
        memcpy(group->signature, o->signature, strlen(o->signature));
    group->micro_batches = group->chosen = o->micro_batches;
    group->micro_batches_of = o->micro_batches_of;
    group->micro_batches_userdata = o->userdata;
    group->steps = o->steps;
    group->applied = group->stable = o->step;
    group->exact = o->exact != 0;
    group->port = o->port;
    group->alive_us = o->alive_us;
    return 0;
}

/* open_window - kept, work, sum */
static void open_window(struct edl_group *group)
{
    uint8_t *p = group->is_alone ? NULL : group_window_open(group);

    if (p == NULL)
        p = map(group_window_bytes(group));
    else if (group_window_bytes(group) >= HUGE_PAGE_BYTES)
        (void)madvise(p, group_window_bytes(group), MADV_HUGEPAGE);
    group->kept = (int64_t *)(void *)p;
    group->work = (float *)(void *)(group->kept + group->n_values);
    group->sum = group->work + group->n_values;
}

int group_new(const struct group_members *members, const struct edl_group_options *options,
              uint64_t job, const uint8_t *secret, int listen_fd, struct edl_group **ret)
{
    struct edl_group *group = xcalloc(1, sizeof *group);
    int r;

    *ret = group; /* also of one that failed: its error can be read */
    group->listen_fd = listen_fd;
    group->computing = -1;
    group->job = job;
    group->is_alone = members == NULL;
    if (members != NULL)
        group->members = *members;
    if (secret != NULL)
        memcpy(group->secret, secret, sizeof group->secret);
    group->foreign_patience_us = FOREIGN_PATIENCE_US;
    group->window_fd = group->readers_fd = -1;
    for (int k = 0; k < GROUP_RANKS_MAX; k++)
        group->links[k].fd = group->views[k].fd = -1;
    for (int i = 0; i < GROUP_PENDING; i++)
        group->pending[i].link.fd = -1;
    group->follow.link.fd = -1;
    r = read_options(group, options);
    if (r < 0)
        return r;
    open_window(group);
    group->scratch = map(GROUP_SCRATCH_BYTES);
    group->slice = map(group->n_values * sizeof *group->slice);
    return 0;
}

/* take_promise_back - a program that goes on without the group may be silent for long */
static void take_promise_back(struct edl_group *group)
{
    for (int i = 0; i < ALIVE_TRIES && group->said_alive_us != 0; i++)
        if (edl_alive(group->client, 0) >= 0)
            return;
}

struct edl_group *edl_group_free(struct edl_group *group)
{
    if (group == NULL)
        return NULL;
    take_promise_back(group);
    for (unsigned k = 0; k < GROUP_RANKS_MAX; k++) {
        group_link_close(&group->links[k]);
        group_view_close(group, k);
    }
    for (int i = 0; i < GROUP_PENDING; i++)
        group_link_close(&group->pending[i].link);
    group_follower_drop(group);
    (void)edl_world_free(group->early_world);
    (void)safe_close(group->listen_fd);
    if (group->members.free != NULL)
        group->members.free(group->members.self);
    for (size_t i = 0; i < group->n_buckets; i++)
        free((char *)(uintptr_t)group->buckets[i].name); /* why: const for the caller only */
    unmap(group->kept, group_window_bytes(group));
    group_window_close(group);
    unmap(group->scratch, GROUP_SCRATCH_BYTES);
    unmap(group->slice, group->n_values * sizeof *group->slice);
    free(group->buckets);
    free(group->parts);
    free(group->spare);
    explicit_bzero(group->secret, sizeof group->secret);
    free(group);
    return NULL;
}

/* of_job - the identity, the secret and the port of a process of a job */
static int of_job(struct edl_client *client, const struct edl_group_options *options,
                  struct edl_group **ret)
{
    struct group_members members = group_members_of(client);
    uint8_t secret[JOB_SECRET_BYTES] = { 0 };
    struct edl_self *self = NULL;
    int r = edl_self_read(client, &self), fd = -1;

    if (r == 0)
        r = edl_secret(client, secret);
    if (r == 0 && options->port >= self->n_ports)
        r = client_refuse(client, -EINVAL, "the role has no port for the group: set its \"ports\"");
    if (r == 0) {
        fd = group_link_listen(self->ports[options->port]);
        r = fd < 0 ? client_refuse(client, fd, "the port of the group is taken") : 0;
    }
    if (r == 0)
        r = group_new(&members, options, self->job_id, secret, fd, ret);
    else
        members.free(members.self);
    explicit_bzero(secret, sizeof secret);
    (void)edl_self_free(self);
    return r;
}

int edl_group_new(struct edl_client *client, const struct edl_group_options *options,
                  struct edl_group **ret)
{
    struct edl_group *group = NULL;
    int r = client != NULL ? of_job(client, options, &group)
                           : group_new(NULL, options, 0, NULL, -1, &group);

    if (group != NULL)
        group->client = client;
    if (r < 0 && client != NULL && group != NULL)
        (void)client_refuse(client, r, edl_group_error(group));
    *ret = r < 0 ? edl_group_free(group) : group;
    return r;
}

/* ---- generations ---- */

void group_drop_gradient(struct edl_group *group)
{
    group->gradient_step = 0;
    group->cover = (struct group_cover){ 0 };
    group->held = HELD_NOTHING;
    group->computing = -1;
}

void group_abort(struct edl_group *group)
{
    for (unsigned k = 0; k < GROUP_RANKS_MAX; k++) {
        group_link_close(&group->links[k]);
        group_view_close(group, k);
    }
    memset(group->awaits, 0, sizeof group->awaits);
    if (group_follower_is(group)) /* it arrives with the state that it has */
        group_follower_drop(group);
    if (!group->is_alone)
        group->members.end(group->members.self, GROUP_WAIT_OVER);
    /* half a micro-batch is none, and where it lies in the sum of the others these go with it */
    if (group->held == HELD_NOTHING || (group->computing >= 0 && !group->exact))
        group_drop_gradient(group);
    group->computing = -1;
    group->is_met = false;
}

/* meet - until there is a generation that this rank is in */
static int meet(struct edl_group *group)
{
    while (!group->is_met) {
        int r = group_meet(group);

        if (r == GROUP_WELL) {
            group->is_met = group->first = true;
            continue;
        }
        group_abort(group);
        if (r != GROUP_ABORTED)
            return r;
    }
    return GROUP_WELL;
}

/* end_training - a step without values: behind it all have the last one */
static int end_training(struct edl_group *group)
{
    int r;

    group->any_leaves = false;
    r = group_reduce(group, 0);
    if (r == GROUP_WELL) {
        group->stable = group->applied;
        group->is_over = true;
    }
    group_abort(group);
    return r;
}

static bool is_at_end(const struct edl_group *group)
{
    return group->steps > 0 && group->applied >= group->steps;
}

static void show_step(struct edl_group *group, struct edl_group_step *ret)
{
    *ret = (struct edl_group_step){ .generation = group->generation,
                                    .rank = group->follow.has_sum ? EDL_NO_RANK : group->rank,
                                    .size = group->n,
                                    .step = group->applied + (group->is_over ? 0 : 1),
                                    .stable = group->stable,
                                    .micro_batches = group->follow.has_sum
                                                         ? group->follow.micro_batches
                                                         : group->micro_batches,
                                    .state_came = group->state_came,
                                    .n_values = group->n_values,
                                    .gradient = group->work };
}

static void begin_step(struct edl_group *group)
{
    if (group->gradient_step != group->applied + 1)
        group_drop_gradient(group);
    if (group->held == HELD_NOTHING)
        memset(group->work, 0, group->n_values * sizeof *group->work);
    group->gradient_step = group->applied + 1;
    group->any_leaves = false;
    group->n_collectives = 0;
}

int edl_group_begin(struct edl_group *group, struct edl_group_step *ret)
{
    int r = GROUP_WELL;

    group->error = (struct edl_error){ 0 };
    if (!group->follow.is_tried)
        group_follow_begin(group);
    if (group->follow.is_newcomer && group_follow(group) == GROUP_WELL) {
        show_step(group, ret);
        group->state_came = false;
        return 1;
    }
    if (group->error.code != 0) /* the rank that it asked trains something else */
        return group->error.code;
    while (!group->is_over) {
        if (group->is_met && group_look(group))
            group_abort(group);
        r = meet(group);
        if (r != GROUP_WELL || !is_at_end(group))
            break;
        r = end_training(group);
        if (r < 0)
            break;
    }
    if (r == GROUP_WELL && !group->is_over)
        begin_step(group);
    show_step(group, ret);
    group->state_came = false;
    if (r == GROUP_LEAVES_NOW || group->is_over)
        return 0;
    return r;
}

/* ---- computing ---- */

/* check_gradient - the micro-batch that the program has just summed, before anything is added */
static int check_gradient(struct edl_group *group)
{
    float most = group->exact ? GROUP_EXACT_MOST : INFINITY;
    size_t i = group_exact_find(group->work, group->n_values, most), bucket = 0, at = i;

    if (i == group->n_values)
        return 0;
    while (at >= group->buckets[bucket].n_values)
        at -= group->buckets[bucket++].n_values;
    (void)edl_error_set(&group->error, -EINVAL,
                        "step %llu, rank %u, micro-batch %d: value %zu of the gradient of "
                        "\"%.80s\" is %g%s",
                        (unsigned long long)group->applied + 1, group->rank, group->computing, at,
                        group->buckets[bucket].name, (double)group->work[i],
                        isfinite(group->work[i]) ? ", exact sums take less than 32768" : "");
    (void)edl_error_remedy(&group->error, "lower the learning rate, or clip the gradients");
    return group_fail(group, -EINVAL);
}

/* end_micro_batch - the one that the program computed counts */
static int end_micro_batch(struct edl_group *group)
{
    int r;

    if (group->computing < 0)
        return 0;
    r = check_gradient(group);
    if (r < 0)
        return r;
    if (group->exact && group->held == HELD_I64) {
        group_exact_add(group->kept, group->work, group->n_values);
    } else
        group->held = HELD_F32;
    group_cover_add(&group->cover, (unsigned)group->computing);
    group->computing = -1;
    return 0;
}

/* clear_work - each micro-batch of an exact sum begins from nothing, and is rounded by itself */
static void clear_work(struct edl_group *group)
{
    if (!group->exact || group->held == HELD_NOTHING)
        return;
    if (group->held == HELD_F32)
        group_exact_put(group->kept, group->work, group->n_values);
    group->held = HELD_I64;
    memset(group->work, 0, group->n_values * sizeof *group->work);
}

static struct group_cover my_take(const struct edl_group *group)
{
    return group->first ? group->plan.take[group->rank]
                        : group_share(group->rank, group->n, (unsigned)group->micro_batches);
}

int edl_group_take(struct edl_group *group, uint64_t *ret_micro_batch)
{
    struct group_cover take;
    int r = end_micro_batch(group);

    if (r < 0 || !group->is_met)
        return r;
    if (group_look(group)) {
        group_abort(group);
        return 0;
    }
    take = my_take(group);
    for (unsigned m = 0; m < group->micro_batches; m++)
        if (group_cover_has(&take, m) && !group_cover_has(&group->cover, m)) {
            clear_work(group);
            group->computing = (int)m;
            *ret_micro_batch = m;
            return 1;
        }
    return 0;
}

int edl_group_sum(struct edl_group *group, const float **ret)
{
    int r = end_micro_batch(group);

    if (group->follow.has_sum) {
        *ret = group->sum;
        return 1;
    }
    if (r < 0 || !group->is_met)
        return r;
    group->any_leaves = group->ends || group->reforms;
    r = group_reduce(group, group->n_values);
    if (r != GROUP_WELL) {
        group_abort(group);
        return r;
    }
    group_at(group, GROUP_AT_SUM);
    *ret = group->sum;
    return 1;
}

int edl_group_commit(struct edl_group *group)
{
    if (group->follow.has_sum) {
        group_follow_commit(group);
        return 0;
    }
    if (!group->is_met)
        return refuse(group, -EINVAL, "nothing was summed: edl_group_commit follows edl_group_sum");
    /* each has sent of this step, so each has the one before */
    group->stable = group->applied;
    group->applied++;
    group->identity = group->generation;
    group->first = false;
    group_drop_gradient(group);
    group_follower_step(group);
    if (group->any_leaves)
        group_abort(group);
    return 0;
}

void edl_group_end(struct edl_group *group)
{
    group->steps = group->applied;
}

void edl_group_replan(struct edl_group *group)
{
    group->reforms = true;
}

void edl_group_leave(struct edl_group *group)
{
    group->ends = 1;
}
