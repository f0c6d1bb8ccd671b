/* SPDX-License-Identifier: Apache-2.0 */
/* test_search_space.c - a search's space: its keys, its refusals, and a trial's command */
#include <jansson.h>
#include <math.h>

#include "client/search_command.h"
#include "client/search_core.h"
#include "client/search_space.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define REST "metric: {name: loss, direction: minimize}\nbudget: {trials: 10}\n"
#define ONE "parameters: {x: {kind: float, min: 0, max: 1}}\n"

static const char all_kinds[] =
    "parameters:\n"
    "  lr: {kind: float, min: 1e-5, max: 0.1, log: true}\n"
    "  drop: {kind: float, min: 0, max: 0.5, steps: 6}\n"
    "  width: {kind: int, min: 16, max: 512, log: true, steps: 6}\n"
    "  depth: {kind: int, min: 1, max: 4}\n"
    "  optimizer: [sgd, adam, 3, true, 0.5]\n"
    "  momentum: {kind: float, min: 0, max: 0.99, when: {optimizer: sgd, depth: [2, 3]}}\n"
    "metric: {name: val/loss, direction: maximize, take: best}\n"
    "resource: {name: epoch, min: 1, max: 27}\n"
    "budget: {trials: 40, core-hours: 2.5, time: 90m}\n"
    "method: {kind: asha, eta: 4}\n"
    "failures: 3\n"
    "seed: 9007199254740992\n";

static struct search_space *space_of(const char *text)
{
    struct search_space *space = NULL;
    struct edl_error error = { 0 };

    if (search_space_parse(text, strlen(text), &space, &error) < 0)
        fail_msg("%s: %s (%s)\n%s", error.pointer, error.text, error.remedy, text);
    return space;
}

TEST(test_each_key_of_a_space_is_read)
{
    struct search_space *space = space_of(all_kinds);
    const struct search_parameter *momentum = &space->parameters[5];

    assert_int_equal(space->n_parameters, 6);
    assert_true(space->parameters[0].is_log);
    assert_int_equal(space->parameters[0].n_levels, 0);
    assert_int_equal(space->parameters[1].n_levels, 6);
    assert_true(search_from_level(&space->parameters[2], 1) == 32);
    assert_int_equal(space->parameters[3].n_levels, 4);
    assert_int_equal(space->parameters[4].n_levels, 5);
    assert_int_equal(momentum->n_conditions, 2);
    assert_int_equal(momentum->conditions[0].levels, 1);
    assert_int_equal(momentum->conditions[1].levels, 2 | 4);
    assert_string_equal(space->metric, "val/loss");
    assert_true(space->is_maximised && space->takes_best);
    assert_true(space->budget.core_hours == 2.5);
    assert_int_equal(space->budget.elapsed_us, UINT64_C(5400) * USEC_PER_SEC);
    assert_int_equal(space->method, SEARCH_ASHA);
    assert_int_equal(space->settings.eta, 4);
    assert_int_equal(space->failures, 3);
    assert_int_equal(space->seed, UINT64_C(1) << 53);
    assert_int_equal(search_rungs(space), 4);
    assert_int_equal(search_rung_resource(space, 2), 16);
    assert_int_equal(search_rung_resource(space, 3), 27);
    (void)search_space_free(space);
}

TEST(test_json_of_a_space_reads_back_the_same)
{
    static const char *const texts[] = {
        all_kinds,
        ONE REST,
        ONE REST "method: annealing\n",
        ONE REST "method: {kind: tpe, startup: 7, parallel: 3}\n",
        "parameters: [{name: a, kind: choice, values: [1]}]\nmethod: grid\n"
        "metric: {name: m, direction: maximize}\n",
        ONE "metric: {name: loss, direction: minimize}\nbudget: {time: 0.25s, core-hours: 0.1}\n",
    };

    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        struct search_space *space = space_of(texts[i]), *again = NULL;
        json_t *json = search_space_to_json(space), *json_again;
        struct edl_error error = { 0 };

        if (search_space_from_json(json, &again, &error) < 0)
            fail_msg("%s: %s", error.pointer, error.text);
        json_again = search_space_to_json(again);
        assert_true(json_equal(json, json_again));
        assert_int_equal(again->budget.elapsed_us, space->budget.elapsed_us);
        assert_int_equal(again->takes_best, space->takes_best);
        assert_int_equal(again->is_maximised, space->is_maximised);
        assert_int_equal(again->method, space->method);
        assert_int_equal(again->seed, space->seed);
        assert_int_equal(again->failures, space->failures);
        assert_memory_equal(&again->settings, &space->settings, sizeof space->settings);
        assert_memory_equal(&again->resource, &space->resource, sizeof space->resource);
        json_decref(json);
        json_decref(json_again);
        (void)search_space_free(space);
        (void)search_space_free(again);
    }
}

/* text of a space, where the fault is, and words that its error has */
static const struct {
    const char *text, *pointer, *words[3];
} bad[] = {
    { "", "", { "empty", "edl-search-space(5)" } },
    { "[1]", "", { "object", "array" } },
    { REST, "/parameters", { "no parameters", "kind: float" } },
    { "parameters: {}\n" REST, "/parameters", { "no parameters" } },
    { "parameters: 3\n" REST, "/parameters", { "object", "3" } },
    { "parameters: {x: {kind: flaot, min: 0, max: 1}}\n" REST,
      "/parameters/x/kind",
      { "flaot", "did you mean \"float\"" } },
    { "parameters: {x: {kind: vector, min: 0, max: 1}}\n" REST,
      "/parameters/x/kind",
      { "vector", "float, int or choice" } },
    { "parameters: {x: {min: 0, max: 1}}\n" REST, "/parameters/x/kind", { "kind is missing" } },
    { "parameters: {x: []}\n" REST, "/parameters/x/values", { "empty", "values: [A, B]" } },
    { "parameters: {x: {kind: choice}}\n" REST, "/parameters/x/values", { "empty" } },
    { "parameters: {x: {kind: choice, values: a}}\n" REST, "/parameters/x/values", { "array" } },
    { "parameters: {x: {kind: choice, values: [a], min: 0}}\n" REST,
      "/parameters/x",
      { "neither min" } },
    { "parameters: {x: [a, b, a]}\n" REST, "/parameters/x/values/2", { "values 1 and 3" } },
    { "parameters: {x: [a, [b]]}\n" REST, "/parameters/x/values/1", { "array" } },
    { "parameters: {x: {kind: int, min: 0, max: 1, values: [1]}}\n" REST,
      "/parameters/x/values",
      { "int has no values" } },
    { "parameters: {x: {kind: float, min: 0}}\n" REST, "/parameters/x/max", { "max is missing" } },
    { "parameters: {x: {kind: float, min: '0', max: 1}}\n" REST,
      "/parameters/x/min",
      { "number", "without quotes" } },
    { "parameters: {x: {kind: int, min: 0.5, max: 1}}\n" REST,
      "/parameters/x/min",
      { "0.5", "whole" } },
    { "parameters: {x: {kind: int, min: 0, max: 1e10}}\n" REST,
      "/parameters/x/max",
      { "at most", "narrower" } },
    { "parameters: {x: {kind: float, min: 1, max: 1}}\n" REST, "/parameters/x/max", { "min 1" } },
    { "parameters: {x: {kind: float, min: 0, max: 1, log: true}}\n" REST,
      "/parameters/x/min",
      { "logarithm", "above 0" } },
    { "parameters: {x: {kind: float, min: 0, max: 1, log: 1}}\n" REST,
      "/parameters/x/log",
      { "true or false" } },
    { "parameters: {x: {kind: int, min: 1, max: 3, steps: 4}}\n" REST,
      "/parameters/x/steps",
      { "steps: 4", "fewer steps" } },
    { "parameters: {x: {kind: float, min: 1, max: 3, steps: 2.5}}\n" REST,
      "/parameters/x/steps",
      { "2.5" } },
    { "parameters: {x: {kind: float, min: 1, max: 3, stepz: 2}}\n" REST,
      "/parameters/x/stepz",
      { "stepz", "did you mean \"steps\"" } },
    { "parameters: {x: {kind: float, low: 1, high: 3}}\n" REST,
      "/parameters/x/low",
      { "low", "write min" } },
    { "parameters: {x: {kind: float, min: 1, upper: 3}}\n" REST,
      "/parameters/x/upper",
      { "upper", "write max" } },
    { "parameters: {x: {type: float, min: 1, max: 3}}\n" REST,
      "/parameters/x/type",
      { "type", "kind: float" } },
    { "parameters: {x: {kind: choice, choices: [1, 3]}}\n" REST,
      "/parameters/x/choices",
      { "values: [A, B]" } },
    { "parameters: {x: {kind: choice, values: [a, \"b\\nc\"]}}\n" REST,
      "/parameters/x/values/1",
      { "value 2", "control character" } },
    { "parameters: {trial: [a]}\n" REST, "/parameters/trial", { "{trial}" } },
    { "parameters: {a-b: [a]}\n" REST, "/parameters/a-b", { "a-b", "letters" } },
    { "parameters: [{name: a, kind: choice, values: [1]}, {name: a, kind: choice, values: "
      "[1]}]\n" REST,
      "/parameters/1",
      { "two parameters" } },
    { "parameters: [{kind: choice, values: [1]}]\n" REST, "/parameters/0/name", { "missing" } },
    { "parameters: {x: {kind: choice, values: [1], when: {y: 1}}}\n" REST,
      "/parameters/x/when/y",
      { "no parameter above" } },
    { "parameters: {y: [1], x: {kind: choice, values: [1], when: {y: 2}}}\n" REST,
      "/parameters/x/when/y",
      { "none that y has" } },
    { "parameters: {y: [1], x: {kind: choice, values: [1], when: {y: []}}}\n" REST,
      "/parameters/x/when/y",
      { "never used" } },
    { "parameters: {y: {kind: float, min: 0, max: 1}, x: {kind: choice, values: [1], when: {y: 0}}}"
      "\n" REST,
      "/parameters/x/when/y",
      { "no values to name" } },
    { ONE "budget: {trials: 10}\n", "/metric/name", { "missing", "name: loss" } },
    { ONE "metric: loss\nbudget: {trials: 10}\n",
      "/metric",
      { "direction", "metric: {name: loss, direction: minimize}" } },
    { ONE "metric: [loss]\nbudget: {trials: 10}\n", "/metric", { "object" } },
    { ONE "metric: {name: loss, goal: minimize}\nbudget: {trials: 10}\n",
      "/metric/goal",
      { "goal", "direction: minimize" } },
    { ONE "metric: {name: loss}\nbudget: {trials: 10}\n", "/metric/direction", { "maximize" } },
    { ONE "metric: {name: loss, direction: low}\nbudget: {trials: 10}\n",
      "/metric/direction",
      { "low" } },
    { ONE "metric: {name: lo ss, direction: minimize}\nbudget: {trials: 1}\n",
      "/metric/name",
      { "lo ss" } },
    { ONE "metric: {name: loss, direction: minimize, take: mean}\nbudget: {trials: 1}\n",
      "/metric/take",
      { "mean", "last or best" } },
    { ONE "metric: {name: loss, direction: minimize}\n",
      "/budget",
      { "never end", "trials: 100" } },
    { ONE "metric: {name: loss, direction: minimize}\nbudget: {trials: 0}\n",
      "/budget/trials",
      { "1 to 10000", "0" } },
    { ONE "metric: {name: loss, direction: minimize}\nbudget: {trials: 20000}\n",
      "/budget/trials",
      { "20000", "at most 10000" } },
    { ONE "metric: {name: loss, direction: minimize}\nbudget: {core-hours: 0}\n",
      "/budget/core-hours",
      { "0", "more than 0" } },
    { ONE "metric: {name: loss, direction: minimize}\nbudget: {time: 0}\n",
      "/budget/time",
      { "0", "8h" } },
    { ONE REST "method: ahsa\n", "/method", { "ahsa", "did you mean \"asha\"" } },
    { ONE REST "method: {kind: bayes}\n", "/method/kind", { "bayes", "annealing or tpe" } },
    { ONE REST "method: {type: asha}\n", "/method/type", { "type", "write kind" } },
    { ONE REST "method: {eta: 3}\n", "/method/kind", { "missing" } },
    { ONE REST "method: [asha]\n", "/method", { "array", "method: evolution" } },
    { ONE REST "method: {kind: random, eta: 3}\n", "/method/eta", { "eta" } },
    { ONE REST "method: {kind: evolution, population: 4, sample: 5}\n",
      "/method/sample",
      { "5", "4" } },
    { ONE REST "method: {kind: annealing, cooling: 2}\n", "/method/cooling", { "2" } },
    { ONE REST "method: asha\n", "/resource", { "rungs", "name: epoch" } },
    { ONE REST "method: asha\nresource: {min: 1, max: 9}\n", "/resource/name", { "missing" } },
    { ONE REST "resource: {name: epoch, min: 9, max: 1}\n", "/resource/max", { "below" } },
    { ONE REST "method: grid\n", "/parameters/x/steps", { "grid", "steps: 5" } },
    { "parameters: {x: {kind: int, min: 1, max: 100}, y: {kind: int, min: 0, max: 100}}\n"
      "method: grid\nmetric: {name: loss, direction: minimize}\n",
      "/parameters",
      { "more than 10000 points" } },
    { ONE REST "seed: -1\n", "/seed", { "-1" } },
    { ONE REST "failures: 0\n", "/failures", { "1 or more" } },
    { ONE REST "sead: 1\n", "/sead", { "did you mean \"seed\"" } },
};

TEST(test_a_bad_space_is_refused_with_place_value_and_remedy)
{
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct search_space *space = NULL;
        struct edl_error error = { 0 };
        char both[800];

        if (search_space_parse(bad[i].text, strlen(bad[i].text), &space, &error) >= 0)
            fail_msg("accepted: %s", bad[i].text);
        assert_null(space);
        (void)snprintf(both, sizeof both, "%s; %s", error.text, error.remedy);
        if (!streq(error.pointer, bad[i].pointer))
            fail_msg("at \"%s\", not \"%s\": %s\n%s", error.pointer, bad[i].pointer, both,
                     bad[i].text);
        for (size_t w = 0; w < ELEMENTS(bad[i].words) && bad[i].words[w] != NULL; w++)
            if (strstr(both, bad[i].words[w]) == NULL)
                fail_msg("no \"%s\" in: %s", bad[i].words[w], both);
    }
}

TEST(test_too_many_parameters_and_values_are_refused)
{
    for (int is_list = 0; is_list < 2; is_list++) {
        json_t *document = json_pack("{s:{s:s,s:s},s:{s:i}}", "metric", "name", "m", "direction",
                                     "min", "budget", "trials", 3);
        json_t *names = json_object(), *values = json_array();
        struct search_space *space = NULL;
        struct edl_error error = { 0 };

        for (int i = 0; i <= SEARCH_PARAMETERS_MAX; i++) {
            char name[16];

            (void)snprintf(name, sizeof name, "p%d", i);
            (void)json_array_append_new(values, json_string(name));
            (void)json_object_set_new(names, name, json_pack("[i]", i));
        }
        if (is_list) {
            (void)json_object_clear(names);
            (void)json_object_set(names, "x", values);
        }
        (void)json_object_set(document, "parameters", names);
        assert_int_equal(search_space_from_json(document, &space, &error), EDL_EBADSPEC);
        assert_non_null(strstr(error.text, "65"));
        json_decref(names);
        json_decref(values);
        json_decref(document);
    }
}

TEST(test_units_and_values_are_each_others_reverse)
{
    struct search_space *space = space_of(all_kinds);

    for (unsigned int p = 0; p < space->n_parameters; p++) {
        const struct search_parameter *parameter = &space->parameters[p];

        for (unsigned int i = 0; i < 200; i++) {
            double value = search_from_unit(parameter, i / 200.0);
            double again = search_from_unit(parameter, search_to_unit(parameter, value));

            if (parameter->kind != SEARCH_CHOICE)
                assert_true(value >= parameter->min && value <= parameter->max);
            if (parameter->n_levels > 0)
                assert_true(again == value && search_level(parameter, value) >= 0);
            else
                assert_true(fabs(again - value) <= 1e-5 * fabs(value));
        }
    }
    (void)search_space_free(space);
}

TEST(test_an_int_of_a_logarithmic_range_takes_each_value)
{
    struct search_space *space =
        space_of("parameters: {x: {kind: int, min: 1, max: 64, log: true}}\n" REST);
    const struct search_parameter *x = &space->parameters[0];
    unsigned int n_low = 0;
    bool seen[65] = { false };

    for (unsigned int i = 0; i < 10000; i++) {
        double value = search_from_unit(x, i / 10000.0);

        seen[(size_t)value] = true;
        n_low += value <= 8;
        assert_true(search_from_unit(x, search_to_unit(x, value)) == value);
    }
    for (unsigned int i = 1; i <= 64; i++)
        assert_true(seen[i]);
    assert_in_range(n_low, 4800, 5600); /* about the half is in the lower half of the logarithm */
    (void)search_space_free(space);
}

TEST(test_points_leave_out_what_is_not_active)
{
    struct search_space *space = space_of("parameters:\n"
                                          "  a: [x, y]\n"
                                          "  b: {kind: int, min: 1, max: 3, when: {a: y}}\n"
                                          "  c: {kind: choice, values: [p, q], when: {b: [2, 3]}}\n"
                                          "metric: {name: m, direction: minimize}\nmethod: grid\n");
    double values[3];
    unsigned int n = 1;

    search_point_first(space, values);
    assert_true(values[0] == 0 && isnan(values[1]) && isnan(values[2]));
    while (search_point_next(space, values))
        n++;
    assert_int_equal(n, 1 + 1 + 2 * 2);
    assert_true(values[0] == 1 && values[1] == 3 && values[2] == 1);
    (void)search_space_free(space);
}

static void check_values(const struct search_space *space, const double *values)
{
    json_t *json = search_values_to_json(space, values);
    char *text = json_dumps(json, 0);
    json_t *sent = json_loads(text, 0, NULL);
    double again[SEARCH_PARAMETERS_MAX];
    struct edl_error error = { 0 };

    if (search_values_from_json(space, sent, again, &error) < 0)
        fail_msg("%s: %s", text, error.text);
    assert_true(search_values_equal(space, values, again));
    json_decref(json);
    json_decref(sent);
    free(text);
}

TEST(test_values_survive_json)
{
    struct search_space *space = space_of(all_kinds);
    double values[6] = { 0.00123457, 0.3, 64, 2, 0, 0.5 };

    check_values(space, values);
    for (unsigned int i = 0; i < 5; i++) {
        values[4] = i;
        values[5] = search_is_active(space, 5, values) ? 0.25 : NAN;
        check_values(space, values);
    }
    (void)search_space_free(space);
}

TEST(test_values_of_another_space_are_refused)
{
    static const char *const others[] = {
        "{}",
        "{\"a\": \"x\"}",
        "{\"a\": \"y\", \"b\": 4}",
        "{\"a\": \"y\", \"b\": 1.5}",
        "{\"a\": \"y\", \"b\": \"1\"}",
        "{\"a\": \"z\"}",
        "{\"a\": \"x\", \"b\": 1}",
        "{\"a\": \"y\", \"b\": 1, \"c\": 1}",
    };
    struct search_space *space = space_of(
        "parameters: {a: [w, x, y], b: {kind: int, min: 1, max: 3, when: {a: [w, y]}}}\n" REST);
    double values[2];

    for (size_t i = 0; i < ELEMENTS(others); i++) {
        json_t *json = json_loads(others[i], 0, NULL);
        struct edl_error error = { 0 };
        int r = search_values_from_json(space, json, values, &error);

        if (i == 1)
            assert_int_equal(r, 0);
        else
            assert_int_equal(r, EDL_EBADSPEC);
        assert_true(r == 0 || error.remedy[0] != '\0');
        json_decref(json);
    }
    (void)search_space_free(space);
}

/* example - what stands between .nf and .fi, "" at the end of the page; *at moves behind it */
static char *example(const char **at)
{
    const char *from = strstr(*at, ".nf\n"), *to = from != NULL ? strstr(from, ".fi\n") : NULL;
    char *text = xcalloc(strlen(*at) + 1, 1);
    size_t n = 0;

    for (const char *c = to != NULL ? from + 4 : ""; *c != '\0' && c < to; c++)
        if (*c != '\\') /* \- is a hyphen */
            text[n++] = *c;
    *at = to != NULL ? to : "";
    return text;
}

TEST(test_the_examples_of_the_manual_are_spaces)
{
    _cleanup_fclose_ FILE *file = fopen(MANUALS "/edl-search-space.5", "re");
    char page[32768];
    const char *at = page;
    unsigned int n = 0;

    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    for (;; n++) {
        _cleanup_free_ char *text = example(&at);

        if (text[0] == '\0')
            break;
        (void)search_space_free(space_of(text));
    }
    assert_int_equal(n, 3);
}

/* ---- commands ---- */

#define WORDS_MAX 32

/* Words of a command, cut at each blank; they live in `text`. */
struct words {
    char text[200];
    char *words[WORDS_MAX];
};

static void cut(const char *text, struct words *ret)
{
    size_t n = 0;

    *ret = (struct words){ 0 };
    (void)snprintf(ret->text, sizeof ret->text, "%s", text);
    for (char *at = ret->text; at != NULL; at = strchr(at, ' ')) {
        if (at > ret->text)
            *at++ = '\0';
        ret->words[n++] = at;
    }
}

static void expect_command(const struct search_space *space, const double *values, const char *text,
                           const char *expected)
{
    struct search_action action = { .number = 7, .rung = 2, .resource = 9 };
    struct words words, found;
    char **command;
    size_t n = 0;

    cut(text, &words);
    cut(expected, &found);
    command = search_command(space, words.words, &action, values);
    for (size_t i = 0; command[i] != NULL; i++) {
        assert_non_null(found.words[i]);
        assert_string_equal(command[i], found.words[i]);
        n++;
    }
    assert_null(found.words[n]);
    (void)search_command_free(command);
}

TEST(test_a_command_gets_its_values)
{
    static const char some[] = "train --lr={lr} -w {width}x{depth} {optimizer} {trial}.{rung}"
                               " --epochs {resource} ${HOME}{{lr} {} a{b }}";
    static const char dropped[] = "train --momentum {momentum} --m={momentum} --x=1 {momentum}"
                                  " {momentum} end";
    struct search_space *space = space_of(all_kinds);
    double values[6] = { 0.001, 0.1, 32, 2, 0, 0.5 };

    expect_command(space, values, some,
                   "train --lr=0.001 -w 32x2 sgd 7.2 --epochs 9 ${HOME}{lr} {} a{b }");
    expect_command(space, values, dropped, "train --momentum 0.5 --m=0.5 --x=1 0.5 0.5 end");
    values[4] = 4;
    values[5] = NAN;
    expect_command(space, values, dropped, "train --x=1 end");
    values[4] = 3;
    expect_command(space, values, some,
                   "train --lr=0.001 -w 32x2 true 7.2 --epochs 9 ${HOME}{lr} {} a{b }");
    (void)search_space_free(space);
}

static int check(const struct search_space *space, const char *text, uint64_t *ret_unused,
                 struct edl_error *error)
{
    struct words words;

    cut(text, &words);
    return search_command_check(space, words.words, ret_unused, error);
}

TEST(test_a_command_is_checked)
{
    struct search_space *space = space_of(all_kinds);
    struct edl_error error = { 0 };
    uint64_t unused = 0;

    assert_int_equal(check(space, "train {lr}{optimizer} {trial}", &unused, &error), 0);
    assert_int_equal(unused, 2 | 4 | 8 | 32);
    assert_int_equal(check(space, "train {widht}", &unused, &error), EDL_EBADSPEC);
    assert_non_null(strstr(error.text, "{widht}"));
    assert_non_null(strstr(error.remedy, "{width}"));
    assert_int_equal(check(space, "awk {print}", &unused, &error), EDL_EBADSPEC);
    assert_non_null(strstr(error.remedy, "{{print}"));
    (void)search_space_free(space);
}
