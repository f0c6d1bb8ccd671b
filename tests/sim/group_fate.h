/* SPDX-License-Identifier: Apache-2.0 */
/* group_fate.h - the world of a history: its processes and their links
 *
 * group_histories.c has the acts of a process, group_mistakes.c those of simpler designs,
 * group_fate.c the accidents. */
#pragma once

#include "libedl/group_plan.h"
#include "tests/sim/group_histories.h"

enum {
    ELEMENTS_OF_STATE = 10,
    MICRO_BATCHES = 8,
    STEPS = 12,
    PROCESSES = 24, /* ever, in one history */
    RANKS = 5,
    LINK_MESSAGES = 64
};

enum phase { PHASE_BORN, PHASE_ARRIVED, PHASE_SETUP, PHASE_CATCH_UP, PHASE_STEP, PHASE_DONE };

/* What a rank says of itself; all but `said` is for designs that are not built. */
struct hello {
    struct group_hello said;
    uint64_t identity_before;
    bool has_sum, torn;
};

enum message_kind { MESSAGE_HELLO, MESSAGE_SUM, MESSAGE_STATE, MESSAGE_REDUCE, MESSAGE_GATHER };

struct message {
    enum message_kind kind;
    bool leaves;
    int element;
    unsigned count; /* of micro-batches in the sum of the sender */
    uint64_t generation, step, value;
    uint64_t identity, identity_before; /* of what is given */
    struct hello hello;
};

struct link {
    struct message messages[LINK_MESSAGES];
    unsigned head, tail;
    bool closed;
};

struct state {
    uint64_t applied, identity, identity_before;
    uint64_t values[ELEMENTS_OF_STATE];
};

struct process {
    bool alive, frozen;
    bool leaves, ends; /* told to: all leave behind the same step; and it ends there */
    bool torn;
    enum phase phase;
    uint64_t generation;
    int n, rank, members[RANKS];

    struct state state, spare;
    uint64_t gradient[ELEMENTS_OF_STATE], gradient_step;
    struct group_cover cover;
    uint64_t sums[2][ELEMENTS_OF_STATE], sum_step[2];

    struct hello hellos[RANKS];
    bool has_hello[RANKS];
    struct group_plan plan;
    unsigned micro_batches; /* of a step */
    bool fetches[RANKS];
    int sum_donor, taken, given[RANKS];

    bool first; /* step of the generation: shared out by the plan */
    int reduced[RANKS], gathered[RANKS], sent[RANKS];
    unsigned count;
    bool any_leaves;
};

struct world {
    const struct group_design *design;
    FILE *trace;
    uint64_t random;
    struct process processes[PROCESSES];
    int n_processes;
    uint64_t generation; /* the last that was formed */
    bool failed;
    char failure[GROUP_FAILURE_MAX];
    uint64_t alone[STEPS + 2]; /* digest of the values of one rank alone */
    uint64_t published[STEPS + 1];
    bool is_published[STEPS + 1];
    uint64_t stable;                         /* the last step that all of a generation had */
    struct link links[PROCESSES][PROCESSES]; /* to, from */
};

/* ---- group_histories.c: what processes do ---- */

void fate_begin(struct world *w);
uint64_t fate_draw(struct world *w, uint64_t below);

/* fate_fail - the history ends: this must not be; p: NULL where no one process did it */
void fate_fail(struct world *w, const struct process *p, uint64_t step, const char *what);
void fate_new_process(struct world *w, bool follows);
void fate_new_generation(struct world *w, const int *members, int n);
bool fate_send(struct world *w, struct process *p);
bool fate_receive(struct world *w, struct process *p);
void fate_complete_step(struct world *w, struct process *p);

/* fate_abort - it closes all links and arrives at the rendezvous */
void fate_abort(struct world *w, struct process *p);
void fate_close_links(struct world *w, struct process *p);
void fate_end(struct world *w, struct process *p);

/* ---- group_mistakes.c: what designs do otherwise ---- */

static inline bool fate_differs(const struct world *w, unsigned differences)
{
    return (w->design->differences & differences) != 0;
}

struct hello fate_hello(const struct world *w, const struct process *p);
void fate_make_plan(struct world *w, struct process *p);

/* fate_sums - where the sums of a step grow */
uint64_t *fate_sums(const struct world *w, struct process *p, uint64_t step);

/* ---- group_fate.c: what happens to them ---- */

/* fate_can_lose - whether others still have all that was published, so that its loss must not
 * matter */
bool fate_can_lose(const struct world *w, const struct process *p);
