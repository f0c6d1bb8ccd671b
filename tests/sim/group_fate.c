/* SPDX-License-Identifier: Apache-2.0 */
/* group_fate.c - what happens to the processes of a history, and the designs that histories break
 */
#include "tests/sim/group_fate.h"

#include <string.h>

#include "shared/macro.h"

/* How much of what fate does in a history: some are calm, in some all freeze. */
struct mood {
    unsigned kills, joins, leaves, freezes, cuts;
    unsigned freeze_in, thaw_in; /* one of so many events */
};

static const struct mood moods[] = {
    { .kills = 9, .joins = 3, .leaves = 3, .freezes = 0, .cuts = 2, 333, 166 },
    { .kills = 4, .joins = 3, .leaves = 2, .freezes = 3, .cuts = 2, 333, 166 },
    { .kills = 3, .joins = 4, .leaves = 2, .freezes = 12, .cuts = 1, 40, 120 },
};

struct fate {
    struct mood left;
    unsigned freeze_in, thaw_in;
};

static bool is_training(const struct process *p)
{
    return p->phase >= PHASE_SETUP && p->phase < PHASE_DONE;
}

/* is_spare - whether another process has at least that step, and acts */
static bool is_spare(const struct process *p, uint64_t step)
{
    return p->alive && !p->frozen && !p->torn && p->phase != PHASE_BORN && p->phase != PHASE_DONE &&
           p->state.applied >= step;
}

bool fate_can_lose(const struct world *w, const struct process *p)
{
    uint64_t newest = 0, least;

    for (int o = 0; o < w->n_processes; o++)
        if (w->processes[o].alive && w->processes[o].phase != PHASE_DONE)
            newest = MAX_OF(newest, w->processes[o].state.applied);
    least = MAX_OF(w->stable, newest > 1 ? newest - 1 : newest);
    for (int o = 0; o < w->n_processes; o++) {
        const struct process *other = &w->processes[o];

        if (other != p && is_spare(other, least) && other->generation >= p->generation)
            return true;
    }
    return false;
}

/* can_freeze - who is frozen may be given up, so another must have what it has */
static bool can_freeze(const struct world *w, const struct process *p)
{
    uint64_t least = MAX_OF(MAX_OF(p->state.applied, UINT64_C(2)) - 1, w->stable);

    for (int o = 0; o < w->n_processes; o++)
        if (&w->processes[o] != p && is_spare(&w->processes[o], least))
            return true;
    return false;
}

static struct process *any_process(struct world *w)
{
    return &w->processes[fate_draw(w, (unsigned)w->n_processes)];
}

static int n_living(const struct world *w)
{
    int n = 0;

    for (int p = 0; p < w->n_processes; p++)
        n += w->processes[p].alive;
    return n;
}

static void say_fate(const struct world *w, const char *what, const struct process *p)
{
    if (w->trace != NULL)
        (void)fprintf(w->trace, "process %d %s\n", (int)(p - w->processes), what);
}

/* ---- what fate does ---- */

static void kill_one(struct world *w, struct fate *f)
{
    struct process *p = any_process(w);

    if (f->left.kills == 0 || !p->alive || p->phase == PHASE_BORN || p->phase == PHASE_DONE ||
        !fate_can_lose(w, p))
        return;
    say_fate(w, "is killed", p);
    fate_end(w, p);
    f->left.kills--;
    if (w->n_processes < PROCESSES && fate_draw(w, 2) == 0)
        fate_new_process(w, fate_draw(w, 2) == 0);
}

static void join_one(struct world *w, struct fate *f)
{
    if (f->left.joins == 0 || n_living(w) >= RANKS || w->n_processes == PROCESSES)
        return;
    f->left.joins--;
    fate_new_process(w, true);
}

static void tell_one_to_leave(struct world *w, struct fate *f)
{
    struct process *p = any_process(w);

    if (f->left.leaves == 0 || !p->alive || !is_training(p))
        return;
    f->left.leaves--;
    p->leaves = true;
    p->ends = fate_draw(w, 2) == 0;
}

static void freeze_one(struct world *w, struct fate *f)
{
    struct process *p = any_process(w);

    if (f->left.freezes == 0 || !p->alive || p->frozen || !is_training(p) || !can_freeze(w, p))
        return;
    f->left.freezes--;
    p->frozen = true;
    say_fate(w, "freezes", p);
}

static void thaw_one(struct world *w)
{
    any_process(w)->frozen = false;
}

/* give_up_one - whoever waits for a frozen rank ends its patience */
static void give_up_one(struct world *w)
{
    struct process *p = any_process(w);
    bool waits = false;

    if (!p->alive || p->frozen || !is_training(p))
        return;
    for (int k = 0; k < p->n; k++) {
        const struct process *o = &w->processes[p->members[k]];

        waits |= o->alive && o->frozen && o->generation == p->generation;
    }
    if (waits)
        fate_abort(w, p);
}

/* cut_one - a link ends, and both of its ends live */
static void cut_one(struct world *w, struct fate *f)
{
    struct process *p = any_process(w);

    if (f->left.cuts == 0 || !p->alive || p->frozen || !is_training(p))
        return;
    f->left.cuts--;
    say_fate(w, "loses a link", p);
    fate_abort(w, p);
}

/* follow_one - a newcomer that follows has what its donor has; it asks it to leave, and arrives */
static void follow_one(struct world *w)
{
    struct process *p = any_process(w);

    if (!p->alive || p->frozen || p->phase != PHASE_BORN)
        return;
    for (int o = 0; o < w->n_processes; o++) {
        struct process *donor = &w->processes[o];

        if (!donor->alive || donor->frozen || donor->phase != PHASE_STEP || donor->torn)
            continue;
        if (fate_draw(w, 2) == 0)
            p->state = donor->state;
        donor->leaves = true;
        break;
    }
    say_fate(w, "arrives", p);
    p->phase = PHASE_ARRIVED;
}

/* end_of_job - once one is done all of its generation have the step before, and the job is over for
 * those who come late */
static void end_of_job(struct world *w)
{
    uint64_t generation = 0, applied = 0;

    for (int i = 0; i < w->n_processes; i++) {
        const struct process *p = &w->processes[i];

        if (p->alive && p->phase == PHASE_DONE) {
            generation = MAX_OF(generation, p->generation);
            applied = MAX_OF(applied, p->state.applied);
        }
    }
    for (int i = 0; generation > 0 && i < w->n_processes; i++) {
        struct process *p = &w->processes[i];

        if (p->alive && p->phase != PHASE_DONE &&
            (p->generation < generation || p->state.applied + 1 < applied))
            fate_end(w, p);
    }
}

/* ---- the rendezvous ---- */

static void exclude_frozen(struct world *w)
{
    for (int i = 0; i < w->n_processes; i++) {
        struct process *p = &w->processes[i];

        if (p->alive && p->frozen && p->generation > 0 && p->phase != PHASE_DONE) {
            say_fate(w, "is excluded: its incarnation is over", p);
            fate_end(w, p);
        }
    }
}

/* members_exclude - whether a member of the present generation is here, or none is left of it */
static bool members_exclude(const struct world *w)
{
    bool is_held = false, is_here = false;

    for (int i = 0; i < w->n_processes; i++) {
        const struct process *p = &w->processes[i];

        if (!p->alive || w->generation == 0 || p->generation != w->generation ||
            p->phase == PHASE_BORN)
            continue;
        is_held = true;
        is_here |= !p->frozen && p->phase == PHASE_ARRIVED;
    }
    return is_here || !is_held;
}

/* meet - all that live and are not frozen have arrived: the next generation */
static void meet(struct world *w)
{
    int members[RANKS] = { 0 }, n = 0;

    for (int i = 0; i < w->n_processes; i++) {
        const struct process *p = &w->processes[i];

        if (!p->alive || p->frozen || p->phase == PHASE_BORN || p->phase == PHASE_DONE)
            continue;
        if (p->phase != PHASE_ARRIVED)
            return;
        if (n < RANKS)
            members[n++] = i;
    }
    if (n == 0 || (!fate_differs(w, STRANGERS_EXCLUDE) && !members_exclude(w)))
        return;
    fate_new_generation(w, members, n);
    if (!fate_differs(w, EXCLUDED_COME_BACK))
        exclude_frozen(w);
}

/* ---- a history ---- */

static void act(struct world *w, struct fate *f)
{
    unsigned x = (unsigned)fate_draw(w, 1000);

    if (x < 8)
        kill_one(w, f);
    else if (x < 12)
        join_one(w, f);
    else if (x < 16)
        tell_one_to_leave(w, f);
    else if (x < 18)
        cut_one(w, f);
    else if (x < 40)
        follow_one(w);
    else if (x < 60)
        give_up_one(w);
    if (fate_draw(w, f->freeze_in) == 0)
        freeze_one(w, f);
    if (fate_draw(w, f->thaw_in) == 0)
        thaw_one(w);
}

static bool is_over(const struct world *w)
{
    for (int p = 0; p < w->n_processes; p++)
        if (w->processes[p].alive && w->processes[p].phase != PHASE_DONE)
            return false;
    return true;
}

static struct fate draw_fate(struct world *w)
{
    const struct mood *most = &moods[fate_draw(w, ELEMENTS(moods))];
    struct fate f = { .freeze_in = most->freeze_in, .thaw_in = most->thaw_in };

    f.left.kills = (unsigned)fate_draw(w, most->kills + 1);
    f.left.joins = (unsigned)fate_draw(w, most->joins + 1);
    f.left.leaves = (unsigned)fate_draw(w, most->leaves + 1);
    f.left.freezes = (unsigned)fate_draw(w, most->freezes + 1);
    f.left.cuts = (unsigned)fate_draw(w, most->cuts + 1);
    return f;
}

int group_history_run(const struct group_design *design, uint64_t seed, FILE *trace,
                      char ret_failure[GROUP_FAILURE_MAX])
{
    enum { EVENTS_MAX = 100000, IDLE_MAX = 20000 };
    static struct world world; /* why static: its links are some megabytes */
    struct world *w = &world;
    int idle = 0, events = 0;
    struct fate f;

    memset(w, 0, offsetof(struct world, links));
    w->design = design;
    w->trace = trace;
    w->random = (seed + 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    for (int i = 0; i < 8; i++)
        (void)fate_draw(w, 2);
    fate_begin(w);
    f = draw_fate(w);
    for (uint64_t n = 2 + fate_draw(w, RANKS - 1); n > 0; n--)
        fate_new_process(w, false);
    while (!w->failed && !is_over(w)) {
        struct process *p;

        act(w, &f);
        end_of_job(w);
        meet(w);
        p = any_process(w);
        if (!p->alive || p->frozen)
            continue;
        idle = (fate_draw(w, 2) == 0 ? fate_send(w, p) || fate_receive(w, p)
                                     : fate_receive(w, p) || fate_send(w, p))
                   ? 0
                   : idle + 1;
        if (p->alive)
            fate_complete_step(w, p);
        if (idle > IDLE_MAX || ++events > EVENTS_MAX)
            fate_fail(w, NULL, 0, "it stands still");
    }
    memcpy(ret_failure, w->failure, GROUP_FAILURE_MAX);
    return w->failed;
}
