/* SPDX-License-Identifier: Apache-2.0 */
/* group_follow.c - a newcomer follows a member before it arrives
 *
 *     newcomer                                a member
 *     FOLLOW {its state, its nonce}      ->
 *                                        <-   CHALLENGE; then PROOF, as between members
 *                                        <-   STATE, a copy of that behind some step
 *                                        <-   SUM of each step since
 *     it is level: it arrives, which ends the generation; all leave behind the same step
 *                                        <-   SUM of that step, END
 *
 * So the members go on while a state is on its way, and lose one step boundary. A newcomer whose
 * member dies, or meets anew, arrives with the state that it has. */
#include <errno.h>
#include <string.h>

#include "libedl/group_internal.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

/* A newcomer that hears nothing for so long arrives without following; a member that cannot send
 * the last sum for so long lets it go. Nothing is lost by either. */
#define FOLLOW_PATIENCE_US (10 * USEC_PER_SEC)
#define END_PATIENCE_MS 1000

/* ---- the member ---- */

void group_follower_drop(struct edl_group *group)
{
    struct group_follow *f = &group->follow;

    group_link_close(&f->link);
    for (; f->n_messages > 0; f->n_messages--) {
        free(f->messages[f->first].body);
        f->first = (f->first + 1) % GROUP_FOLLOW_MESSAGES;
    }
    f->has_state = false;
}

void group_follower_take(struct edl_group *group, struct group_link *link)
{
    group_follower_drop(group);
    group->follow.link = *link;
    *link = (struct group_link){ .fd = -1 };
}

bool group_follower_is(const struct edl_group *group)
{
    return group->follow.link.fd >= 0 && !group->follow.is_newcomer;
}

/* push - room for the body of a message; NULL: there is none, or nobody to send it to */
static uint8_t *push(struct edl_group *group, const struct group_frame *frame)
{
    struct group_follow *f = &group->follow;
    struct group_follow_message *m;

    if (f->link.fd < 0)
        return NULL;
    if (f->n_messages == GROUP_FOLLOW_MESSAGES) { /* it falls behind: it will arrive as it is */
        group_follower_drop(group);
        return NULL;
    }
    m = &f->messages[(f->first + f->n_messages++) % GROUP_FOLLOW_MESSAGES];
    m->frame = *frame;
    m->body = xcalloc(MAX_OF(frame->bytes, UINT64_C(1)), 1);
    return m->body;
}

void group_follower_send(struct edl_group *group)
{
    struct group_follow *f = &group->follow;
    int r;

    while (group_follower_is(group)) {
        r = group_link_send(&f->link);
        if (r < 0) {
            group_follower_drop(group);
            return;
        }
        if (!group_link_is_empty(&f->link))
            return;
        if (f->is_sending) {
            free(f->messages[f->first].body);
            f->first = (f->first + 1) % GROUP_FOLLOW_MESSAGES;
            f->n_messages--;
            f->is_sending = false;
        }
        if (f->n_messages == 0)
            return;
        f->is_sending = true;
        (void)group_link_put(&f->link, &f->messages[f->first].frame, f->messages[f->first].body,
                             f->messages[f->first].frame.bytes);
    }
}

static void push_state(struct edl_group *group)
{
    struct group_frame frame =
        group_frame_of(group, GROUP_STATE, group->applied, group->state_bytes);
    uint8_t *to;

    frame.hello.identity = group->identity;
    to = push(group, &frame);
    for (size_t i = 0; to != NULL && i < group->n_parts; to += group->parts[i++].n_bytes)
        memcpy(to, group->parts[i].bytes, group->parts[i].n_bytes);
    group->follow.has_state = true;
}

/* drain - the last sum goes before the links do */
static void drain(struct edl_group *group)
{
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC),
             end_us = now_us + END_PATIENCE_MS * USEC_PER_MSEC;

    for (group_follower_send(group); group_follower_is(group) && group->follow.n_messages > 0;
         group_follower_send(group)) {
        struct pollfd p = { .fd = group->follow.link.fd, .events = POLLOUT };

        now_us = clock_read_us(CLOCK_MONOTONIC);
        if (now_us >= end_us)
            break;
        (void)poll(&p, 1, (int)((end_us - now_us) / USEC_PER_MSEC) + 1);
    }
}

void group_follower_step(struct edl_group *group)
{
    struct group_frame frame =
        group_frame_of(group, GROUP_SUM, group->applied, group->n_values * sizeof *group->sum);

    if (!group_follower_is(group))
        return;
    frame.hello.identity = group->identity;
    if (group->follow.has_state) {
        uint8_t *to = push(group, &frame);

        if (to != NULL)
            memcpy(to, group->sum, frame.bytes);
    } else
        push_state(group);
    if (group->any_leaves) {
        frame = group_frame_of(group, GROUP_END, group->applied, 0);
        (void)push(group, &frame);
        drain(group);
    } else
        group_follower_send(group);
}

/* ---- the newcomer ---- */

static void end_following(struct edl_group *group)
{
    group_link_close(&group->follow.link);
    group->follow.is_newcomer = group->follow.has_sum = false;
    free(TAKE_PTR(group->spare));
}

/* dial - any of the members, so that not all newcomers ask the same one */
static int dial(struct edl_group *group, const struct edl_world *world)
{
    uint8_t random[JOB_NONCE_BYTES] = { 0 };
    uint32_t from = 0;
    int r = GROUP_ABORTED;

    (void)group_nonce(random);
    memcpy(&from, random, sizeof from);
    for (uint64_t i = 0; r != GROUP_WELL && i < world->n_members; i++)
        r = group_follow_dial(group, &world->members[(from + i) % world->n_members],
                              (unsigned)((from + i) % world->n_members));
    return r;
}

void group_follow_begin(struct edl_group *group)
{
    struct edl_world *world = NULL;

    group->follow.is_tried = true;
    if (group->is_alone || group->members.now == NULL ||
        group->members.now(group->members.self, &world) != 1)
        return;
    group->follow.generation = world->generation;
    group->follow.is_newcomer = true;
    group->follow.heard_us = clock_read_us(CLOCK_MONOTONIC);
    if (dial(group, world) != GROUP_WELL)
        end_following(group);
    world = edl_world_free(world);
}

/* hear - the time of the last byte; false: there was none for too long */
static bool hear(struct edl_group *group, bool moved)
{
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);

    if (moved)
        group->follow.heard_us = now_us;
    return now_us - group->follow.heard_us < FOLLOW_PATIENCE_US;
}

/* body_to - where the body of a frame belongs; NULL: it is none that can come now */
static uint8_t *body_to(struct edl_group *group, const struct group_frame *f)
{
    struct group_follow *w = &group->follow;

    if (f->generation != w->generation || f->hello.identity > w->generation)
        return NULL;
    if (f->kind == GROUP_STATE && !w->has_state && f->bytes == group->state_bytes) {
        if (group->spare == NULL)
            group->spare = xcalloc(MAX_OF(group->state_bytes, (size_t)1), 1);
        return group->spare;
    }
    if (f->kind == GROUP_SUM && w->has_state && f->step == group->applied + 1 &&
        f->bytes == group->n_values * sizeof *group->sum)
        return (uint8_t *)group->sum;
    return NULL;
}

/* read_message - 1: a whole one, *ret_end: the last; 0: not yet; below 0: the link is over */
static int read_message(struct edl_group *group, bool *ret_moved, bool *ret_end)
{
    struct group_link *link = &group->follow.link;
    int r = group_link_head(link, NULL);
    uint8_t *to;

    if (r <= 0)
        return r;
    *ret_end = link->frame.kind == GROUP_END && link->frame.bytes == 0;
    to = *ret_end ? link->head : body_to(group, &link->frame);
    if (to == NULL)
        return -EPROTO;
    while (!group_link_has_body(link)) {
        ssize_t n = group_link_body(link, to + link->n_body, link->frame.bytes - link->n_body);

        if (n <= 0)
            return (int)n;
        *ret_moved = true;
    }
    group_link_next(link);
    *ret_moved = true;
    return 1;
}

/* arrive - once it is level, as that ends the generation of the others */
static int arrive(struct edl_group *group)
{
    struct group_members *m = &group->members;
    int r;

    if (!group->is_arriving) {
        r = m->begin(m->self, GROUP_WAIT_WORLD, 0);
        if (r < 0)
            return r;
        group->is_arriving = true;
    }
    if (group->early_world != NULL)
        return -EAGAIN;
    r = m->go_on(m->self, GROUP_WAIT_WORLD, &group->early_world);
    group->is_arriving = r == 1 || r == -EAGAIN;
    return group->is_arriving ? -EAGAIN : r;
}

int group_follow(struct edl_group *group)
{
    struct group_follow *w = &group->follow;

    while (w->is_newcomer) {
        bool moved = false, end = false;
        bool was_proved = w->is_proved;
        int r = was_proved ? read_message(group, &moved, &end) : group_follow_greet(group);

        if (r < 0 || end || !hear(group, moved || r == 1) || group->ends)
            break;
        if (r == 1 && was_proved && w->link.frame.kind == GROUP_STATE) {
            group_change_state(group, w->link.frame.step, w->link.frame.hello.identity);
            w->has_state = true;
        } else if (r == 1 && was_proved) {
            w->has_sum = true;
            w->identity = w->link.frame.hello.identity;
            return GROUP_WELL;
        }
        if (w->is_level && arrive(group) != -EAGAIN)
            break; /* the wait in group_meet says why */
        if (r == 0)
            group_poll(group, w->is_level ? GROUP_WAIT_WORLD : GROUP_WAITS);
    }
    end_following(group);
    return GROUP_ABORTED;
}

void group_follow_commit(struct edl_group *group)
{
    group->stable = group->applied;
    group->applied++;
    group->identity = group->follow.identity;
    group->follow.has_sum = false;
    group->follow.is_level = true;
}
