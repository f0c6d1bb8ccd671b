/* SPDX-License-Identifier: Apache-2.0 */
/* group_internal.h - a group, for the files that it is made of and their tests
 *
 * The states of a rank:
 *
 *     ARRIVED  -- the next generation is there -->  SETUP
 *     SETUP    -- each has said hello to each -->   CATCH_UP, by the plan
 *     CATCH_UP -- it has the newest state -->       TRAINING: compute, reduce, commit, again
 *
 * and from each of them back to ARRIVED, by closing all links: at the first end of a link, when the
 * generation is over, or when all leave behind a step. A gradient that was not summed is kept. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "libedl/edl/edl.h"
#include "libedl/group_link.h"
#include "libedl/group_members.h"
#include "libedl/group_nodes.h"
#include "libedl/group_proof.h"
#include "shared/error.h"

enum {
    GROUP_PENDING = GROUP_RANKS_MAX + 8,
    GROUP_NODE_BYTES = 64,
    GROUP_SCRATCH_BYTES = 256 << 10
};

/* What came of a part of the protocol. Below 0: an error, for the program. */
enum { GROUP_ABORTED = 0, GROUP_WELL = 1 };

/* Where tests end a rank. */
enum group_point {
    GROUP_AT_JOINED = 1, /* the generation is there, nobody is dialled */
    GROUP_AT_GREETED,    /* hellos are sent */
    GROUP_AT_HALF_STATE, /* given or taken */
    GROUP_AT_REDUCE_IN,  /* the first part of a peer begins to come */
    GROUP_AT_GATHER_IN,  /* the last sum of a peer is here */
    GROUP_AT_NODE_SUM,   /* its node has brought all, nothing was sent to other nodes */
    GROUP_AT_ALL_OUT,    /* all is sent to a peer */
    GROUP_AT_SUM,        /* the step is summed, the program did not move its values yet */
    GROUP_POINTS
};

enum { GROUP_GREETING_BYTES = JOB_NONCE_BYTES + JOB_PROOF_BYTES + GROUP_SIGNATURE_BYTES };

/* A connection that may become a link, or a link that was dialled. */
struct group_greeting {
    struct group_link link; /* of one that was accepted */
    struct group_frame hello;
    struct group_meeting meeting;
    uint8_t out[GROUP_GREETING_BYTES], in[GROUP_GREETING_BYTES];
    uint8_t signature[GROUP_SIGNATURE_BYTES]; /* of one that was accepted */
    char node[GROUP_NODE_BYTES];              /* of one that is followed: "a rank on node-1" */
    bool has_hello, is_challenged;
    uint64_t age; /* the oldest gives way */
};

/* What a rank on the same machine lets this one read. */
struct group_view {
    uint64_t window;        /* its name; 0: it shares nothing with this one */
    int fd;                 /* while it is asked for; else -1 */
    const uint8_t *bytes;   /* mapped; NULL: there is none */
    bool is_tried, is_told; /* asked for; the other was told whether there is one */
    bool is_heard, is_seen; /* the other told; it reads mine */
};

/* What came from a rank in this step. */
struct group_part {
    bool is_met;            /* it is of another node, and we exchange these: */
    struct group_range in;  /* what it brings of mine, and takes as a sum */
    struct group_range out; /* what I bring of its own, and take as a sum */
    size_t reduced;         /* values that came */
    bool has_reduce, is_done;
    uint8_t rest[8]; /* bytes of a value that is not whole yet */
    size_t n_rest;
    struct group_out *gather; /* on its way to it */
    bool is_gather_due;       /* to be said when all of it is there */
};

enum { GROUP_FOLLOW_MESSAGES = 16 };

struct group_follow_message {
    struct group_frame frame;
    uint8_t *body; /* owned */
};

/* A newcomer's link to a member, or a member's to a newcomer: never both in one process. */
struct group_follow {
    struct group_link link;
    bool has_state; /* it was sent, or came */

    /* the member: what the newcomer is to have */
    struct group_follow_message messages[GROUP_FOLLOW_MESSAGES];
    unsigned first, n_messages;
    bool is_sending; /* the first one */

    /* the newcomer */
    bool is_tried, is_newcomer, is_proved, has_sum, is_level;
    uint64_t generation, identity, heard_us, micro_batches;
    struct group_greeting greeting;
};

enum group_held { HELD_NOTHING, HELD_F32, HELD_I64 };

struct edl_group {
    /* the options */
    struct edl_client *client; /* borrowed; NULL: alone, or a test */
    struct group_members members;
    bool is_alone;
    uint64_t job, micro_batches, chosen, steps, alive_us; /* of this step, and of the next one */
    uint64_t (*micro_batches_of)(void *userdata, uint64_t ranks);
    void *micro_batches_userdata;
    bool exact;
    size_t port;
    struct edl_group_bucket *buckets; /* owned, names too */
    size_t n_buckets, n_values;
    struct edl_group_part *parts; /* owned; the bytes are the program's */
    size_t n_parts, state_bytes;
    uint8_t secret[JOB_SECRET_BYTES];
    uint8_t signature[GROUP_SIGNATURE_BYTES];
    int listen_fd;
    int window_fd, readers_fd;   /* -1: nobody reads it */
    int askers[GROUP_RANKS_MAX]; /* for the window, whose proof is not here yet */
    unsigned n_askers;
    uint64_t machine, window;

    /* this generation */
    volatile sig_atomic_t ends; /* told to leave: it ends behind a step */
    bool reforms;               /* somebody waits to come in: all meet anew behind a step */
    bool is_met, is_over;
    uint64_t generation;
    unsigned n, rank;
    struct group_link links[GROUP_RANKS_MAX];
    bool awaits[GROUP_RANKS_MAX];   /* something of it: polled */
    bool is_ready[GROUP_RANKS_MAX]; /* each proved the secret to the other */
    char node_names[GROUP_RANKS_MAX][GROUP_NODE_BYTES];
    struct group_hello hellos[GROUP_RANKS_MAX];
    struct group_view views[GROUP_RANKS_MAX];
    struct group_greeting dials[GROUP_RANKS_MAX], pending[GROUP_PENDING];
    uint64_t n_accepted;
    uint64_t machines[GROUP_RANKS_MAX];                /* as their hellos say */
    bool is_node_told, is_node_heard[GROUP_RANKS_MAX]; /* whether a node shares its memory */
    bool all_share;                                    /* all nodes that were heard do */
    struct group_nodes nodes;
    uint64_t foreign_us;          /* since when another program answers for a rank; 0: none does */
    uint64_t foreign_patience_us; /* so long it may be that of a rank that was just lost */
    bool is_setting_up;
    bool is_arriving;              /* the wait for the world has begun */
    struct edl_world *early_world; /* it came while the rank was following; owned */
    struct group_follow follow;
    struct group_plan plan;

    /* the state */
    uint64_t applied, identity, stable;
    bool state_came;
    uint8_t *spare; /* of state_bytes, while a state comes */

    /* the step */
    bool first;               /* of the generation: shared out by the plan */
    bool any_leaves;          /* behind this step */
    struct group_cover cover; /* of the gradient */
    uint64_t gradient_step;   /* 0: there is none */
    enum group_held held;
    int computing; /* the micro-batch that the program has; -1: none */
    /* one mapping, the window */
    int64_t *kept; /* units of earlier micro-batches */
    float *work;   /* the program sums into this */
    float *sum;
    int64_t *slice;   /* sums that I collect or own, of f32 if they are not exact; mapped */
    uint8_t *scratch; /* mapped */
    struct group_part parts_in[GROUP_RANKS_MAX];
    uint32_t n_collectives;
    uint64_t said_alive_us;

    struct edl_error error;
    char text[sizeof((struct edl_error *)0)->text + sizeof((struct edl_error *)0)->remedy + 4];
    void (*at)(struct edl_group *group, enum group_point point); /* tests; NULL */
    void *userdata;                                              /* of at */
};

/* ---- group.c ---- */

/* group_new - of any members; secret: 32 bytes; listen_fd becomes the group's */
int group_new(const struct group_members *members, const struct edl_group_options *options,
              uint64_t job, const uint8_t *secret, int listen_fd, struct edl_group **ret);
void group_at(struct edl_group *group, enum group_point point);

/* group_fail - keeps what is wrong; returns code */
int group_fail(struct edl_group *group, int code);

/* group_abort - closes all links; the rank meets the others anew */
void group_abort(struct edl_group *group);
void group_drop_gradient(struct edl_group *group);

/* ---- group_poll.c: waiting ---- */

/* group_poll - until a link moves that is awaited or has something to say; takes what strangers
 * say meanwhile. which: the wait for members that ends it, too, or GROUP_WAITS */
void group_poll(struct edl_group *group, enum group_wait which);

/* group_look - without waiting: whether a link has ended. Takes up whether somebody came. */
bool group_look(struct edl_group *group);

/* ---- group_greet.c: strangers become members ---- */

void group_greet_all(struct edl_group *group); /* accepts and goes on */
int group_dial(struct edl_group *group, unsigned rank, const struct edl_peer *peer);
int group_dialled(struct edl_group *group, unsigned rank); /* goes on: 1, 0, or below 0 */
struct group_frame group_frame_of(const struct edl_group *group, enum group_frame_kind kind,
                                  uint64_t step, uint64_t bytes);

/* group_follow_dial - GROUP_WELL, or GROUP_ABORTED; group_follow_greet - 1: both proved the secret;
 * 0: not yet; below 0: never */
int group_follow_dial(struct edl_group *group, const struct edl_peer *peer, unsigned rank);
int group_follow_greet(struct edl_group *group);

/* ---- group_follow.c: newcomers that follow ---- */

void group_follow_begin(struct edl_group *group);

/* group_follow - GROUP_WELL: the sum of the next step is in group->sum; GROUP_ABORTED: it is over,
 * the rank meets the others */
int group_follow(struct edl_group *group);
void group_follow_commit(struct edl_group *group);
void group_follower_take(struct edl_group *group, struct group_link *link);
bool group_follower_is(const struct edl_group *group); /* there is one */
void group_follower_step(struct edl_group *group);     /* behind a commit */
void group_follower_send(struct edl_group *group);
void group_follower_drop(struct edl_group *group);

/* ---- group_meet.c: the next generation ---- */

/* group_change_state - the spare becomes the state of the program */
void group_change_state(struct edl_group *group, uint64_t applied, uint64_t identity);

/* group_meet - GROUP_WELL: in it, with the newest state; GROUP_ABORTED: it is over already;
 * GROUP_LEAVES_NOW: this rank is being stopped */
enum { GROUP_LEAVES_NOW = 2 };
int group_meet(struct edl_group *group);

/* ---- group_window.c: ranks of one machine ---- */

size_t group_window_bytes(const struct edl_group *group);

/* group_window_open - room for the gradient, earlier micro-batches and sums; NULL: none to share */
void *group_window_open(struct edl_group *group);
void group_window_serve(struct edl_group *group);
void group_window_close(struct edl_group *group); /* readers keep what they have */

/* group_view_go_on - asks for the window of a rank; true: it is there, or will not be */
bool group_view_go_on(struct edl_group *group, unsigned rank);
void group_view_close(struct edl_group *group, unsigned rank);

/* ---- group_reduce.c: a step ---- */

/* group_reduce - the gradients of all into group->sum; of n_values 0 heads alone */
int group_reduce(struct edl_group *group, size_t n_values);

/* group_exchange - bytes for each and from each; out, in: NULL where there are none */
int group_exchange(struct edl_group *group, const void *const *out, const size_t *n_out,
                   void *const *in, const size_t *n_in);
