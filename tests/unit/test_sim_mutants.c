/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_mutants.c - a planted bug is seen by the check that is meant for it
 *
 * For each: some seed of a few breaks the promise that the bug attacks, and the same seed without
 * the bug breaks none. A check that no mutant can trip proves nothing. The table has the first such
 * seed. A change of the simulator moves it: then the test searches from 1 on, passes and prints the
 * line that the table should have. With EDL_STRICT_SEEDS=1 such a table is an error. */
#include <ctype.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shared/macro.h"
#include "simulator/sim.h"

static const struct mutant_case {
    enum sim_mutant mutant;
    const char *profile;
    const char *promise; /* first word of the violation */
    const char *text;    /* and this is in it; NULL: whatever */
    uint64_t first;      /* which shows it; 0: not known yet */
    uint64_t seeds;      /* from 1 on; one of them shows it */
} cases[] = {
    { SIM_MUTANT_ANSWER_BEFORE_COMMIT, "crash", "durable", NULL, 1, 10 },
    { SIM_MUTANT_ORDERS_BEFORE_COMMIT, "none", "uncommitted", NULL, 1, 10 },
    { SIM_MUTANT_FENCE_IGNORES_LEASE, "storm", "frozen", NULL, 5, 60 },
    { SIM_MUTANT_STORE_LOSES_RECORD, "none", "replay", NULL, 1, 20 },
    { SIM_MUTANT_STORE_KEEPS_TORN, "storage", "restart", NULL, 1, 30 },
    { SIM_MUTANT_STALE_FINISH_ACCEPTED, "storm", "tasks", NULL, 67, 600 },
    { SIM_MUTANT_PROCESS_NOT_COUNTED, "none", "end-forgotten", NULL, 1, 20 },
    { SIM_MUTANT_CAPACITY_DOUBLED, "none", "capacity", NULL, 1, 20 },
    { SIM_MUTANT_REASON_EMPTIED, "none", "reason", NULL, 1, 20 },
    { SIM_MUTANT_RESTART_FORGETS_INCARNATION, "crash", "incarnation-reused", NULL, 7, 300 },
    { SIM_MUTANT_AGENT_FORGETS_EXITS, "crash", "end-forgotten", NULL, 34, 80 },
    { SIM_MUTANT_MARGIN_NEGATIVE, "network", "one-incarnation", NULL, 2, 20 },
    { SIM_MUTANT_STOP_IGNORED, "none", "convergence", NULL, 4, 20 },
    { SIM_MUTANT_GANG_BY_HALVES, "none", "gang", NULL, 1, 20 },
    { SIM_MUTANT_MAX_EXCEEDED, "none", "bounds", NULL, 1, 20 },
    { SIM_MUTANT_SELECTOR_IGNORED, "none", "selector", NULL, 1, 20 },
    { SIM_MUTANT_PINS_IGNORED, "pins", "pinned", NULL, 2, 20 },
    { SIM_MUTANT_GPU_SHARED, "none", "capacity", "the same GPU", 1, 40 },
    { SIM_MUTANT_PORT_SHARED, "none", "capacity", "the same port", 1, 20 },
    { SIM_MUTANT_GRANT_HALVED, "none", "grant", NULL, 1, 20 },
    { SIM_MUTANT_CORDON_IGNORED, "none", "cordon", NULL, 3, 20 },
    { SIM_MUTANT_EXIT_HIDDEN, "crash", "running", NULL, 12, 60 },
    { SIM_MUTANT_MINIMUM_LOWERED, "none", "minimum", NULL, 5, 60 },
    { SIM_MUTANT_STOP_UNASKED, "none", "stop", "is told to end", 1, 20 },
    { SIM_MUTANT_GRACE_HALVED, "none", "stop", "of grace", 1, 60 },
    { SIM_MUTANT_THAW_UNFENCED, "clock", "frozen", NULL, 8, 200 },
    { SIM_MUTANT_FENCE_TOO_EARLY, "network", "stop", "is fenced", 1, 20 },
    { SIM_MUTANT_STOP_IGNORED, "none", "killed", "still", 1, 20 },
    { SIM_MUTANT_KILL_FAILS, "none", "killed", NULL, 1, 20 },
    { SIM_MUTANT_TIMER_SPINS, "none", "endless", NULL, 1, 1 },
    { SIM_MUTANT_TASKS_DISCARDED_EARLY, "none", "tasks", "was not trained and failed", 2, 40 },
    { SIM_MUTANT_TASKS_TAKEN_EARLY, "none", "tasks", "is taken from", 1, 20 },
    { SIM_MUTANT_TASKS_NEVER_TAKEN, "none", "convergence", NULL, 5, 60 },
    { SIM_MUTANT_SAVERS_MANY, "none", "tasks", "is to save the model", 1, 20 },
    { SIM_MUTANT_SAVE_ASSUMED, "none", "tasks", "nobody saved", 1, 20 },
    { SIM_MUTANT_LOSS_IGNORED, "none", "tasks", "records are counted", 1, 20 },
    { SIM_MUTANT_MARGIN_NONE, "network", "one-incarnation", NULL, 82, 400 },
    { SIM_MUTANT_NUMBER_REUSED, "none", "incarnation", NULL, 1, 10 },
    { SIM_MUTANT_ORDERS_KEPT, "network", "stale-start", NULL, 144, 300 },
    { SIM_MUTANT_SUM_SPOILED, "none", "core", NULL, 1, 5 },
    { SIM_MUTANT_REQUEST_INFLATED, "none", "convergence", "never", 1, 5 },
    { SIM_MUTANT_SUCCESS_FAILS, "none", "failed", NULL, 1, 10 },
    { SIM_MUTANT_PRIORITY_IGNORED, "none", "durable", "was given priority", 1, 20 },
    { SIM_MUTANT_GANG_FORGOTTEN, "storm", "gang", NULL, 4, 60 },
    { SIM_MUTANT_DRAIN_AS_CORDON, "none", "drain", NULL, 2, 40 },
    { SIM_MUTANT_FOREIGN_HIDDEN, "none", "foreign", NULL, 8, 40 },
    { SIM_MUTANT_MAX_LOWERED, "none", "growth", NULL, 2, 20 },
    { SIM_MUTANT_SHARES_MIXED_UP, "groups", "share", NULL, 803, 1000 },
    { SIM_MUTANT_BACKLOG_HIDDEN, "services", "backlog", NULL, 7, 60 },
    { SIM_MUTANT_GROUPS_KEPT, "groups", "sum", NULL, 1, 20 },
    { SIM_MUTANT_SHARE_LOWERED, "groups", "lent", NULL, 15, 200 },
    { SIM_MUTANT_LIMITS_UNTOLD, "limits", "limit", NULL, 1, 20 },
    { SIM_MUTANT_USER_MISTAKEN, "groups", "sum", NULL, 2, 20 },
    { SIM_MUTANT_STARTS_FORGOTTEN, "none", "failed", "is put there again", 836, 3000 },
    { SIM_MUTANT_NOBODY_SPARED, "none", "failed", "others are at work", 18, 60 },
    { SIM_MUTANT_STALL_IGNORED, "stall", "lease", "is called lost", 7, 20 },
    { SIM_MUTANT_THAW_BY_LEASE, "network", "thaw", NULL, 43, 60 },
    { SIM_MUTANT_THAW_OLD_ORDERS, "network", "thaw", NULL, 22, 60 },
    { SIM_MUTANT_THAW_STALE, "gaps", "thaw", NULL, 21, 400 },
    { SIM_MUTANT_THAW_UNLISTED, "network", "thaw", "on record as", 34, 400 },
    { SIM_MUTANT_STOP_THAWS, "network", "thaw", NULL, 8, 60 },
    { SIM_MUTANT_FREEZE_LATE, "network", "frozen", NULL, 3, 60 },
    { SIM_MUTANT_FREEZE_UNVERIFIED, "network", "frozen", NULL, 35, 60 },
    { SIM_MUTANT_FROZEN_FOR_EVER, "network", "thaw", "is frozen for", 3, 400 },
    { SIM_MUTANT_EPOCH_KEPT, "network", "thaw", NULL, 43, 60 },
    { SIM_MUTANT_AWAY_BEFORE_COMMIT, "away", "one-incarnation", NULL, 347, 400 },
    { SIM_MUTANT_AWAY_FORGOTTEN, "away", "one-incarnation", NULL, 10, 100 },
    { SIM_MUTANT_AWAY_SHARE_EARLY, "away", "one-incarnation", NULL, 46, 100 },
    { SIM_MUTANT_START_GRANTS, "crash", "one-incarnation", NULL, 3, 100 },
    { SIM_MUTANT_START_FLOOR_SHORT, "gone", "undisturbed", "is another's", 18, 100 },
    { SIM_MUTANT_STANDSTILL_UNTOLD, "gaps", "tasks", "is taken from", 10, 400 },
    { SIM_MUTANT_AGES_BY_WALL_CLOCK, "clock", "ages", NULL, 2, 60 },
    { SIM_MUTANT_PROMISE_FORGOTTEN, "alive", "alive", "in spite of its promise", 27, 100 },
    { SIM_MUTANT_SILENT_FROZEN, "alive", "alive", "was frozen", 2, 100 },
    { SIM_MUTANT_PARKED_UNASKED, "none", "parked", "could not go on", 50, 100 },
    { SIM_MUTANT_NOTICE_LOST, "none", "notice", "its end was told", 2, 20 },
    { SIM_MUTANT_PARKED_FORGOTTEN, "none", "parked", "forgotten", 27, 100 },
    { SIM_MUTANT_COST_OVERRATED, "none", "growth", NULL, 2, 20 },
    { SIM_MUTANT_ANSWER_BEFORE_COMMIT, "two-schedulers", "durable", NULL, 1, 10 },
    { SIM_MUTANT_PERMISSION_NONE, "two-schedulers", "one-incarnation", NULL, 15, 400 },
    { SIM_MUTANT_PERMISSION_LONG, "two-schedulers", "one-incarnation", NULL, 510, 10000 },
    { SIM_MUTANT_PROOF_WITHOUT_COMMIT, "two-schedulers", "one-incarnation", NULL, 178, 10000 },
    { SIM_MUTANT_FIRST_LEASE_SHORT, "two-schedulers", "one-incarnation", NULL, 26, 400 },
    { SIM_MUTANT_TERM_UNCHECKED, "two-schedulers", "durable", NULL, 1, 100 },
    { SIM_MUTANT_TERMS_ALIKE, "two-schedulers", "one-incarnation", NULL, 37, 400 },
    { SIM_MUTANT_DEPOSED_ORDERS, "two-schedulers", "uncommitted", NULL, 38, 400 },
    { SIM_MUTANT_LOAD_BEFORE_TERM, "two-schedulers", "durable", NULL, 3, 100 },
};

static bool breaks(const struct mutant_case *c, enum sim_mutant mutant, uint64_t seed,
                   struct sim_result *ret)
{
    struct sim_run_options options = { .profile = c->profile, .mutant = mutant, .no_shrink = true };

    assert_int_equal(sim_run_seed(&options, seed, ret, NULL), 0);
    return ret->failed;
}

static bool catches(const struct mutant_case *c, uint64_t seed)
{
    size_t length = strlen(c->promise);
    struct sim_result result;
    bool caught;

    caught = breaks(c, c->mutant, seed, &result) &&
             strncmp(result.violation, c->promise, length) == 0 &&
             result.violation[length] == ':' &&
             (c->text == NULL || strstr(result.violation, c->text) != NULL);
    if (caught)
        print_message("%s: seed %" PRIu64 " at %.3f s: %s\n", sim_mutant_to_string(c->mutant), seed,
                      (double)result.violated_us / 1e6, result.violation);
    sim_result_done(&result);
    return caught;
}

/* Each history runs once, however many cases have it. */
static void assert_well_without_a_mutant(const struct mutant_case *c, uint64_t seed)
{
    static struct {
        const char *profile;
        uint64_t seed;
    } done[ELEMENTS(cases)];
    static size_t n_done;
    struct sim_result result;

    for (size_t i = 0; i < n_done; i++)
        if (done[i].seed == seed && streq(done[i].profile, c->profile))
            return;
    if (breaks(c, SIM_MUTANT_NONE, seed, &result))
        fail_msg("seed %" PRIu64 " of %s fails without a mutant: %s", seed, c->profile,
                 result.violation);
    sim_result_done(&result);
    done[n_done].profile = c->profile;
    done[n_done++].seed = seed;
}

/* The case as it is to stand in the table. */
static void format_case(const struct mutant_case *c, uint64_t seed, char *ret, size_t size)
{
    char name[64], text[64] = "NULL";
    size_t i;

    (void)snprintf(name, sizeof name, "%s", sim_mutant_to_string(c->mutant));
    for (i = 0; name[i] != '\0'; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    if (c->text != NULL)
        (void)snprintf(text, sizeof text, "\"%s\"", c->text);
    (void)snprintf(ret, size, "{ SIM_MUTANT_%s, \"%s\", \"%s\", %s, %" PRIu64 ", %" PRIu64 " },",
                   name, c->profile, c->promise, text, seed, c->seeds);
}

static void test_mutant_is_caught_by_its_check(void **state)
{
    const struct mutant_case *c = *state;
    const char *strict = getenv("EDL_STRICT_SEEDS");
    uint64_t seed = c->first;
    bool caught = seed != 0 && catches(c, seed);
    char line[300];

    if (!caught)
        for (seed = 0; seed < c->seeds && !caught;)
            caught = catches(c, ++seed);
    if (!caught)
        fail_msg("%s is not seen as \"%s\" by any of %" PRIu64 " seeds",
                 sim_mutant_to_string(c->mutant), c->promise, c->seeds);
    assert_well_without_a_mutant(c, seed);
    if (seed == c->first)
        return;
    format_case(c, seed, line, sizeof line);
    if (strict != NULL && streq(strict, "1"))
        fail_msg("seed %" PRIu64 " does not catch it; the case is to be\n    %s", c->first, line);
    print_message("seed %" PRIu64 " does not catch it; the case is to be\n    %s\n", c->first,
                  line);
}

static void test_every_mutant_has_a_case(void **state)
{
    (void)state;
    for (int m = SIM_MUTANT_NONE + 1; m < _SIM_MUTANT_MAX; m++) {
        bool found = false;

        for (size_t i = 0; i < ELEMENTS(cases); i++)
            found = found || cases[i].mutant == (enum sim_mutant)m;
        if (!found)
            fail_msg("no case for %s", sim_mutant_to_string((enum sim_mutant)m));
    }
}

int main(void)
{
    struct CMUnitTest tests[ELEMENTS(cases) + 1];

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        tests[i] = (struct CMUnitTest){
            .name = sim_mutant_to_string(cases[i].mutant),
            .test_func = test_mutant_is_caught_by_its_check,
            .initial_state = (void *)&cases[i], /* why: cmocka's type; nothing writes to it */
        };
    tests[ELEMENTS(cases)] = (struct CMUnitTest)cmocka_unit_test(test_every_mutant_has_a_case);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
