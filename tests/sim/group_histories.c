/* SPDX-License-Identifier: Apache-2.0 */
/* group_histories.c - random histories of a group whose ranks come and go
 *
 * One event at a time: a process sends or takes one message of one element, or fate does something.
 * Values are hashes, so a micro-batch that is lost or counted twice changes all that follows. */
#include "tests/sim/group_histories.h"

#include <stdarg.h>
#include <string.h>

#include "libedl/group_plan.h"
#include "shared/macro.h"
#include "tests/sim/group_fate.h"

/* ---- numbers ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a * UINT64_C(0x9E3779B97F4A7C15)) ^
                 ((b + UINT64_C(0x632BE59BD9B4E019)) * UINT64_C(0xD6E8FEB86659FD93));

    h ^= h >> 32;
    h *= UINT64_C(0xD6E8FEB86659FD93);
    return h ^ h >> 29;
}

uint64_t fate_draw(struct world *w, uint64_t below)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random >> 11) % below;
}

static uint64_t digest(const uint64_t *values)
{
    uint64_t h = 0;

    for (int e = 0; e < ELEMENTS_OF_STATE; e++)
        h = mix(h, values[e]);
    return h;
}

static uint64_t gradient_of(const uint64_t *values, uint64_t step, unsigned m, int e)
{
    return mix(mix(values[e], step), m * 100 + (unsigned)e) >> 8;
}

/* move - the values one step on; a step that is redone has other bits, unless sums are exact */
static void move(const struct world *w, uint64_t *values, const uint64_t *sums, uint64_t identity,
                 uint64_t step)
{
    uint64_t rounding = w->design->exact ? 0 : mix(identity, step);

    for (int e = 0; e < ELEMENTS_OF_STATE; e++)
        values[e] = mix(values[e], sums[e] + rounding);
}

/* alone - what one rank computes that nobody disturbs */
static void alone(struct world *w)
{
    uint64_t values[ELEMENTS_OF_STATE];

    for (int e = 0; e < ELEMENTS_OF_STATE; e++)
        values[e] = mix(7, (unsigned)e);
    w->alone[0] = digest(values);
    for (uint64_t step = 1; step <= STEPS + 1; step++) {
        uint64_t sums[ELEMENTS_OF_STATE] = { 0 };

        for (unsigned m = 0; m < MICRO_BATCHES; m++)
            for (int e = 0; e < ELEMENTS_OF_STATE; e++)
                sums[e] += gradient_of(values, step, m, e);
        for (int e = 0; e < ELEMENTS_OF_STATE; e++)
            values[e] = mix(values[e], sums[e]);
        w->alone[step] = digest(values);
    }
}

/* ---- what must not be ---- */

void fate_fail(struct world *w, const struct process *p, uint64_t step, const char *what)
{
    if (w->failed)
        return;
    w->failed = true;
    (void)snprintf(w->failure, GROUP_FAILURE_MAX, "%s: process %d, step %u", what,
                   p != NULL ? (int)(p - w->processes) : -1, (unsigned)step);
}

static void say(const struct world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const struct world *w, const char *format, ...)
{
    va_list values;

    if (w->trace == NULL)
        return;
    va_start(values, format);
    (void)vfprintf(w->trace, format, values);
    va_end(values);
}

/* check_state - a state that was reached is that of all others who reached it */
static void check_state(struct world *w, const struct process *p)
{
    uint64_t step = p->state.applied, sum = digest(p->state.values);

    if (step > STEPS)
        return;
    if (w->design->exact && sum != w->alone[step])
        fate_fail(w, p, step, "the values differ from those of one rank alone");
    for (int o = 0; o < w->n_processes; o++) {
        const struct process *other = &w->processes[o];

        if (other != p && other->alive && other->generation == p->generation && !other->torn &&
            other->state.applied == step && other->state.identity == p->state.identity &&
            digest(other->state.values) != sum)
            fate_fail(w, p, step, "two ranks have different values");
    }
    if (p->generation == w->generation && w->is_published[step] && w->published[step] != sum)
        fate_fail(w, p, step, "a step that was published was taken back");
}

static void publish(struct world *w, const struct process *p, uint64_t step, uint64_t sum)
{
    if (step == 0 || step > STEPS)
        return;
    if (w->is_published[step] && w->published[step] != sum)
        fate_fail(w, p, step, "a step was published with two different values");
    w->is_published[step] = true;
    w->published[step] = sum;
}

/* ---- links ---- */

static int first_of(int n, int rank)
{
    return ELEMENTS_OF_STATE * rank / n;
}

static int size_of(int n, int rank)
{
    return first_of(n, rank + 1) - first_of(n, rank);
}

static int place(const struct world *w, const struct process *p)
{
    return (int)(p - w->processes);
}

static struct link *link_to(struct world *w, const struct process *from, int rank)
{
    return &w->links[from->members[rank]][place(w, from)];
}

static struct link *link_from(struct world *w, const struct process *to, int rank)
{
    return &w->links[place(w, to)][to->members[rank]];
}

static void put(struct world *w, struct process *p, int rank, struct message message)
{
    struct link *l = link_to(w, p, rank);

    message.generation = p->generation;
    if (l->head - l->tail >= LINK_MESSAGES) {
        fate_fail(w, p, message.step, "more is on the way than a step has");
        return;
    }
    l->messages[l->head++ % LINK_MESSAGES] = message;
}

static void close_link(struct world *w, struct process *p, int rank)
{
    struct link *l = link_to(w, p, rank);
    unsigned n = l->head - l->tail;

    if (!fate_differs(w, KEEPS_LINKS) && n > 0 && fate_draw(w, 2) == 0)
        l->head = l->tail + (unsigned)fate_draw(w, n + 1); /* the rest is lost on its way */
    l->closed = true;
}

void fate_close_links(struct world *w, struct process *p)
{
    if (p->phase < PHASE_SETUP)
        return;
    for (int k = 0; k < p->n; k++)
        if (k != p->rank)
            close_link(w, p, k);
}

void fate_abort(struct world *w, struct process *p)
{
    fate_close_links(w, p);
    p->phase = PHASE_ARRIVED;
}

void fate_end(struct world *w, struct process *p)
{
    fate_close_links(w, p);
    p->alive = false;
}

/* ---- a step ---- */

static void begin_step(struct world *w, struct process *p)
{
    uint64_t step = p->state.applied + 1;
    struct group_cover take =
        p->first ? p->plan.take[p->rank]
                 : group_share((unsigned)p->rank, (unsigned)p->n, p->micro_batches);
    uint64_t *sums = fate_sums(w, p, step);

    if (step > (fate_differs(w, EXITS_BEHIND_LAST) ? STEPS : STEPS + 1)) {
        p->phase = PHASE_DONE;
        return;
    }
    if (p->gradient_step != step) {
        memset(p->gradient, 0, sizeof p->gradient);
        p->cover = (struct group_cover){ 0 };
        p->gradient_step = step;
    }
    for (unsigned m = 0; m < p->micro_batches; m++)
        if (group_cover_has(&take, m) && !group_cover_has(&p->cover, m)) {
            for (int e = 0; e < ELEMENTS_OF_STATE; e++)
                p->gradient[e] += gradient_of(p->state.values, step, m, e);
            group_cover_add(&p->cover, m);
        }
    p->sum_step[fate_differs(w, ONE_RESULT) ? 0 : step % 2] = 0;
    for (int i = 0; sums != p->gradient && i < size_of(p->n, p->rank); i++)
        sums[first_of(p->n, p->rank) + i] = p->gradient[first_of(p->n, p->rank) + i];
    p->count = group_cover_count(&p->cover);
    p->any_leaves = p->leaves;
    memset(p->reduced, 0, sizeof p->reduced);
    memset(p->gathered, 0, sizeof p->gathered);
    memset(p->sent, 0, sizeof p->sent);
    p->phase = PHASE_STEP;
}

static void apply(struct world *w, struct process *p, const uint64_t *sums, uint64_t identity,
                  uint64_t step)
{
    if (p->state.applied + 1 != step) {
        fate_fail(w, p, step, "a step came twice, or was left out");
        return;
    }
    say(w, "process %d has step %u of generation %u\n", place(w, p), (unsigned)step,
        (unsigned)identity);
    move(w, p->state.values, sums, identity, step);
    p->state.identity_before = p->state.identity;
    p->state.identity = identity;
    p->state.applied = step;
    if (fate_differs(w, PUBLISHES_AT_COMMIT))
        publish(w, p, step, digest(p->state.values));
    check_state(w, p);
}

static bool is_complete(const struct process *p)
{
    int mine = size_of(p->n, p->rank);

    for (int k = 0; k < p->n; k++) {
        int his = size_of(p->n, k);

        if (k != p->rank &&
            (p->reduced[k] < mine || p->gathered[k] < his || p->sent[k] < his + mine))
            return false;
    }
    return true;
}

/* leave - a rank that is told to end ends; one that has a follower meets it */
static void leave(struct world *w, struct process *p)
{
    bool ends = p->ends && fate_can_lose(w, p);

    p->leaves = p->ends = false;
    if (ends) {
        say(w, "process %d leaves\n", place(w, p));
        fate_end(w, p);
    } else
        fate_abort(w, p);
}

void fate_complete_step(struct world *w, struct process *p)
{
    uint64_t step = p->state.applied + 1, *sums = fate_sums(w, p, step);

    if (p->phase != PHASE_STEP || !is_complete(p))
        return;
    if (p->count != p->micro_batches)
        fate_fail(w, p, step, "the sum has another number of micro-batches");
    w->stable = MAX_OF(w->stable, step - 1);
    if (sums == p->gradient)
        memcpy(p->sums[step % 2], sums, sizeof p->sums[0]);
    p->sum_step[fate_differs(w, ONE_RESULT) ? 0 : step % 2] = step;
    if (!fate_differs(
            w, PUBLISHES_AT_COMMIT)) /* all have begun this step, so they have the one before */
        publish(w, p, step - 1, digest(p->state.values));
    apply(w, p, sums, p->generation, step);
    if (fate_differs(w, EXITS_BEHIND_LAST) && step == STEPS)
        publish(w, p, step, digest(p->state.values));
    p->first = false;
    if (p->any_leaves)
        leave(w, p);
    else
        begin_step(w, p);
}

/* ---- sending ---- */

static void catch_up_more(struct world *w, struct process *p)
{
    if (p->fetches[p->rank] || p->plan.behind[p->rank])
        return;
    p->first = true;
    begin_step(w, p);
}

static void finish_setup(struct world *w, struct process *p)
{
    for (int k = 0; k < p->n; k++)
        if (!p->has_hello[k])
            return;
    fate_make_plan(w, p);
    say(w, "generation %u: process %d is rank %d of %d, the newest is %u of %u from rank %u\n",
        (unsigned)p->generation, place(w, p), p->rank, p->n, (unsigned)p->plan.applied,
        (unsigned)p->plan.identity, p->plan.donor);
    p->phase = PHASE_CATCH_UP;
    p->taken = 0;
    memset(p->given, 0, sizeof p->given);
}

static bool send_hello(struct world *w, struct process *p)
{
    if (p->has_hello[p->rank])
        return false;
    p->hellos[p->rank] = fate_hello(w, p);
    p->has_hello[p->rank] = true;
    for (int k = 0; k < p->n; k++)
        if (k != p->rank)
            put(w, p, k, (struct message){ .kind = MESSAGE_HELLO, .hello = p->hellos[p->rank] });
    finish_setup(w, p);
    return true;
}

static bool gives(const struct process *p, int rank)
{
    return rank != p->rank && ((p->fetches[rank] && p->sum_donor == p->rank) ||
                               (p->plan.behind[rank] && p->plan.donor == (unsigned)p->rank));
}

static bool send_state(struct world *w, struct process *p)
{
    int from = (int)fate_draw(w, (unsigned)p->n);

    for (int i = 0; i < p->n; i++) {
        int k = (from + i) % p->n, e = p->given[k];
        bool fetched = p->fetches[k];
        uint64_t step = p->plan.applied;

        if (!gives(p, k) || e == ELEMENTS_OF_STATE)
            continue;
        p->given[k]++;
        put(w, p, k,
            (struct message){ .kind = fetched ? MESSAGE_SUM : MESSAGE_STATE,
                              .step = step,
                              .identity = p->state.identity,
                              .identity_before = p->state.identity_before,
                              .element = e,
                              .value = fetched ? fate_sums(w, p, step)[e] : p->state.values[e] });
        return true;
    }
    catch_up_more(w, p);
    return p->phase != PHASE_CATCH_UP;
}

static bool send_sums(struct world *w, struct process *p)
{
    int from = (int)fate_draw(w, (unsigned)p->n), mine = size_of(p->n, p->rank), ready = mine;
    uint64_t step = p->state.applied + 1;

    for (int k = 0; k < p->n; k++)
        if (k != p->rank && p->reduced[k] < ready)
            ready = p->reduced[k];
    for (int i = 0; i < p->n; i++) {
        int k = (from + i) % p->n, his = size_of(p->n, k), e;
        struct message m = { .step = step, .leaves = p->leaves };

        if (k == p->rank || p->sent[k] >= his + ready)
            continue;
        if (p->sent[k] < his) {
            e = first_of(p->n, k) + p->sent[k];
            m.kind = MESSAGE_REDUCE;
            m.value = p->gradient[e];
            m.count = p->sent[k] == 0 ? group_cover_count(&p->cover) : 0;
        } else {
            e = first_of(p->n, p->rank) + p->sent[k] - his;
            m.kind = MESSAGE_GATHER;
            m.value = fate_sums(w, p, step)[e];
        }
        m.element = e;
        p->sent[k]++;
        put(w, p, k, m);
        return true;
    }
    return false;
}

bool fate_send(struct world *w, struct process *p)
{
    switch (p->phase) {
    case PHASE_SETUP:
        return send_hello(w, p);
    case PHASE_CATCH_UP:
        return send_state(w, p);
    case PHASE_STEP:
        return send_sums(w, p);
    default:
        return false;
    }
}

/* ---- taking ---- */

static void take_hello(struct world *w, struct process *p, int rank, const struct message *m)
{
    p->hellos[rank] = m->hello;
    p->has_hello[rank] = true;
    finish_setup(w, p);
}

static void take_sum(struct world *w, struct process *p, const struct message *m)
{
    uint64_t *sums = fate_sums(w, p, m->step);
    int buffer = fate_differs(w, ONE_RESULT) ? 0 : (int)(m->step % 2);

    if (p->taken == 0)
        p->sum_step[buffer] = 0;
    sums[m->element] = m->value;
    if (++p->taken < ELEMENTS_OF_STATE)
        return;
    apply(w, p, sums, m->identity, m->step);
    if (fate_differs(w, FORGETS_FETCHED))
        memset(sums, 0, sizeof p->sums[0]);
    p->sum_step[buffer] = m->step;
    p->fetches[p->rank] = false;
}

static void take_state(struct world *w, struct process *p, const struct message *m)
{
    bool in_place = fate_differs(w, STATE_IN_PLACE), last = ++p->taken == ELEMENTS_OF_STATE;
    struct state *to = in_place ? &p->state : &p->spare;

    to->values[m->element] = m->value;
    if (in_place && !last && !fate_differs(w, HAS_WHILE_TAKING)) {
        p->torn = true;
        p->state.identity = p->state.applied = 0;
    }
    if (last || (in_place && fate_differs(w, HAS_WHILE_TAKING))) {
        to->identity = m->identity;
        to->identity_before = m->identity_before;
        to->applied = m->step;
    }
    if (p->taken == 1 || last) { /* what was kept belongs to the state before */
        p->sum_step[0] = p->sum_step[1] = 0;
        if (!fate_differs(w, KEEPS_ANY_GRADIENT) && (in_place || last)) {
            p->gradient_step = 0;
            p->cover = (struct group_cover){ 0 };
        }
    }
    if (!last)
        return;
    p->state = *to;
    p->torn = false;
    p->plan.behind[p->rank] = false;
    check_state(w, p);
}

static void take_part(struct world *w, struct process *p, int rank, const struct message *m)
{
    uint64_t *sums = fate_sums(w, p, p->state.applied + 1);

    if (m->step != p->state.applied + 1) {
        fate_fail(w, p, m->step, "a message is of another step");
        return;
    }
    if (m->kind == MESSAGE_REDUCE) {
        sums[m->element] += m->value;
        p->reduced[rank]++;
        p->count += m->count;
        p->any_leaves |= m->leaves;
    } else {
        sums[m->element] = m->value;
        p->gathered[rank]++;
    }
}

/* awaits - whether something of this rank belongs to what the process does now */
static bool awaits(const struct process *p, int rank)
{
    switch (p->phase) {
    case PHASE_SETUP:
        return !p->has_hello[rank];
    case PHASE_CATCH_UP:
        return (p->fetches[p->rank] && p->sum_donor == rank) ||
               (p->plan.behind[p->rank] && p->plan.donor == (unsigned)rank);
    case PHASE_STEP:
        return p->reduced[rank] < size_of(p->n, p->rank) || p->gathered[rank] < size_of(p->n, rank);
    default:
        return false;
    }
}

static bool fits(const struct process *p, const struct message *m)
{
    switch (p->phase) {
    case PHASE_SETUP:
        return m->kind == MESSAGE_HELLO;
    case PHASE_CATCH_UP:
        return m->kind == (p->fetches[p->rank] ? MESSAGE_SUM : MESSAGE_STATE);
    default:
        return m->kind == MESSAGE_REDUCE || m->kind == MESSAGE_GATHER;
    }
}

static void take(struct world *w, struct process *p, int rank, const struct message *m)
{
    if (!fits(p, m))
        fate_fail(w, p, m->step, "a message of another kind is awaited");
    else if (m->kind == MESSAGE_HELLO)
        take_hello(w, p, rank, m);
    else if (m->kind == MESSAGE_SUM)
        take_sum(w, p, m);
    else if (m->kind == MESSAGE_STATE)
        take_state(w, p, m);
    else
        take_part(w, p, rank, m);
}

bool fate_receive(struct world *w, struct process *p)
{
    int from = p->n > 0 ? (int)fate_draw(w, (unsigned)p->n) : 0;

    for (int i = 0; i < p->n; i++) {
        int k = (from + i) % p->n;
        struct link *l;

        if (k == p->rank || !awaits(p, k))
            continue;
        l = link_from(w, p, k);
        if (l->head != l->tail) {
            struct message m = l->messages[l->tail++ % LINK_MESSAGES];

            take(w, p, k, &m);
            return true;
        }
        if (l->closed || !w->processes[p->members[k]].alive) {
            fate_abort(w, p); /* the whole protocol of an abort: all links are closed */
            return true;
        }
    }
    return false;
}

/* ---- the beginning ---- */

void fate_begin(struct world *w)
{
    for (int to = 0; to < PROCESSES; to++)
        for (int from = 0; from < PROCESSES; from++)
            w->links[to][from].head = w->links[to][from].tail = 0;
    alone(w);
}

void fate_new_process(struct world *w, bool follows)
{
    struct process *p = &w->processes[w->n_processes++];

    *p = (struct process){ .alive = true, .phase = follows ? PHASE_BORN : PHASE_ARRIVED };
    for (int e = 0; e < ELEMENTS_OF_STATE; e++)
        p->state.values[e] = mix(7, (unsigned)e);
}

void fate_new_generation(struct world *w, const int *members, int n)
{
    w->generation++;
    for (int k = 0; k < n; k++) {
        struct process *p = &w->processes[members[k]];

        p->generation = w->generation;
        p->n = n;
        p->rank = k;
        memcpy(p->members, members, sizeof p->members);
        memset(p->has_hello, 0, sizeof p->has_hello);
        p->phase = PHASE_SETUP;
        for (int o = 0; o < n; o++) {
            struct link *l = &w->links[members[k]][members[o]];

            if (!fate_differs(w, KEEPS_LINKS))
                l->head = l->tail = 0;
            l->closed = false;
        }
    }
}
