/* SPDX-License-Identifier: Apache-2.0 */
/* group_mistakes.c - the designs of a group that histories try, with the words and plans of each
 */
#include <string.h>

#include "shared/macro.h"
#include "tests/sim/group_fate.h"

#define FETCH FETCHES
#define IN_PLACE STATE_IN_PLACE

static const struct group_design designs[] = {
    { "as built, exact", 0, true, 0, "" },
    { "as built, f32", 0, false, 0, "" },
    { "sums are fetched, exact", FETCH, true, 0, "" },
    { "sums are fetched, f32", FETCH, false, 0, "" },
    { "batches follow from the state", CHOOSES, false, 0, "" },
    { "own choice of the batch", CHOOSES | OWN_CHOICE, false, 200,
      "B is behind, and chooses by the state that it has before A gives it another" },
    { "sums in place", SUMS_IN_PLACE, true, 200,
      "C dies half-way, A redoes the step from a gradient that is half a sum" },
    { "all redo", ALL_REDO, true, 200,
      "A got the last bytes of C and goes on, B did not and redoes the step" },
    { "one result buffer, fetched", FETCH | ONE_RESULT, true, 500,
      "A has begun the next step in the buffer from which B fetches the sum" },
    { "redoes its own part", REDOES_OWN_PART, true, 200,
      "the micro-batches of the dead rank are in no sum" },
    { "any gradient", KEEPS_ANY_GRADIENT, true, 1000,
      "B took step s from A, and sends its gradient of s as that of s + 1" },
    { "forgets what it fetched", FETCH | FORGETS_FETCHED, true, 1000,
      "A gives the sum to B and dies before D has it; D asks B" },
    { "own view of what is missing", OWN_VIEW_OF_MISSING, true, 200,
      "two ranks take m, nobody takes m'" },
    { "publishes at commit", PUBLISHES_AT_COMMIT, false, 2000,
      "C has s, shows it and dies; A and B redo s with other bits" },
    { "keeps links", KEEPS_LINKS, true, 200,
      "the rest of a message is read as one of the next generation" },
    { "has the state while it comes", IN_PLACE | HAS_WHILE_TAKING, true, 1000,
      "the donor dies half-way, and half old, half new values count as new" },
    { "own donor", OWN_DONOR, true, 500, "each asks another donor, none of whom gives" },
    { "half a state is step 0", IN_PLACE | FETCH | TORN_IS_ZERO, true, 5000,
      "the next newest is step 1, and its sum is added to half a state" },
    { "exits behind the last step", EXITS_BEHIND_LAST, false, 5000,
      "A has the last step and is gone, B redoes it alone with other bits" },
    { "steps without identity", WITHOUT_IDENTITY | EXCLUDED_COME_BACK, false, 5000,
      "A and B redo s without C, which froze with its own s and comes back" },
    { "strangers exclude", STRANGERS_EXCLUDE | EXCLUDED_COME_BACK, false, 20000,
      "the excluded form a generation while all of the present one are frozen" },
    { "state in place", IN_PLACE, true, 2000,
      "A gives s to all others at once and dies: nobody has anything" },
};

const struct group_design *group_designs(size_t *ret_n)
{
    *ret_n = ELEMENTS(designs);
    return designs;
}

/* ---- what a rank says of itself ---- */

uint64_t *fate_sums(const struct world *w, struct process *p, uint64_t step)
{
    if (fate_differs(w, SUMS_IN_PLACE))
        return p->gradient;
    return p->sums[fate_differs(w, ONE_RESULT) ? 0 : step % 2];
}

static bool has_sum(const struct world *w, const struct process *p, uint64_t step)
{
    return step > 0 && p->sum_step[fate_differs(w, ONE_RESULT) ? 0 : step % 2] == step;
}

/* choice_of - the micro-batches of the next step, by a rank with this state */
static unsigned choice_of(const struct world *w, const struct process *p)
{
    if (!fate_differs(w, CHOOSES))
        return MICRO_BATCHES;
    return 1 + (unsigned)((p->state.values[0] + (unsigned)p->n) % MICRO_BATCHES);
}

struct hello fate_hello(const struct world *w, const struct process *p)
{
    struct hello h = { .said = { .identity = p->state.identity,
                                 .applied = p->state.applied,
                                 .gradient_step = p->gradient_step,
                                 .micro_batches = p->micro_batches,
                                 .cover = p->cover,
                                 .chosen = choice_of(w, p) },
                       .identity_before = p->state.identity_before,
                       .has_sum =
                           fate_differs(w, FETCHES) &&
                           (fate_differs(w, ONE_RESULT) || has_sum(w, p, p->state.applied)) &&
                           p->state.applied > 0,
                       .torn = p->torn && !fate_differs(w, TORN_IS_ZERO) };

    if (fate_differs(w, WITHOUT_IDENTITY))
        h.said.identity = 0;
    if (p->torn)
        h.said = (struct group_hello){ .micro_batches = MICRO_BATCHES, .chosen = MICRO_BATCHES };
    return h;
}

/* ---- the plan, and what other designs make of it ---- */

static bool is_at(const struct hello *h, const struct group_plan *plan)
{
    return !h->torn && h->said.identity == plan->identity && h->said.applied == plan->applied;
}

static void replan_torn(struct world *w, struct process *p, struct group_plan *plan)
{
    int donor = -1;

    for (int k = p->n - 1; k >= 0; k--)
        if (is_at(&p->hellos[k], plan))
            donor = k;
    if (donor < 0) {
        fate_fail(w, p, plan->applied, "nobody has a whole state");
        return;
    }
    plan->donor = (unsigned)donor;
    for (int k = 0; k < p->n; k++)
        plan->behind[k] |= p->hellos[k].torn;
}

static void replan_own_donor(struct process *p, struct group_plan *plan)
{
    for (int i = p->n; i > 0; i--) {
        int k = (p->rank + i) % p->n;

        if (is_at(&p->hellos[k], plan))
            plan->donor = (unsigned)k;
    }
}

/* replan_missing - the micro-batches that no kept gradient holds, by the rank's own view or not at
 * all */
static void replan_missing(const struct world *w, struct process *p, struct group_plan *plan)
{
    struct group_cover kept = { 0 };
    bool any = false;

    for (int k = 0; k < p->n; k++)
        for (unsigned m = 0; plan->keeps[k] && m < MICRO_BATCHES; m++)
            if (group_cover_has(&p->hellos[k].said.cover, m)) {
                group_cover_add(&kept, m);
                any = true;
            }
    for (int k = 0; any && k < p->n; k++)
        plan->take[k] = plan->keeps[k] ? p->hellos[k].said.cover : (struct group_cover){ 0 };
    for (unsigned m = 0; any && fate_differs(w, OWN_VIEW_OF_MISSING) && m < MICRO_BATCHES; m++)
        if (!group_cover_has(&kept, m))
            group_cover_add(&plan->take[(m + (unsigned)p->rank) % (unsigned)p->n], m);
}

/* replan_fetch - who lacks the newest step alone gets its sum, from a rank that has it */
static void replan_fetch(struct process *p, struct group_plan *plan)
{
    uint64_t before = p->hellos[plan->donor].identity_before;

    p->sum_donor = -1;
    for (int k = p->n - 1; k >= 0; k--)
        if (is_at(&p->hellos[k], plan) && p->hellos[k].has_sum)
            p->sum_donor = k;
    for (int k = 0; k < p->n; k++) {
        const struct hello *h = &p->hellos[k];

        p->fetches[k] = plan->behind[k] && !h->torn && p->sum_donor >= 0 &&
                        h->said.applied + 1 == plan->applied && h->said.identity == before;
        plan->behind[k] &= !p->fetches[k];
    }
}

void fate_make_plan(struct world *w, struct process *p)
{
    struct group_hello said[RANKS];
    struct group_plan *plan = &p->plan;

    for (int k = 0; k < p->n; k++)
        said[k] = p->hellos[k].said;
    p->micro_batches = fate_differs(w, OWN_CHOICE) ? said[p->rank].chosen
                                                   : group_plan_micro_batches(said, (unsigned)p->n);
    group_plan_make(said, (unsigned)p->n, p->micro_batches, plan);
    memset(p->fetches, 0, sizeof p->fetches);
    p->sum_donor = -1;
    if (fate_differs(w, STATE_IN_PLACE))
        replan_torn(w, p, plan);
    if (fate_differs(w, OWN_DONOR))
        replan_own_donor(p, plan);
    if (fate_differs(w, OWN_VIEW_OF_MISSING | REDOES_OWN_PART))
        replan_missing(w, p, plan);
    if (fate_differs(w, FETCHES))
        replan_fetch(p, plan);
    if (fate_differs(w, ALL_REDO))
        memset(plan->behind, 0, sizeof plan->behind);
    if (fate_differs(w, KEEPS_ANY_GRADIENT) && group_cover_count(&p->cover) > 0)
        p->gradient_step = plan->applied + 1;
    if (!plan->keeps[p->rank] && !fate_differs(w, KEEPS_ANY_GRADIENT))
        p->gradient_step = 0;
}
