/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_servers.c - the number of parameter servers that jobs of a family come to
 *
 * The programs are eight real ones, as step = t0 M/w + t1 + t2 w/p + t3 w + t4 p: fits of published
 * measurements (DL2's config_speed), in seconds. */
#include "scheduler/core/speed/servers.h"
#include "tests/unit/goodput_curves.h"
#include "tests/unit/test.h"

#define BUDGET 24
#define MOST 16
#define OWN 7
#define OTHER 8

struct program {
    const char *name;
    double theta[GOODPUT_THETAS]; /* t0 with M in it */
};

static const struct program programs[] = {
    { "resnet-50", { .0039 * 32, .418, .421, .0074, 0 } },
    { "vgg-16", { .017 * 32, .581, .807, .136, 0 } },
    { "inception-bn", { .0031 * 128, .154, .166, .0194, .0028 } },
    { "seq2seq", { .001 * 64, .054, .024, .013, 0 } },
    { "text-cnn", { .0075 * 50, .345, .024, .017, 0 } },
    { "dssm", { .0016 * 256, .118, 0, .0073, .0002 } },
    { "wlm", { .0006 * 160, .239, .159, .031, 0 } },
    { "resnext", { .0005 * 128, .156, .110, .020, .0012 } },
};

/* --- one family, as the scheduler keeps it --- */

struct known {
    struct goodput_families *families;
    struct goodput_prior *family;
    char names[GOODPUT_SERVERS_NUMBERS][16];
    uint32_t numbers[GOODPUT_SERVERS_NUMBERS];
    uint32_t n;
};

static struct goodput_prior *kept(const struct known *known, uint32_t i)
{
    return goodput_family_prior(known->families, known->names[i]);
}

static struct known known_new(uint32_t max)
{
    struct known known = { .families = goodput_families_new() };

    known.n = goodput_servers_numbers(1, max, known.numbers);
    for (uint32_t i = 0; i < known.n; i++)
        (void)snprintf(known.names[i], sizeof known.names[i], "me:%u", known.numbers[i]);
    known.family = goodput_family_prior(known.families, "me:0");
    return known;
}

static void note(const struct known *known, uint32_t i, uint64_t program, uint32_t workers,
                 double unit_s)
{
    const struct goodput_learned learned = { .instances = workers, .measured_s = unit_s };

    goodput_servers_note(known->families, "me:0", known->names[i], program, &learned);
}

/* As many workers as the budget has room for beside each number of servers */
static struct goodput_servers ask(const struct known *known, uint64_t program, uint32_t budget)
{
    struct goodput_servers_question question = { .program = program, .n = known->n };
    struct goodput_prior family = *known->family;

    question.may_try = goodput_servers_begun(&family, program);
    for (uint32_t i = 0; i < known->n; i++) {
        uint32_t p = known->numbers[i];

        question.numbers[i] = (struct goodput_servers_number){
            .pservers = p,
            .workers = p < budget ? MIN_OF(budget - p, 16)
                       : i == 0   ? 1
                                  : 0,
            .seen = *kept(known, i),
        };
    }
    return goodput_servers_choose(&question);
}

static uint32_t at(const struct known *known, uint32_t pservers)
{
    uint32_t i = 0;

    while (known->numbers[i] != pservers)
        i++;
    return i;
}

/* A job begins; the number that it has */
static struct goodput_servers begin(const struct known *known, uint64_t program, uint32_t budget)
{
    struct goodput_servers chosen = ask(known, program, budget);

    (void)goodput_servers_begun(known->family, program);
    if (chosen.tries)
        goodput_servers_tried(kept(known, at(known, chosen.pservers)), program);
    return chosen;
}

/* --- the tests --- */

TEST(test_numbers)
{
    uint32_t numbers[GOODPUT_SERVERS_NUMBERS];

    assert_int_equal(goodput_servers_numbers(1, 1024, numbers), 11);
    assert_int_equal(numbers[10], 1024);
    assert_int_equal(goodput_servers_numbers(3, 14, numbers), 4);
    assert_int_equal(numbers[0], 3);
    assert_int_equal(numbers[2], 12);
    assert_int_equal(numbers[3], 14);
    assert_int_equal(goodput_servers_numbers(1, 2, numbers), 2);
}

TEST(test_nothing_measured_is_the_minimum)
{
    struct known known = known_new(8);
    struct goodput_servers chosen = ask(&known, OWN, 20);

    assert_int_equal(chosen.pservers, 1);
    assert_int_equal(chosen.workers, 0);
    (void)goodput_families_free(known.families);
}

/* On a quiet cluster every job has its largest size all the time. */
TEST(test_one_size_of_each_number_is_enough)
{
    static const double unit_s[] = { 8, 4, 2.2, 2.15 };
    struct known known = known_new(8);

    for (uint32_t i = 0; i < ELEMENTS(unit_s); i++) {
        struct goodput_servers chosen = begin(&known, OWN, 40);

        assert_int_equal(chosen.pservers, known.numbers[i]);
        assert_int_equal(chosen.tries, i > 0);
        note(&known, i, OWN, 16, unit_s[i]);
    }
    /* eight do not gain five in a hundred beside four */
    assert_int_equal(ask(&known, OWN, 40).pservers, 4);
    assert_int_equal(ask(&known, OWN, 40).workers, 16);
    assert_false(ask(&known, OWN, 40).tries);
    assert_true(fabs(ask(&known, OWN, 40).gain - 8 / 2.2) < 0.01);
    (void)goodput_families_free(known.families);
}

TEST(test_a_try_that_shows_nothing_is_made_three_times)
{
    struct known known = known_new(8);

    (void)begin(&known, OWN, 40);
    note(&known, 0, OWN, 16, 8);
    for (int i = 0; i < GOODPUT_SERVERS_TRIES; i++)
        assert_int_equal(begin(&known, OWN, 40).pservers, 2);
    assert_int_equal(begin(&known, OWN, 40).pservers, 1);
    note(&known, 1, OWN, 16, 4); /* one of them after all */
    assert_int_equal(begin(&known, OWN, 40).pservers, 4);
    (void)goodput_families_free(known.families);
}

/* Its records may be longer: nothing follows from its seconds, and it tries nothing. */
TEST(test_only_the_very_program_is_compared)
{
    struct known known = known_new(8);

    (void)begin(&known, OWN, 40);
    note(&known, 0, OWN, 16, 8);
    assert_int_equal(begin(&known, OTHER, 40).pservers, 1);
    assert_int_equal(kept(&known, 1)->tries, 0);
    assert_int_equal(begin(&known, OWN, 40).pservers, 2);
    note(&known, 1, OTHER, 16, 1);
    assert_int_equal(kept(&known, 1)->largest, 0);
    note(&known, 1, OWN, 16, 4);
    assert_int_equal(ask(&known, OTHER, 40).pservers, 2); /* what is best so far is for all */
    assert_false(ask(&known, OTHER, 40).tries);
    assert_true(ask(&known, OWN, 40).tries);
    (void)goodput_families_free(known.families);
}

TEST(test_who_comes_again_and_again_is_the_reference)
{
    struct known known = known_new(8);

    (void)begin(&known, OWN, 40);
    note(&known, 0, OWN, 16, 8);
    note(&known, 1, OWN, 16, 4);
    for (int i = 1; i < GOODPUT_SERVERS_STRANGERS; i++)
        assert_false(goodput_servers_begun(known.family, OTHER));
    assert_true(goodput_servers_begun(known.family, OWN));
    for (int i = 1; i < GOODPUT_SERVERS_STRANGERS; i++)
        assert_false(goodput_servers_begun(known.family, OTHER));
    assert_true(goodput_servers_begun(known.family, OTHER));
    /* it begins with what the one before knew, and goes on from there by its own */
    assert_int_equal(begin(&known, OTHER, 40).pservers, 2);
    note(&known, 1, OTHER, 16, 40);
    assert_int_equal(kept(&known, 1)->program, OTHER);
    assert_int_equal(begin(&known, OTHER, 40).pservers, 4);
    note(&known, 2, OTHER, 16, 80);
    assert_int_equal(begin(&known, OTHER, 40).pservers, 1); /* what is smaller may be better */
    (void)goodput_families_free(known.families);
}

TEST(test_what_leaves_no_room_for_workers_is_not_had)
{
    struct known known = known_new(8);

    (void)begin(&known, OWN, 40);
    for (uint32_t i = 0; i < known.n; i++)
        note(&known, i, OWN, 4, 8 >> i);
    assert_int_equal(ask(&known, OWN, 40).pservers, 8);
    assert_int_equal(ask(&known, OWN, 8).pservers, 4);
    assert_int_equal(ask(&known, OWN, 2).pservers, 1);
    assert_int_equal(ask(&known, OWN, 1).pservers, 1);
    (void)goodput_families_free(known.families);
}

/* Of a number that was seen beside 16 workers alone nobody knows what it does beside 11: not that
 * it is slower by as much. */
TEST(test_fewer_workers_than_were_seen_are_no_reason_against_it)
{
    struct known known = known_new(4);

    (void)begin(&known, OWN, 40);
    for (uint32_t w = 1; w <= 16; w *= 2)
        note(&known, 0, OWN, w, 2 + 0.5 * w);
    note(&known, 1, OWN, 16, 6);
    note(&known, 2, OWN, 16, 5.9);
    assert_int_equal(ask(&known, OWN, 13).pservers, 2); /* 8 of 1 beside 12, 6 of 2 beside 11 */
    (void)goodput_families_free(known.families);
}

/* --- whole families --- */

static double step_s(const struct program *program, uint32_t w, uint32_t p)
{
    return 1 / goodput_pserver_speed(program->theta, 1, false, w, p);
}

/* With the best number of workers that it leaves room for */
static double best_step_s(const struct program *program, uint32_t p)
{
    double best_s = INFINITY;

    for (uint32_t w = 1; w <= MIN_OF(BUDGET - p, 16U); w++)
        best_s = fmin(best_s, step_s(program, w, p));
    return best_s;
}

static void run_job(const struct known *known, const struct program *program, uint32_t p,
                    double noise, uint64_t *seed)
{
    uint32_t room = MIN_OF(BUDGET - p, 16);

    for (uint32_t w = 1; w <= room; w = w < room && 2 * w > room ? room : 2 * w)
        note(known, at(known, p), OWN, w,
             step_s(program, w, p) * (1 + noise * (2 * random_unit(seed) - 1)));
}

static void check_family(const struct program *program, double noise, double close)
{
    struct known known = known_new(MOST);
    struct goodput_servers chosen = { 0 };
    uint64_t seed = 7;
    double best_s = INFINITY, has_s;

    for (uint32_t i = 0; i < known.n; i++)
        best_s = fmin(best_s, best_step_s(program, known.numbers[i]));
    for (int job = 0; job < 12; job++) {
        chosen = begin(&known, OWN, BUDGET);
        if (job >= 6 && chosen.tries)
            fail_msg("%s: job %d still tries %u", program->name, job, chosen.pservers);
        run_job(&known, program, chosen.pservers, noise, &seed);
    }
    has_s = best_step_s(program, chosen.pservers);
    if (has_s > best_s * close)
        fail_msg("%s: %u servers, %.3f s a step, the best number takes %.3f", program->name,
                 chosen.pservers, has_s, best_s);
    (void)goodput_families_free(known.families);
}

TEST(test_families_come_to_the_best_number)
{
    for (size_t i = 0; i < ELEMENTS(programs); i++) {
        check_family(&programs[i], 0, 1.07);
        check_family(&programs[i], 0.02, 1.1);
    }
}
