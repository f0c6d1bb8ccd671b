/* SPDX-License-Identifier: Apache-2.0 */
/* test_goodput_types_solver.c - several types of bundles, against a solver of integer programmes
 *
 * The referee is lp_solve (Debian: lp-solve), run as a program: it knows nothing of prices, nor of
 * how the division is stored. Its answer is not taken at its word: the choice that it prints has to
 * keep the budgets and to add up. Where it is not installed the test is skipped. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/goodput_curves.h"
#include "tests/unit/goodput_types_cases.h"

#define CASES 60
#define JOBS_LEAST 5
#define JOBS_MOST 12
#define NEAR 1e-6 /* of a value: the solver prints and reads some digits only */

/* --- the programme, in the solver's words -------------------------------------------------------
 */

/* Each job takes at most one of its options. */
static void write_jobs(FILE *file, const struct types_case *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->jobs[i].n_options == 0)
            continue;
        (void)fprintf(file, "job%zu:", i);
        for (int o = 0; o < c->jobs[i].n_options; o++)
            (void)fprintf(file, " + x%zu_%d", i, o);
        (void)fprintf(file, " <= 1;\n");
    }
}

static void write_budget(FILE *file, const struct types_case *c, uint32_t type)
{
    bool any = false;

    for (size_t i = 0; i < c->n; i++)
        for (int o = 0; o < c->jobs[i].n_options; o++) {
            if (c->options[i][o].type != type)
                continue;
            if (!any)
                (void)fprintf(file, "type%u:", type);
            (void)fprintf(file, " + %.15g x%zu_%d", c->options[i][o].cost, i, o);
            any = true;
        }
    if (any)
        (void)fprintf(file, " <= %.15g;\n", c->types[type].budget);
}

static void write_programme(FILE *file, const struct types_case *c)
{
    const char *separator = "bin";

    (void)fprintf(file, "max:");
    for (size_t i = 0; i < c->n; i++)
        for (int o = 0; o < c->jobs[i].n_options; o++)
            (void)fprintf(file, " + %.15g x%zu_%d", c->options[i][o].value, i, o);
    (void)fprintf(file, ";\n");
    write_jobs(file, c);
    for (uint32_t t = 0; t < CASE_TYPES; t++)
        write_budget(file, c, t);
    for (size_t i = 0; i < c->n; i++)
        for (int o = 0; o < c->jobs[i].n_options; o++) {
            (void)fprintf(file, "%s x%zu_%d", separator, i, o);
            separator = ",";
        }
    (void)fprintf(file, ";\n");
}

/* --- the solver ---------------------------------------------------------------------------------
 */

/* -errno: it did not start */
static int run_solver(FILE *in, FILE *out)
{
    char name[] = "lp_solve", print_choice[] = "-S3";
    char *argv[] = { name, print_choice, NULL };
    posix_spawn_file_actions_t files;
    pid_t pid;
    int r, status = 0;

    assert_int_equal(fflush(in), 0);
    assert_int_equal(lseek(fileno(in), 0, SEEK_SET), 0);
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, fileno(in), STDIN_FILENO), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, fileno(out), STDOUT_FILENO), 0);
    r = posix_spawnp(&pid, name, &files, NULL, argv, environ);
    assert_int_equal(posix_spawn_file_actions_destroy(&files), 0);
    if (r != 0)
        return -r;
    while (waitpid(pid, &status, 0) == -1)
        assert_int_equal(errno, EINTR);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    rewind(out);
    return 0;
}

static void take(const struct types_case *c, size_t job, int option, int *ret_chosen)
{
    assert_true(job < c->n && option >= 0 && option < c->jobs[job].n_options);
    assert_int_equal(ret_chosen[job], GOODPUT_NO_OPTION);
    ret_chosen[job] = option;
}

/* What the choice is worth that the solver printed */
static double value_of(const struct types_case *c, const int *chosen)
{
    double used[CASE_TYPES] = { 0 }, value = 0;

    for (size_t i = 0; i < c->n; i++)
        if (chosen[i] >= 0) {
            used[c->options[i][chosen[i]].type] += c->options[i][chosen[i]].cost;
            value += c->options[i][chosen[i]].value;
        }
    for (size_t t = 0; t < CASE_TYPES; t++)
        assert_true(used[t] <= c->types[t].budget + NEAR);
    return value;
}

static double solve(const struct types_case *c)
{
    FILE *in = tmpfile(), *out = tmpfile();
    int chosen[CASE_JOBS_MAX];
    char line[256];
    double told = -1, value;

    assert_true(in != NULL && out != NULL);
    for (size_t i = 0; i < c->n; i++)
        chosen[i] = GOODPUT_NO_OPTION;
    write_programme(in, c);
    assert_int_equal(run_solver(in, out), 0);
    while (fgets(line, sizeof line, out) != NULL) {
        size_t job;
        int option;
        double number;

        if (sscanf(line, "Value of objective function: %lf", &number) == 1)
            told = number;
        else if (sscanf(line, "x%zu_%d %lf", &job, &option, &number) == 3 && number > 0.5)
            take(c, job, option, chosen);
    }
    assert_int_equal(fclose(in), 0);
    assert_int_equal(fclose(out), 0);
    value = value_of(c, chosen);
    assert_near(told, value, NEAR * value);
    assert_true(value > 0);
    return value;
}

static bool is_installed(void)
{
    FILE *in = tmpfile(), *out = tmpfile();
    bool installed;

    assert_true(in != NULL && out != NULL);
    (void)fprintf(in, "max: x;\none: x <= 1;\n");
    installed = run_solver(in, out) != -ENOENT;
    (void)fclose(in);
    (void)fclose(out);
    return installed;
}

/* --- the cases ----------------------------------------------------------------------------------
 */

/* By turns: any size on budgets of a few bundles; gangs and whole nodes */
static void draw(struct types_case *c, uint64_t *seed, int round)
{
    static const double budgets[][CASE_TYPES] = {
        { 4, 4, 4 }, { 8, 4, 2 }, { 5, 7, 3 }, { 8, 8, 8 }, { 16, 12, 8 }
    };
    size_t n = JOBS_LEAST + random_below(seed, JOBS_MOST - JOBS_LEAST + 1);

    if (round % 2 == 0)
        types_case_draw(c, seed, n, budgets[random_below(seed, ELEMENTS(budgets))]);
    else
        types_case_draw_gangs(c, seed, n);
}

static void test_division_is_within_one_percent_of_the_solver(void **state)
{
    uint64_t seed = 61;
    double sum = 0, worst = 1;

    (void)state;
    for (int round = 0; round < CASES; round++) {
        static struct types_case c;
        struct goodput_auction auction;
        double best;

        draw(&c, &seed, round);
        best = solve(&c);
        auction = types_case_divide(&c, 40, 3000000);
        assert_true(auction.value <= best * (1 + NEAR));
        assert_true(auction.bound >= best * (1 - NEAR));
        sum += auction.value / best;
        worst = fmin(worst, auction.value / best);
    }
    print_message("worth by that of the solver, %d cases: mean %.5f, worst %.5f\n", CASES,
                  sum / CASES, worst);
    assert_true(worst >= 0.99);
}

/* The other unit test goes by the dynamic programme: two ways to one optimum. */
static void test_solver_and_dynamic_programme_agree(void **state)
{
    uint64_t seed = 62;

    (void)state;
    for (int round = 0; round < CASES / 2; round++) {
        static struct types_case c;
        double best;

        draw(&c, &seed, round);
        best = types_case_exact(&c);
        assert_near(solve(&c), best, NEAR * best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_division_is_within_one_percent_of_the_solver),
        cmocka_unit_test(test_solver_and_dynamic_programme_agree),
    };

    if (!is_installed()) {
        printf("lp_solve is not installed (Debian package lp-solve)\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
