/* SPDX-License-Identifier: Apache-2.0 */
/* group_greet.c - strangers become members: each proves the secret to the other before it is
 * believed */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libedl/group_internal.h"
#include "shared/clock.h"
#include "shared/macro.h"

enum { LINE_BYTES = 120 };

struct group_frame group_frame_of(const struct edl_group *group, enum group_frame_kind kind,
                                  uint64_t step, uint64_t bytes)
{
    return (struct group_frame){ .kind = kind,
                                 .job = group->job,
                                 .generation = group->generation,
                                 .step = step,
                                 .bytes = bytes,
                                 .rank = group->rank };
}

static struct group_frame hello_of(const struct edl_group *group, enum group_frame_kind kind)
{
    struct group_frame f =
        group_frame_of(group, kind, group->applied, group_frame_greeting_bytes(kind));

    f.flags = group->exact ? GROUP_EXACT : 0;
    f.values = group->n_values;
    f.state_bytes = group->state_bytes;
    f.machine = group->machine;
    f.window = group->window;
    f.hello = (struct group_hello){ .identity = group->identity,
                                    .applied = group->applied,
                                    .gradient_step = group->gradient_step,
                                    .micro_batches = (unsigned)group->micro_batches,
                                    .cover = group->cover,
                                    .chosen = (unsigned)group->chosen };
    return f;
}

/* is_newer - than what this rank has */
static bool is_newer(const struct edl_group *group, const struct group_hello *hello)
{
    return hello->identity != group->identity ? hello->identity > group->identity
                                              : hello->applied > group->applied;
}

static bool is_older(const struct edl_group *group, const struct group_hello *hello)
{
    return !is_newer(group, hello) &&
           (hello->identity != group->identity || hello->applied != group->applied);
}

/* What all ranks have alike. */
struct common {
    const char *name;
    uint64_t theirs, ours;
};

/* difference - the first one of a hello; false: it is of a rank that trains the same as this one */
static bool difference(const struct edl_group *group, const struct group_frame *hello,
                       struct common *ret)
{
    /* a choice follows from a state, and one of the two is the older */
    const bool any = group->micro_batches_of != NULL;
    const uint64_t theirs = hello->hello.chosen;
    const struct common rows[] = { { "values in a gradient", hello->values, group->n_values },
                                   { "bytes of state", hello->state_bytes, group->state_bytes },
                                   { "micro-batches", theirs, any ? theirs : group->micro_batches },
                                   { "as exact (0: no, 2: yes)", hello->flags & GROUP_EXACT,
                                     group->exact ? GROUP_EXACT : 0 } };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        if (rows[i].theirs != rows[i].ours) {
            *ret = rows[i];
            return true;
        }
    return false;
}

/* line_of - the one that begins at *text, without what no terminal shows; *text: the next one */
static void line_of(const uint8_t **text, const uint8_t *end, char ret[LINE_BYTES])
{
    size_t n = 0;

    for (; *text < end && **text != '\0' && **text != '\n'; ++*text)
        if (n + 1 < LINE_BYTES)
            ret[n++] = **text >= ' ' && **text < 0x7f ? (char)**text : '?';
    ret[n] = '\0';
    *text += *text < end && **text == '\n';
}

/* refuse_signature - by the first line that differs */
static int refuse_signature(struct edl_group *group, const uint8_t *theirs, const char *who,
                            const char *here)
{
    const uint8_t *a = theirs, *b = group->signature, *end_a = a + GROUP_SIGNATURE_BYTES,
                  *end_b = b + GROUP_SIGNATURE_BYTES;
    char line_a[LINE_BYTES], line_b[LINE_BYTES];

    do {
        line_of(&a, end_a, line_a);
        line_of(&b, end_b, line_b);
    } while (streq(line_a, line_b) && (*line_a != '\0' || *line_b != '\0'));
    (void)edl_error_set(&group->error, -EINVAL, "%s trains with \"%s\", this rank%s%s with \"%s\"",
                        who, line_a, *here != '\0' ? " on " : "", here, line_b);
    (void)edl_error_remedy(&group->error,
                           "choose nodes and options that are alike; of nodes alone, "
                           "sums that are not exact will do");
    return group_fail(group, -EINVAL);
}

/* has_my_signature - false: it is refused, or goes; *ret is what fits gives */
static bool has_my_signature(struct edl_group *group, const struct group_frame *hello,
                             const uint8_t *signature, int *ret)
{
    char who[GROUP_NODE_BYTES + 32];
    const char *node = group->node_names[hello->rank];

    if (memcmp(signature, group->signature, GROUP_SIGNATURE_BYTES) == 0)
        return true;
    (void)snprintf(who, sizeof who, "rank %u%s%s", hello->rank, *node != '\0' ? " on " : "", node);
    *ret = is_older(group, &hello->hello)
               ? GROUP_ABORTED
               : refuse_signature(group, signature, who, group->node_names[group->rank]);
    return false;
}

/* fits - whether the rank trains the same as this one. Where it does not, the one with
 * less of the training fails: a newcomer with another program ends nobody. */
static int fits(struct edl_group *group, const struct group_frame *hello, const uint8_t *signature)
{
    struct common differs;
    int r;

    if (!has_my_signature(group, hello, signature, &r))
        return r;
    if (!difference(group, hello, &differs))
        return GROUP_WELL;
    if (is_older(group, &hello->hello))
        return GROUP_ABORTED;
    (void)edl_error_set(&group->error, -EINVAL, "rank %u has %llu %s, this one %llu", hello->rank,
                        (unsigned long long)differs.theirs, differs.name,
                        (unsigned long long)differs.ours);
    (void)edl_error_remedy(&group->error,
                           "give all processes of the role the same program and options");
    return group_fail(group, -EINVAL);
}

/* read_greeting - 1: the frame and its body are here; 0: not yet; below 0: never */
static int read_greeting(struct group_greeting *g, struct group_link *link, struct edl_error *error)
{
    int r = group_link_head(link, error);

    if (r <= 0)
        return r;
    if (group_frame_greeting_bytes(link->frame.kind) == 0)
        return -EPROTO;
    while (!group_link_has_body(link)) {
        ssize_t n = group_link_body(link, g->in + link->n_body, sizeof g->in - link->n_body);

        if (n <= 0)
            return (int)n;
    }
    group_link_next(link);
    return 1;
}

/* ---- those that dial ---- */

static struct group_greeting *free_place(struct edl_group *group)
{
    struct group_greeting *oldest = &group->pending[0];

    for (int i = 0; i < GROUP_PENDING; i++) {
        struct group_greeting *p = &group->pending[i];

        if (p->link.fd < 0)
            return p;
        if (p->age < oldest->age)
            oldest = p;
    }
    group_link_close(&oldest->link); /* whoever says nothing gives way */
    return oldest;
}

static void accept_all(struct edl_group *group)
{
    int fd;

    if (group->listen_fd < 0)
        return;
    while ((fd = group_link_accept(group->listen_fd)) >= 0) {
        struct group_greeting *p = free_place(group);

        *p = (struct group_greeting){ .age = ++group->n_accepted };
        group_link_take(&p->link, fd);
    }
}

/* challenge - of a hello of this generation; false: it has no place in it */
static bool challenge(struct edl_group *group, struct group_greeting *p)
{
    struct group_frame f = hello_of(group, GROUP_CHALLENGE);

    if (p->hello.kind == GROUP_HELLO &&
        (p->hello.rank <= group->rank || p->hello.rank >= group->n ||
         group->is_ready[p->hello.rank]))
        return false;
    p->meeting = (struct group_meeting){ .job = group->job,
                                         .generation = group->generation,
                                         .dialler = p->hello.rank,
                                         .acceptor = group->rank };
    memcpy(p->meeting.dialler_nonce, p->in, JOB_NONCE_BYTES);
    if (group_nonce(p->meeting.acceptor_nonce) < 0)
        return false;
    memcpy(p->out, p->meeting.acceptor_nonce, JOB_NONCE_BYTES);
    group_proof(group->secret, &p->meeting, true, p->out + JOB_NONCE_BYTES);
    memcpy(p->out + JOB_NONCE_BYTES + JOB_PROOF_BYTES, group->signature, GROUP_SIGNATURE_BYTES);
    (void)group_link_put(&p->link, &f, p->out, f.bytes);
    p->is_challenged = true;
    return true;
}

static void see_machine(struct edl_group *group, unsigned rank, const struct group_frame *hello)
{
    group->machines[rank] = hello->machine;
    if (group->machine != 0 && hello->machine == group->machine)
        group->views[rank].window = hello->window;
}

/* is_welcome - members while links are made, one that follows while they train */
static bool is_welcome(const struct edl_group *group, const struct group_greeting *p)
{
    bool now = p->hello.kind == GROUP_FOLLOW ? group->is_met && !group_follower_is(group)
                                             : group->is_setting_up;

    return now && p->hello.generation == group->generation;
}

/* become_member - of one that proved the secret */
static bool become_member(struct edl_group *group, struct group_greeting *p)
{
    unsigned k = p->hello.rank;

    if (!group_proof_is(group->secret, &p->meeting, false, p->in) || !is_welcome(group, p))
        return false;
    if (p->hello.kind == GROUP_FOLLOW) {
        group_follower_take(group, &p->link);
        return true;
    }
    if (group->is_ready[k])
        return false;
    if (fits(group, &p->hello, p->signature) != GROUP_WELL)
        return false;
    group->links[k] = p->link;
    p->link = (struct group_link){ .fd = -1 };
    group->hellos[k] = p->hello.hello;
    see_machine(group, k, &p->hello);
    group->is_ready[k] = true;
    return true;
}

static bool take_hello(struct edl_group *group, struct group_greeting *p)
{
    p->hello = p->link.frame;
    p->has_hello = true;
    memcpy(p->signature, p->in + JOB_NONCE_BYTES, GROUP_SIGNATURE_BYTES);
    return (p->hello.kind == GROUP_HELLO || p->hello.kind == GROUP_FOLLOW) &&
           p->hello.job == group->job && p->hello.generation >= group->generation;
}

/* go_on - false: it is nobody */
static bool go_on(struct edl_group *group, struct group_greeting *p)
{
    int r;

    if (group_link_send(&p->link) < 0)
        return false;
    if (!p->has_hello) {
        r = read_greeting(p, &p->link, NULL);
        if (r <= 0)
            return r == 0;
        if (!take_hello(group, p))
            return false;
    }
    if (!p->is_challenged) {
        if (!is_welcome(group, p))
            return p->hello.kind == GROUP_HELLO && p->hello.generation > group->generation;
        if (!challenge(group, p) || group_link_send(&p->link) < 0)
            return false;
    }
    r = read_greeting(p, &p->link, NULL);
    if (r <= 0)
        return r == 0;
    return p->link.frame.kind == GROUP_PROOF && become_member(group, p);
}

void group_greet_all(struct edl_group *group)
{
    accept_all(group);
    group_window_serve(group);
    for (int i = 0; i < GROUP_PENDING; i++)
        if (group->pending[i].link.fd >= 0 && !go_on(group, &group->pending[i]))
            group_link_close(&group->pending[i].link);
}

/* ---- dialling ---- */

static void put_hello(const struct edl_group *group, struct group_greeting *g)
{
    memcpy(g->out, g->meeting.dialler_nonce, JOB_NONCE_BYTES);
    memcpy(g->out + JOB_NONCE_BYTES, group->signature, GROUP_SIGNATURE_BYTES);
}

static const uint8_t *signature_of_challenge(const struct group_greeting *g)
{
    return g->in + JOB_NONCE_BYTES + JOB_PROOF_BYTES;
}

int group_dial(struct edl_group *group, unsigned rank, const struct edl_peer *peer)
{
    struct group_greeting *g = &group->dials[rank];
    struct group_frame f = hello_of(group, GROUP_HELLO);
    int r;

    if (group->port >= peer->n_ports) {
        (void)edl_error_set(&group->error, -EINVAL,
                            "rank %u has ports: %zu, the group needs number %zu", rank,
                            peer->n_ports, group->port);
        (void)edl_error_remedy(&group->error, "set \"ports\" of the role to %zu", group->port + 1);
        return group_fail(group, -EINVAL);
    }
    *g = (struct group_greeting){ .meeting = { .job = group->job,
                                               .generation = group->generation,
                                               .dialler = group->rank,
                                               .acceptor = rank } };
    if (group_nonce(g->meeting.dialler_nonce) < 0) {
        (void)edl_error_set(&group->error, -EIO, "the kernel gives no random bytes");
        return group_fail(group, -EIO);
    }
    r = group_link_dial(&group->links[rank], peer->address, peer->ports[group->port]);
    if (r == -EINVAL) {
        (void)edl_error_set(&group->error, r, "the address of rank %u is \"%.60s\", no number",
                            rank, peer->address);
        return group_fail(group, r);
    }
    if (r < 0)
        return GROUP_ABORTED;
    put_hello(group, g);
    (void)group_link_put(&group->links[rank], &f, g->out, f.bytes);
    return GROUP_WELL;
}

/* check_challenge - what a lower rank answered */
static int check_challenge(struct edl_group *group, unsigned rank)
{
    struct group_greeting *g = &group->dials[rank];
    const struct group_frame *f = &group->links[rank].frame;

    if (f->kind != GROUP_CHALLENGE || f->rank != rank || f->job != group->job ||
        f->generation != group->generation)
        return GROUP_ABORTED;
    memcpy(g->meeting.acceptor_nonce, g->in, JOB_NONCE_BYTES);
    if (!group_proof_is(group->secret, &g->meeting, true, g->in + JOB_NONCE_BYTES)) {
        (void)edl_error_set(
            &group->error, -EACCES,
            "the program in the place of rank %u does not know the secret of the job", rank);
        (void)edl_error_remedy(
            &group->error, "find out which program has that port; groups of one job alone meet");
        return group_fail(group, -EACCES);
    }
    return GROUP_WELL;
}

/* is_foreign - what answered is no rank: the port of one that was just lost may be another
 * program's by now, and the next generation is without it. A rank that stays away is told at last
 */
static int is_foreign(struct edl_group *group, unsigned rank)
{
    const uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    const char *node = group->node_names[rank];

    group->error = (struct edl_error){ 0 };
    if (group->foreign_us == 0)
        group->foreign_us = now_us;
    if (now_us - group->foreign_us < group->foreign_patience_us)
        return GROUP_ABORTED;
    (void)edl_error_set(&group->error, -EBADMSG,
                        "at the address of rank %u%s%s a program answers that is none of the group",
                        rank, *node != '\0' ? " on " : "", node);
    (void)edl_error_remedy(&group->error, "find out which program has that port");
    return group_fail(group, -EBADMSG);
}

int group_dialled(struct edl_group *group, unsigned rank)
{
    struct group_link *link = &group->links[rank];
    struct group_greeting *g = &group->dials[rank];
    struct group_frame f = group_frame_of(group, GROUP_PROOF, 0, JOB_PROOF_BYTES);
    int r = group_link_send(link);

    if (group->is_ready[rank])
        return GROUP_WELL;
    if (r >= 0)
        r = read_greeting(g, link, &group->error);
    if (r == -EBADMSG)
        return is_foreign(group, rank);
    if (r == -EPROTO && group->error.code != 0)
        return group_fail(group, -EPROTO); /* another version: nobody will ever meet */
    if (r < 0)
        return GROUP_ABORTED;
    if (r == 0)
        return GROUP_WELL;
    r = check_challenge(group, rank);
    if (r != GROUP_WELL)
        return r;
    group->hellos[rank] = link->frame.hello;
    see_machine(group, rank, &link->frame);
    group_proof(group->secret, &g->meeting, false, g->out);
    (void)group_link_put(link, &f, g->out, f.bytes);
    if (group_link_send(link) < 0)
        return GROUP_ABORTED;
    r = fits(group, &link->frame, signature_of_challenge(g));
    group->is_ready[rank] = r == GROUP_WELL;
    return r;
}

/* ---- a newcomer that follows ---- */

int group_follow_dial(struct edl_group *group, const struct edl_peer *peer, unsigned rank)
{
    struct group_follow *w = &group->follow;
    struct group_greeting *g = &w->greeting;
    struct group_frame f = hello_of(group, GROUP_FOLLOW);

    f.generation = w->generation;
    f.rank = GROUP_RANKS_MAX - 1; /* it has none yet */
    *g = (struct group_greeting){ .meeting = { .job = group->job,
                                               .generation = w->generation,
                                               .dialler = f.rank,
                                               .acceptor = rank } };
    (void)snprintf(g->node, sizeof g->node, "a rank%s%.40s", *peer->node != '\0' ? " on " : "",
                   peer->node);
    if (group->port >= peer->n_ports || group_nonce(g->meeting.dialler_nonce) < 0 ||
        group_link_dial(&w->link, peer->address, peer->ports[group->port]) < 0)
        return GROUP_ABORTED;
    put_hello(group, g);
    (void)group_link_put(&w->link, &f, g->out, f.bytes);
    return GROUP_WELL;
}

int group_follow_greet(struct edl_group *group)
{
    struct group_follow *w = &group->follow;
    struct group_greeting *g = &w->greeting;
    struct group_frame f = group_frame_of(group, GROUP_PROOF, 0, JOB_PROOF_BYTES);
    struct common differs;
    int r = group_link_send(&w->link);

    if (r >= 0)
        r = read_greeting(g, &w->link, NULL);
    if (r <= 0)
        return r;
    if (w->link.frame.kind != GROUP_CHALLENGE || w->link.frame.generation != w->generation)
        return -EPROTO;
    memcpy(g->meeting.acceptor_nonce, g->in, JOB_NONCE_BYTES);
    if (!group_proof_is(group->secret, &g->meeting, true, g->in + JOB_NONCE_BYTES))
        return -EACCES;
    if (memcmp(signature_of_challenge(g), group->signature, GROUP_SIGNATURE_BYTES) != 0)
        return refuse_signature(group, signature_of_challenge(g), g->node, "");
    if (difference(group, &w->link.frame, &differs))
        return -EINVAL; /* it is told when it meets the others, whom it is behind until then */
    group_proof(group->secret, &g->meeting, false, g->out);
    (void)group_link_put(&w->link, &f, g->out, f.bytes);
    w->micro_batches = w->link.frame.hello.micro_batches;
    w->is_proved = true;
    r = group_link_send(&w->link);
    return r < 0 ? r : 1;
}
