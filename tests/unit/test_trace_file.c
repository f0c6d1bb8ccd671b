/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_file.c - traces from files: our form, public forms, made-up ones */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "simulator/trace/generate.h"
#include "simulator/trace/import.h"
#include "tests/unit/test.h"
#include "tests/unit/trace_world.h"

/* ---- files ---- */

static char folder[] = "/tmp/test_trace_file.XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static const char *const names[] = {
    "w.csv",
    "log.csv",
    "t/a.csv",
    "t/b.csv",
    "m/x/placements.csv",
    "m/x/scalability.csv",
    "m/x/validation-8.csv",
    "m/x/validation-32.csv",
    "m/x/validation-032.csv",
    "m/x",
    "m",
    "t",
};

static int remove_folder(void **state)
{
    char path[200];

    (void)state;
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        if (unlink(path) < 0)
            (void)rmdir(path);
    }
    return rmdir(folder);
}

static const char *path_of(const char *name)
{
    static char path[200];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* ---- our form ---- */

TEST(test_own_form)
{
    struct trace *trace = trace_of("job,submit_s,model,speed,duration_s,instances,min,max,batch,"
                                   "user,weight,deadline_s,family\n"
                                   "late,20,m,power:1,100,4,2,8,64,ann,2,500,f\n"
                                   "early,10,m,power:1,100,,,,,,,,\n");

    assert_int_equal(trace->n, 2);
    assert_string_equal(trace->name, "test.csv");
    assert_string_equal(trace->jobs[0].name, "early");
    assert_near(trace->jobs[0].work_steps, 100);
    assert_int_equal(trace->jobs[0].requested, 1);
    assert_int_equal(trace->jobs[0].min, 1);
    assert_string_equal(trace->jobs[0].family, "m");
    assert_near(trace->jobs[0].weight, 1);
    assert_near(trace->jobs[1].work_steps, 400);
    assert_int_equal(trace->jobs[1].requested, 4);
    assert_int_equal(trace->jobs[1].min, 2);
    assert_int_equal(trace->jobs[1].max, 8);
    assert_int_equal(trace->jobs[1].batch, 64);
    assert_string_equal(trace->jobs[1].user, "ann");
    assert_string_equal(trace->jobs[1].family, "f");
    assert_near(trace->jobs[1].weight, 2);
    assert_near(trace->jobs[1].deadline_s, 500);
    assert_ptr_equal(trace->jobs[0].profile, trace->jobs[1].profile); /* one for both */
    (void)trace_free(trace);
}

TEST(test_own_form_refuses)
{
    static const struct {
        const char *text, *says, *remedy;
    } bad[] = {
        { "submit,speed\n", "t line 1: \"submit\" is unknown", "did you mean submit_s?" },
        { "submit_s\n1\n", "t line 2: speed is missing", "power:P" },
        { "speed\npower:1\n", "t line 2: submit_s is missing", "seconds" },
        { "submit_s,speed\n1,power:1\n", "work_steps is missing", "one of work_steps and" },
        { "submit_s,speed,work_steps,duration_s\n1,power:1,1,1\n", "duration_s is missing", "not" },
        { "submit_s,speed,work_steps\nx,power:1,1\n", "t line 2, submit_s: \"x\" is no number",
          "a number from 0" },
        { "submit_s,speed,work_steps\n1,power:1,-1\n", "work_steps: \"-1\" is out of", "1e-09" },
        { "submit_s,speed,work_steps,min\n1,power:1,1,0\n", "min: \"0\" is no such", "from 1 to" },
        { "submit_s,speed,work_steps,max,instances\n1,power:1,1,2,3\n", "instances: \"3\" is not",
          "min <= instances <= max" },
        { "submit_s,speed,work_steps,min\n1,pserver:wlm,1,1\n", "min: \"1\" is too few", "2 for" },
        { "submit_s,speed,work_steps\n\n1,linear,1\n", "t line 3, speed: \"linear\" is no speed",
          "power:P" },
        { "submit_s,speed\n1,pollux:/x\n", "batch is missing", "needs the batch" },
        { "submit_s,speed,batch,model\n1,pollux:/nowhere,8,x\n", "t line 2: /nowhere/x",
          "one folder per application" },
        { "submit_s,speed,batch,model\n1,pollux:/nowhere,8,../x\n",
          "t line 2: \"../x\" is no application", "of /nowhere" },
        { "submit_s,speed,work_steps\n1,power:1\n", "t line 2: 2 cells", "as many" },
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };
        struct trace *trace = NULL;
        int r =
            trace_parse_csv("t", xstrdup(bad[i].text), strlen(bad[i].text), false, &trace, &error);

        if (r >= 0 || strstr(error.text, bad[i].says) == NULL ||
            strstr(error.remedy, bad[i].remedy) == NULL)
            fail_msg("%zu: %d, \"%s\", \"%s\"", i, r, error.text, error.remedy);
    }
}

TEST(test_json_refuses)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "{", "t line 1: " },
        { "[]", "{\"jobs\": [...]} is expected" },
        { "{\"jobs\": [], \"more\": 1}", "is expected" },
        { "{\"jobs\": [1]}", "t jobs[0]: a job is expected to be an object" },
        { "{\"jobs\": [{\"submit\": 1}]}", "t jobs[0]: \"submit\" is unknown" },
        { "{\"jobs\": [{\"submit_s\": [1]}]}", "t jobs[0], submit_s: a number or text" },
        { "{\"jobs\": [{\"submit_s\": 1}]}", "t jobs[0]: speed is missing" },
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };
        struct trace *trace = NULL;

        if (trace_parse_json("t", bad[i].text, strlen(bad[i].text), false, &trace, &error) >= 0 ||
            strstr(error.text, bad[i].says) == NULL)
            fail_msg("%zu: \"%s\"", i, error.text);
    }
}

static char *written(const struct trace *trace, bool json)
{
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);

    assert_non_null(file);
    assert_int_equal(trace_write(trace, json, file, NULL), 0);
    (void)fclose(file);
    return text;
}

TEST(test_round_trip)
{
    static const char *const kinds[] = { "poisson", "pserver" };

    for (size_t i = 0; i < ELEMENTS(kinds); i++) {
        struct generate_options options = {
            .kind = kinds[i], .jobs = 50, .per_hour = 20, .seed = 3
        };
        struct trace *trace = NULL, *again = NULL;
        char *csv, *json;

        assert_int_equal(trace_generate(&options, &trace, NULL), 0);
        free(trace->jobs[0].name);
        trace->jobs[0].name = xstrdup("a \"job\", with\na comma");
        trace->jobs[1].weight = 0.1;
        trace->jobs[2].deadline_s = 1.0 / 3;
        csv = written(trace, false);
        json = written(trace, true);
        assert_int_equal(trace_parse_csv("t", xstrdup(csv), strlen(csv), false, &again, NULL), 0);
        assert_string_equal(again->jobs[0].name, "a \"job\", with\na comma");
        assert_true(again->jobs[2].deadline_s == 1.0 / 3);
        {
            char *twice = written(again, true);

            assert_string_equal(twice, json);
            free(twice);
        }
        (void)trace_free(again);
        assert_int_equal(trace_parse_json("t", json, strlen(json), false, &again, NULL), 0);
        {
            char *twice = written(again, false);

            assert_string_equal(twice, csv);
            free(twice);
        }
        (void)trace_free(again);
        (void)trace_free(trace);
        free(csv);
        free(json);
    }
}

/* ---- made-up traces ---- */

TEST(test_generators)
{
    static const char *const kinds[] = { "poisson", "diurnal", "heavy-tailed", "pserver" };

    for (size_t i = 0; i < ELEMENTS(kinds); i++) {
        struct generate_options options = {
            .kind = kinds[i], .jobs = 4000, .per_hour = 20, .seed = 1
        };
        struct trace *one = NULL, *two = NULL, *other = NULL;
        char *texts[3];

        assert_int_equal(trace_generate(&options, &one, NULL), 0);
        assert_int_equal(trace_generate(&options, &two, NULL), 0);
        options.seed = 2;
        assert_int_equal(trace_generate(&options, &other, NULL), 0);
        texts[0] = written(one, false);
        texts[1] = written(two, false);
        texts[2] = written(other, false);
        assert_string_equal(texts[0], texts[1]);
        assert_string_not_equal(texts[0], texts[2]);
        /* 4000 gaps of 180 s: the mean is off by 1.6 % or less in two cases of three */
        assert_true(fabs(one->jobs[3999].submit_s / 4000 / 180 - 1) < 0.08);
        for (size_t j = 0; j < one->n; j++) {
            assert_true(j == 0 || one->jobs[j].submit_s >= one->jobs[j - 1].submit_s);
            assert_true(one->jobs[j].min <= one->jobs[j].requested &&
                        one->jobs[j].requested <= one->jobs[j].max);
            assert_true(one->jobs[j].work_steps > 0);
        }
        for (size_t j = 0; j < 3; j++)
            free(texts[j]);
        (void)trace_free(one);
        (void)trace_free(two);
        (void)trace_free(other);
    }
}

TEST(test_no_such_generator)
{
    struct generate_options options = { .kind = "normal", .jobs = 1, .per_hour = 1, .seed = 1 };
    struct edl_error error = { 0 };
    struct trace *trace = NULL;

    assert_int_equal(trace_generate(&options, &trace, &error), -EINVAL);
    assert_non_null(strstr(error.remedy, "heavy-tailed"));
}

/* ---- logs of clusters ---- */

static void put_tables(void)
{
    (void)mkdir(path_of("t"), 0700);
    put("t/a.csv", "global_batch_size,1,2,4\n64,2,3.5,6\n128,1,,nan\n");
    put("t/b.csv", "global_batch_size,2,4,8\n32,4,8,7\n");
}

static int import_log(const char *text, uint64_t seed, struct trace **ret, struct edl_error *error)
{
    static char dir[200];
    struct import_options options = { .dir = dir, .seed = seed };

    (void)snprintf(dir, sizeof(dir), "%s/t", folder);
    put("log.csv", text);
    return elasticflow_import(path_of("log.csv"), &options, ret, error);
}

TEST(test_log)
{
    struct trace *trace = NULL;

    put_tables();
    assert_int_equal(import_log("job_id,submission_time,duration,num_gpu,model_name,batch_size\n"
                                "x,5,100,2,a,64\ny,4,10,8,b,32\nz,6,10,3,a,128\n",
                                1, &trace, NULL),
                     0);
    assert_string_equal(trace->jobs[0].name, "y");
    assert_near(trace->jobs[0].work_steps, 70);
    assert_int_equal(trace->jobs[0].min, 2);
    assert_int_equal(trace->jobs[0].requested, 8);
    assert_int_equal(trace->jobs[0].max, 8); /* slower than with 4, but asked for */
    assert_near(trace->jobs[1].work_steps, 350);
    assert_int_equal(trace->jobs[1].max, 4);
    assert_int_equal(trace->jobs[2].requested, 1); /* the only one that was measured */
    (void)trace_free(trace);
}

TEST(test_log_without_models)
{
    struct trace *trace = NULL, *again = NULL;
    char text[20000] = "job_id,submission_time,duration,num_gpu\n";
    size_t of_b = 0;

    put_tables();
    for (int i = 0; i < 600; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "j%d,%d,100,%d\n", i, i,
                       i < 300 ? 1 : 2);
    assert_int_equal(import_log(text, 7, &trace, NULL), 0);
    assert_int_equal(import_log(text, 7, &again, NULL), 0);
    for (size_t i = 0; i < 600; i++) {
        assert_string_equal(trace->jobs[i].family, again->jobs[i].family);
        assert_true(i >= 300 || streq(trace->jobs[i].family, "a")); /* b needs 2 */
        of_b += streq(trace->jobs[i].family, "b");
    }
    assert_true(of_b > 70 && of_b < 130); /* a third of 300 */
    (void)trace_free(again);
    assert_int_equal(import_log(text, 8, &again, NULL), 0);
    of_b = 0;
    for (size_t i = 0; i < 600; i++)
        of_b += !streq(trace->jobs[i].family, again->jobs[i].family);
    assert_true(of_b > 50); /* another seed, other models */
    (void)trace_free(trace);
    (void)trace_free(again);
}

TEST(test_log_refuses)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "job_id,submission_time,duration\n", "log.csv line 1: no column is called \"num_gpu\"" },
        { "job_id,submission_time,duration,num_gpu\nx,1,2,0\n",
          "line 2, column \"num_gpu\": \"0\"" },
        { "job_id,submission_time,duration,num_gpu\nx,,2,1\n", "column \"submission_time\": \"\"" },
        { "job_id,submission_time,duration,num_gpu,model_name\nx,1,2,1,c\n",
          "line 2, column \"model_name\": \"c\" was not measured" },
    };
    struct edl_error error = { 0 };
    struct trace *trace = NULL;

    put_tables();
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        if (import_log(bad[i].text, 1, &trace, &error) != -EINVAL ||
            strstr(error.text, bad[i].says) == NULL || error.remedy[0] == '\0')
            fail_msg("%zu: \"%s\", \"%s\"", i, error.text, error.remedy);
    }
    put("t/b.csv", "global_batch_size,2,x\n32,4,8\n");
    assert_int_equal(import_log(bad[1].text, 1, &trace, &error), -EINVAL);
    assert_non_null(strstr(error.text, "b.csv line 1: \"x\" is no number of GPUs"));
    put("t/b.csv", "global_batch_size,2\n32,4\n64,5\n32,6\n");
    assert_int_equal(import_log(bad[1].text, 1, &trace, &error), -EINVAL);
    assert_non_null(strstr(error.text, "b.csv line 4, column \"global_batch_size\": \"32\" repeats "
                                       "line 2: the same global_batch_size"));
    put("t/b.csv", "batch,2\n32,4\n");
    assert_int_equal(import_log(bad[1].text, 1, &trace, &error), -EINVAL);
    assert_non_null(strstr(error.text, "its first column is \"batch\""));
}

/* ---- Pollux ---- */

#define VALIDATION "progress,iteration,metric,grad_sqr,grad_var\n"
#define TIMES "local_bsz,step_time,sync_time\n"

static void put_models(void)
{
    (void)mkdir(path_of("m"), 0700);
    (void)mkdir(path_of("m/x"), 0700);
    /* no noise at all: a batch four times as large makes the progress of one step */
    put("m/x/validation-8.csv", VALIDATION "100,100,0,1,0\n200,200,0,1,0\n");
    put("m/x/validation-32.csv", VALIDATION "100,100,0,1,0\n200,200,0,1,0\n");
    put("m/x/placements.csv",
        "placement," TIMES "1,4,1,0\n1,8,2,0.5\n1,16,4,0.5\n2,4,1,0.25\n2,8,1.5,0.25\n"
        "2,16,3,0.25\n11,4,2,1\n11,8,4,1\n11,16,8,1\n");
    put("m/x/scalability.csv", "num_nodes,num_replicas," TIMES "4,4,4,3,1\n4,8,8,5,1\n4,8,4,4,1\n");
}

static int import_workload(const char *text, struct trace **ret, struct edl_error *error)
{
    static char dir[200];
    struct import_options options = { .dir = dir };

    (void)snprintf(dir, sizeof(dir), "%s/m", folder);
    put("w.csv", text);
    return pollux_import(path_of("w.csv"), &options, ret, error);
}

TEST(test_pollux_physics)
{
    static const uint32_t apart[] = { 1, 1 }, two_and_one[] = { 2, 1 }, five[] = { 1, 1, 1, 1, 1 };
    struct edl_error error = { 0 };
    struct trace *trace = NULL;
    struct run_config config = cluster_of(2, 2);
    struct run_result result;
    struct profile *profile;

    put_models();
    assert_int_equal(import_workload("name,time,application,num_replicas,batch_size\n"
                                     "j,0,x,2,12\nk,0,x,1,32\n",
                                     &trace, NULL),
                     0);
    profile = trace->jobs[0].profile;
    /* 6 on each of two on one node: half way between 1 and 1.5 s */
    assert_near(profile_pace_of(profile, 2, 2, NULL)->step_s, 1.25);
    assert_near(profile_pace(profile, &(struct shape){ .counts = apart, .n_nodes = 2, .n = 2 },
                             NULL)
                    ->step_s,
                3);
    /* alone a batch above the 8 of the smallest run takes two passes, here of 6, and one exchange
     */
    assert_near(profile_pace_of(profile, 1, 2, NULL)->step_s, 1.5 + 1.25);
    assert_near(profile_pace_of(profile, 2, 2, NULL)->after_s[0], 250);
    assert_int_equal(trace->jobs[0].max, 3); /* with 4 each */
    /* 32 on one: two passes of 16, the most that was measured */
    assert_near(profile_pace_of(trace->jobs[1].profile, 1, 2, NULL)->step_s, 4 + 3.5);
    /* two and one was not measured: between the points; five nodes with one each are beyond them */
    assert_non_null(
        profile_pace(trace->jobs[1].profile, &(struct shape){ two_and_one, 2, 3, 0 }, NULL));
    assert_null(profile_pace(trace->jobs[1].profile, &(struct shape){ five, 5, 5, 0 }, &error));
    assert_non_null(
        strstr(error.text, "nothing was measured around 5 instances on 5 nodes (11111)"));
    config.round_s = 60;
    result = run_of(trace, policy_of("fifo"), &config);
    assert_near(result.jobs[0].done_s, 60 + 30 + 250);
    run_result_done(&result);
    (void)trace_free(trace);
}

/* A placement may be written from any of its nodes: 31 is 13, and not the mean of all with as many
 * nodes and instances. */
TEST(test_placements_are_turned)
{
    static const uint32_t one_and_three[] = { 1, 3 };
    struct trace *trace = NULL;

    put_models();
    put("m/x/placements.csv",
        "placement," TIMES "1,4,1,0\n1,8,2,0.5\n22,4,9,0\n22,8,9,0\n31,4,7,0\n31,8,9,0\n");
    assert_int_equal(import_workload("name,time,application,num_replicas,batch_size\nj,0,x,1,16\n",
                                     &trace, NULL),
                     0);
    assert_near(profile_pace(trace->jobs[0].profile,
                             &(struct shape){ .counts = one_and_three, .n_nodes = 2, .n = 4 }, NULL)
                    ->step_s,
                7); /* 4 on each of four */
    (void)trace_free(trace);
}

/* What a policy is shown of a job that finds out its speeds: [decision] */
static uint32_t shown_max[8];
static double shown_rate[8][2];
static size_t n_shown;

static void grow_as_shown(void *state, const struct view *view, struct plan *plan)
{
    (void)state;
    if (n_shown < ELEMENTS(shown_max)) {
        shown_max[n_shown] = view->jobs[0].max;
        shown_rate[n_shown][0] = view_rate(view, 0, 1);
        shown_rate[n_shown][1] = view_rate(view, 0, 2);
        n_shown++;
    }
    for (size_t i = 0; i < view->n; i++)
        plan->counts[i] = i == 0 ? MIN_OF(view->jobs[0].max, 2U) : 0;
}

/* The best amount changes with the epoch: a bound takes the best of each. */
TEST(test_bounds_are_of_each_phase)
{
    static char dir[200];
    struct import_options options = { .dir = dir, .adaptive = true };
    struct trace *trace = NULL;
    struct run_config config = cluster_of(2, 2);
    struct bounds bounds;
    struct profile *profile;
    double best_s = 0, one_s = INFINITY;

    put_models();
    /* without noise a larger batch is of no use, with much of it it is as good as it is large */
    put("m/x/validation-8.csv", VALIDATION "100,100,0,1,0\n200,200,0,1,100000\n");
    put("m/x/validation-32.csv", VALIDATION "100,100,0,1,0\n200,200,0,1,100000\n");
    put("w.csv", "name,time,application,num_replicas,batch_size\nj,0,x,1,32\n");
    (void)snprintf(dir, sizeof(dir), "%s/m", folder);
    assert_int_equal(pollux_import(path_of("w.csv"), &options, &trace, NULL), 0);
    profile = trace->jobs[0].profile;
    for (uint32_t p = 0; p < 2; p++) {
        double least_s = INFINITY;

        for (uint32_t n = 1; n <= 4; n++) {
            const struct pace *pace = profile_pace_of(profile, n, 2, NULL);

            if (pace == NULL)
                continue;
            least_s = fmin(least_s, 100 / pace->rate[p]);
            one_s = fmin(one_s, pace->after_s[0]);
        }
        best_s += least_s;
    }
    assert_true(best_s < 0.99 * one_s); /* it is not the same amount */
    assert_int_equal(bounds_of(trace, &config, &bounds, NULL), 0);
    assert_near(bounds.shortest_avg_s, best_s);
    (void)trace_free(trace);
}

TEST(test_speeds_are_learnt)
{
    static const struct trace_policy policy = { .name = "spy",
                                                .uses = USES_SPEEDS,
                                                .decide = grow_as_shown };
    struct trace *trace = NULL;
    struct run_config config = cluster_of(2, 2);
    struct run_result result;
    struct profile *profile;

    put_models();
    assert_int_equal(import_workload("name,time,application,num_replicas,batch_size\nj,0,x,2,16\n",
                                     &trace, NULL),
                     0);
    profile = trace->jobs[0].profile;
    config.round_s = 60;
    config.information.speeds = SPEEDS_LEARNT;
    n_shown = 0;
    result = run_of(trace, &policy, &config);
    /* before it ran nothing is known of it, and it can begin */
    assert_int_equal(shown_max[0], 1);
    assert_true(isnan(shown_rate[0][0]));
    /* then it may grow fourfold, here to the four that its batch allows */
    assert_int_equal(shown_max[1], 4);
    assert_near_within(shown_rate[1][0], profile_pace_of(profile, 1, 2, NULL)->rate[0],
                       0.1 * shown_rate[1][0], "rate of one", __LINE__);
    assert_true(shown_rate[1][1] > 1.5 * shown_rate[1][0]); /* hoped for: exchanges cost nothing */
    /* and knows better once it ran with two */
    assert_near_within(shown_rate[2][1], profile_pace_of(profile, 2, 2, NULL)->rate[0],
                       0.1 * shown_rate[2][1], "rate of two", __LINE__);
    run_result_done(&result);
    (void)trace_free(trace);
}

TEST(test_pollux_refuses)
{
    static const struct {
        const char *file, *text, *says;
    } bad[] = {
        { "w.csv", "name,time,application,num_replicas\n", "no column is called \"batch_size\"" },
        { "m/x/placements.csv", "placement," TIMES "102,4,1,0\n", "\"102\" is no placement" },
        { "m/x/placements.csv", "placement," TIMES "1,4,x,0\n", "placements.csv line 2, column" },
        { "m/x/placements.csv", "placement," TIMES,
          "m/x/placements.csv has no line below the names of its columns" },
        { "m/x/placements.csv", "", "m/x/placements.csv is empty" },
        { "m/x/validation-8.csv", VALIDATION,
          "m/x/validation-8.csv has no line below the names of its columns" },
        { "m/x/validation-8.csv", VALIDATION "1,1,0,1,0\n1,2,0,1,0\n", "no progress in epoch 2" },
        { "m/x/scalability.csv", "num_nodes\n", "column is called \"num_replicas\"" },
        { "m/x/placements.csv", "placement," TIMES "1,4,1,0\n1,8,1,0\n1,04,2,0\n",
          "placements.csv line 4, column \"local_bsz\": \"04\" repeats line 2: the same "
          "placement and local_bsz" },
        { "m/x/placements.csv", "placement," TIMES "12,4,1,0\n21,4,2,0\n", "repeats line 2" },
        { "m/x/placements.csv", "placement," TIMES "1,4,1,0\n1,8,1,1.5\n",
          "placements.csv line 3, column \"sync_time\": \"1.5\" is longer than step_time" },
        { "m/x/scalability.csv", "num_nodes,num_replicas," TIMES "4,4,4,3,1\n4,4,4,3,1\n",
          "scalability.csv line 3, column \"local_bsz\": \"4\" repeats line 2: the same num_nodes, "
          "num_replicas and local_bsz" },
        { "m/x/scalability.csv", "num_nodes,num_replicas," TIMES "4,4,4,3,3.1\n",
          "line 2, column \"sync_time\": \"3.1\" is longer than step_time" },
        { "m/x/scalability.csv", "num_nodes,num_replicas," TIMES "2,2,8,3,1\n",
          "line 2, column \"local_bsz\": \"8\" is in placements.csv" },
        { "m/x/validation-032.csv", VALIDATION "100,100,0,1,0\n200,200,0,1,0\n",
          "m/x has two validation files of batch 32" },
    };
    static const char workload[] = "name,time,application,num_replicas,batch_size\nj,0,x,2,12\n";
    struct edl_error error = { 0 };
    struct trace *trace = NULL;

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        int r;

        put_models();
        if (i > 0)
            put(bad[i].file, bad[i].text);
        r = import_workload(i > 0 ? workload : bad[i].text, &trace, &error);
        if (r != -EINVAL || strstr(error.text, bad[i].says) == NULL || error.remedy[0] == '\0')
            fail_msg("%zu: %d \"%s\", \"%s\"", i, r, error.text, error.remedy);
    }
    assert_int_equal(unlink(path_of("m/x/validation-032.csv")), 0);
    put_models();
    assert_int_equal(import_workload("name,time,application,num_replicas,batch_size\nj,0,x,2,99\n",
                                     &trace, &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, "w.csv line 2: x was not measured with batch 99"));
    assert_string_equal(error.remedy, "from 8 to 32: its validation files");
    assert_int_equal(import_workload("name,time,application,num_replicas,batch_size\nj,0,y,2,9\n",
                                     &trace, &error),
                     -ENOENT);
}

TEST_ALL(make_folder, remove_folder);
