/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c - the laboratory's parts by themselves: CSV, nodes, mesh, speeds, figures, bounds */
#include "shared/random.h"
#include "simulator/trace/csv.h"
#include "simulator/trace/job_time.h"
#include "simulator/trace/mesh.h"
#include "simulator/trace/pool.h"
#include "tests/unit/test.h"
#include "tests/unit/trace_world.h"

/* ---- CSV ---- */

static int parse(const char *text, struct csv **ret, struct edl_error *error)
{
    return csv_parse("a.csv", xstrdup(text), strlen(text), ret, error);
}

TEST(test_csv)
{
    struct csv *csv = NULL;
    double number;
    uint64_t count;

    assert_int_equal(parse("\xef\xbb\xbf"
                           "a,b\r\n1,\"x,\"\"y\"\"\nz\"\n\n2.5,\n\"7\",end",
                           &csv, NULL),
                     0);
    assert_int_equal(csv->n_rows, 3);
    assert_string_equal(csv_cell(csv, 0, 1), "x,\"y\"\nz");
    assert_string_equal(csv_cell(csv, 1, 1), "");
    assert_string_equal(csv_cell(csv, 2, 1), "end");
    assert_int_equal(csv->lines[1], 5);
    assert_int_equal(csv->lines[2], 6);
    assert_int_equal(csv_number(csv, 1, 0, 0, 10, &number, NULL), 0);
    assert_near(number, 2.5);
    assert_int_equal(csv_count(csv, 2, 0, 7, 7, &count, NULL), 0);
    assert_int_equal(csv_find(csv, "b"), 1);
    assert_int_equal(csv_find(csv, "c"), CSV_NO_COLUMN);
    (void)csv_free(csv);
}

TEST(test_csv_refuses)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "", "a.csv is empty" },
        { "\n\n", "a.csv is empty" },
        { "a,b\n1\n", "a.csv line 2: 1 cells, but 2 columns" },
        { "a,b\n1,2\n1,2,3\n", "a.csv line 3: 3 cells" },
        { "a\n\"x\ny\n", "a.csv line 2: a quote is not closed" },
        { "a\n\"x\"y\n", "a.csv line 2: a quote is not closed" },
        { "a,b,a\n1,2,3\n", "a.csv line 1: columns 1 and 3 are both called \"a\"" },
        { "\na,b,\"b\"\n", "a.csv line 2: columns 2 and 3 are both called \"b\"" },
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };
        struct csv *csv = NULL;

        assert_int_equal(parse(bad[i].text, &csv, &error), -EINVAL);
        if (strstr(error.text, bad[i].says) == NULL || error.remedy[0] == '\0')
            fail_msg("%zu: \"%s\", \"%s\"", i, error.text, error.remedy);
    }
}

TEST(test_csv_cells_are_refused)
{
    struct edl_error error = { 0 };
    struct csv *csv = NULL;
    double number = 1;
    uint64_t count = 1;
    size_t column;

    assert_int_equal(parse("n\n1e3\nx\n-1\nnan\n99999999999999999999\n", &csv, NULL), 0);
    assert_int_equal(csv_number(csv, 1, 0, 0, 9, &number, &error), -EINVAL);
    assert_string_equal(error.text, "a.csv line 3, column \"n\": \"x\" is no number");
    assert_string_equal(error.remedy, "a number from 0 to 9");
    assert_int_equal(csv_number(csv, 2, 0, 0, 9, &number, &error), -EINVAL);
    assert_string_equal(error.text, "a.csv line 4, column \"n\": \"-1\" is out of range");
    assert_int_equal(csv_number(csv, 3, 0, 0, 9, &number, &error), -EINVAL);
    assert_int_equal(csv_count(csv, 0, 0, 0, 9, &count, &error), -EINVAL);
    assert_int_equal(csv_count(csv, 4, 0, 0, 9, &count, &error), -EINVAL);
    assert_int_equal(csv_column(csv, "m", &column, &error), -EINVAL);
    assert_string_equal(error.text, "a.csv line 1: no column is called \"m\"");
    assert_near(number, 1);
    assert_int_equal(count, 1);
    (void)csv_free(csv);
}

TEST(test_csv_rows_are_not_repeated)
{
    struct csv_key keys[] = { { { 1, 8 }, 0 }, { { 2, 8 }, 1 }, { { 2, 8 }, 2 }, { { 1, 8 }, 3 } };
    struct edl_error error = { 0 };
    struct csv *csv = NULL;

    assert_int_equal(parse("a,b\n1,8\n2,8\n02,8\n1,8\n", &csv, NULL), 0);
    assert_int_equal(csv_refuse_repeated(csv, keys, 0, "a and b", "one of them", &error), -EINVAL);
    assert_string_equal(error.text,
                        "a.csv line 4, column \"a\": \"02\" repeats line 3: the same a and b");
    assert_string_equal(error.remedy, "one of them");
    for (size_t i = 0; i < ELEMENTS(keys); i++)
        keys[i].values[2] = i;
    assert_int_equal(csv_refuse_repeated(csv, keys, 0, "a and b", "one of them", &error), 0);
    (void)csv_free(csv);
}

/* ---- nodes ---- */

TEST(test_pool)
{
    struct pool pool;
    struct shares a = { 0 }, b = { 0 }, c = { 0 };

    pool_init(&pool, 3, 4);
    pool_most_free(&pool, 6, &a); /* 4 on node 0, 2 on node 1 */
    assert_int_equal(a.n_items, 2);
    assert_int_equal(a.items[0].node, 0);
    assert_int_equal(a.items[1].node, 1);
    assert_int_equal(a.items[1].n, 2);
    assert_true(pool_whole(&pool, 1, &b)); /* where it fits best, not where most is free */
    assert_int_equal(b.items[0].node, 1);
    assert_false(pool_whole(&pool, 5, &c) && c.n_items > 2);
    pool_release(&pool, &c);
    assert_false(pool_whole(&pool, 8, &c)); /* 5 are free */
    assert_int_equal(c.n, 0);
    assert_int_equal(pool.n_free, 5);
    assert_false(pool_take(&pool, &(struct share){ .node = 1, .n = 2 }, 1, &c));
    assert_true(pool_take(&pool, &(struct share){ .node = 1, .n = 1 }, 1, &c));
    pool_release(&pool, &a);
    pool_release(&pool, &b);
    pool_release(&pool, &c);
    assert_int_equal(pool.n_free, pool_capacity(&pool));
    for (uint32_t i = 0; i < 4; i++)
        pool_most_free(&pool, 1, &a); /* nodes 0, 1, 2, and the first of equals */
    assert_int_equal(a.items[2].node, 2);
    assert_int_equal(a.items[3].node, 0);
    pool_release(&pool, &a);
    shares_done(&a);
    shares_done(&b);
    shares_done(&c);
    pool_done(&pool);
}

/* Against a plain array of flags. */
TEST(test_bitset)
{
    static const uint32_t sizes[] = { 1, 63, 64, 65, 4096, 4097, 300000 };
    uint64_t random = 5;

    for (size_t s = 0; s < ELEMENTS(sizes); s++) {
        uint32_t n = sizes[s];
        bool *flags = xcalloc(n, sizeof(*flags));
        struct bitset set;

        bitset_init(&set, n);
        assert_int_equal(bitset_last(&set), n);
        for (int i = 0; i < 400; i++) {
            uint32_t number = (uint32_t)random_below(&random, n);
            uint32_t from = (uint32_t)random_below(&random, n), next = from, last = n;

            flags[number] = random_below(&random, 2) == 0;
            if (flags[number])
                bitset_add(&set, number);
            else
                bitset_remove(&set, number);
            while (next < n && !flags[next])
                next++;
            while (last > 0 && !flags[last - 1])
                last--;
            assert_int_equal(bitset_next(&set, from), next);
            assert_int_equal(bitset_last(&set), last > 0 ? last - 1 : n);
        }
        bitset_done(&set);
        free(flags);
    }
}

/* ---- mesh ---- */

TEST(test_mesh_is_linear)
{
    double points[64][3], values[64][2], at[3] = { 0.5, 2.25, 1.7 }, ret[2];
    struct mesh *mesh = NULL;

    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 3; k++)
            points[i][k] = i >> (2 * k) & 3;
        values[i][0] = 2 * points[i][0] - points[i][1] + 3 * points[i][2] + 1;
        values[i][1] = points[i][2];
    }
    assert_int_equal(mesh_new("grid", (const double(*)[3])points, (const double(*)[2])values, 64,
                              &mesh, NULL),
                     0);
    assert_int_equal(mesh_at(mesh, at, ret), 0);
    assert_near(ret[0], 2 * 0.5 - 2.25 + 3 * 1.7 + 1);
    assert_near(ret[1], 1.7);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(mesh_at(mesh, points[i], ret), 0);
        assert_near(ret[0], values[i][0]);
    }
    at[0] = 3.01;
    assert_int_equal(mesh_at(mesh, at, ret), -ERANGE);
    (void)mesh_free(mesh);
}

TEST(test_mesh_refuses_a_plane)
{
    double points[9][3], values[9][2] = { 0 };
    struct edl_error error = { 0 };
    struct mesh *mesh = NULL;

    for (int i = 0; i < 9; i++) {
        points[i][0] = i / 3;
        points[i][1] = i % 3;
        points[i][2] = 1;
    }
    assert_int_equal(mesh_new("flat", (const double(*)[3])points, (const double(*)[2])values, 9,
                              &mesh, &error),
                     -EINVAL);
    assert_non_null(strstr(error.text, "flat: its points cannot be triangulated"));
    assert_int_equal(mesh_new("few", (const double(*)[3])points, (const double(*)[2])values, 4,
                              &mesh, &error),
                     -EINVAL);
}

/* ---- speeds ---- */

static double rate_of(const char *text, uint32_t n)
{
    struct edl_error error = { 0 };
    struct profile *profile = NULL;
    const struct pace *pace;
    double rate;

    if (profile_parse(text, "m", &profile, &error) < 0)
        fail_msg("%s; %s", error.text, error.remedy);
    pace = profile_pace_of(profile, n, 4, &error);
    assert_ptr_equal(pace, profile_pace_of(profile, n, 4, &error));
    rate = pace != NULL ? pace->rate[0] : NAN;
    (void)profile_unref(profile);
    return rate;
}

TEST(test_laws)
{
    assert_near(rate_of("power:0.5", 16), 4);
    assert_near(rate_of("amdahl:0.5", 2), 4.0 / 3);
    assert_near(rate_of("amdahl:0", 7), 7);
    assert_near(rate_of("table:1=2;4=6", 3), 2);
    assert_near(rate_of("table:1=2;4=6", 4), 6);
    assert_true(isnan(rate_of("table:2=2;4=6", 1)));
    /* w = p = 1: .0039 * 32 + .418 + .421 + .0074 */
    assert_near(rate_of("pserver:resnet-50", 2), 1 / .9712);
    /* three: p = 2, w = 1 takes .7607 s, p = 1, w = 2 takes 1.3372 s */
    assert_near(rate_of("pserver:resnet-50", 3), 1 / (.1248 + .418 + .421 / 2 + .0074));
}

TEST(test_pserver_split)
{
    struct profile *profile = profile_pserver_new(pserver_model_find("dssm"));
    uint32_t n = 6;
    struct shape shape = { .counts = &n, .n_nodes = 1, .n = n };
    const struct pace *best = profile_pace(profile, &shape, NULL);

    assert_int_equal(best->pservers, 1); /* it does not gain by servers */
    shape.pservers = 3;
    assert_near(profile_pace(profile, &shape, NULL)->step_s,
                .0016 * 256 / 3 + .118 + .0073 * 3 + .0002 * 3);
    assert_true(profile_pace(profile, &shape, NULL)->step_s > best->step_s);
    shape.pservers = 6;
    assert_null(profile_pace(profile, &shape, NULL));
    (void)profile_unref(profile);
}

/* The quick search for the best split, against all splits. */
TEST(test_pserver_split_is_the_best_of_all)
{
    static const uint32_t amounts[] = { 2, 3, 4, 5, 7, 8, 13, 24, 64, 255, 256, 1000, 20000 };

    for (size_t m = 0; pserver_models[m].name != NULL; m++) {
        struct profile *profile = profile_pserver_new(&pserver_models[m]);

        for (size_t i = 0; i < ELEMENTS(amounts); i++) {
            struct glance best, other = { .step_s = INFINITY };
            double least_s = INFINITY;

            assert_int_equal(profile_glance(profile, amounts[i], 0, 4, 0, &best), 0);
            for (uint32_t p = 1; p < amounts[i]; p++) {
                assert_int_equal(profile_glance(profile, amounts[i], p, 4, 0, &other), 0);
                least_s = fmin(least_s, other.step_s);
            }
            assert_true(best.step_s == least_s); /* to the last bit */
            assert_true(best.rate == profile_pace_of(profile, amounts[i], 4, NULL)->rate[0]);
        }
        assert_int_equal(profile_glance(profile, 1, 0, 4, 0, &(struct glance){ 0 }), -ERANGE);
        (void)profile_unref(profile);
    }
}

static unsigned worked_out;

static int counted_pace(struct profile *profile, const struct shape *shape, struct pace *ret,
                        struct edl_error *error)
{
    (void)profile;
    (void)error;
    worked_out++;
    ret->rate[0] = shape->n;
    return 0;
}

static void free_counted(struct profile *profile)
{
    free(profile);
}

/* Looking at all amounts of a large cluster must not cost memory; the small ones are asked for all
 * the time. */
TEST(test_large_amounts_of_laws_are_not_remembered)
{
    static const struct profile_ops ops = {
        .name = "counted", .pace = counted_pace, .free = free_counted, .law = true
    };
    struct profile *profile = xcalloc(1, sizeof(*profile));
    struct glance glance;

    profile_init(profile, &ops, "counted");
    worked_out = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(profile_glance(profile, 5, 0, 1, 0, &glance), 0);
        assert_near(glance.rate, 5);
    }
    assert_int_equal(worked_out, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(profile_glance(profile, 20000, 0, 1, 0, &glance), 0);
        assert_near(glance.rate, 20000);
    }
    assert_int_equal(worked_out, 4);
    assert_true(profile->by_count_cap < 1000);
    assert_ptr_equal(profile_pace_of(profile, 20000, 1, NULL), /* one who holds it keeps it */
                     profile_pace_of(profile, 20000, 1, NULL));
    assert_int_equal(worked_out, 5);
    (void)profile_unref(profile);
}

TEST(test_speeds_are_refused)
{
    static const char *const bad[] = {
        "",          "power",     "power:",        "power:0",    "power:1.1",
        "power:x",   "amdahl:-1", "amdahl:2",      "table:",     "table:1",
        "table:1=",  "table:1=0", "table:2=1;1=2", "table:1=1;", "table:1=1;1=2",
        "pserver:x", "linear:1",  "power:nan",
    };

    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        struct edl_error error = { 0 };
        struct profile *profile = NULL;

        if (profile_parse(bad[i], "m", &profile, &error) != -EINVAL)
            fail_msg("taken: %s", bad[i]);
        if (strstr(error.text, bad[i]) == NULL || error.remedy[0] == '\0')
            fail_msg("%s: \"%s\", \"%s\"", bad[i], error.text, error.remedy);
    }
}

TEST(test_speeds_as_text)
{
    static const char *const texts[] = { "power:0.5", "amdahl:0.125", "table:1=2.5;4=8",
                                         "pserver:wlm" };

    for (size_t i = 0; i < ELEMENTS(texts); i++) {
        struct profile *profile = NULL;
        char *text;

        assert_int_equal(profile_parse(texts[i], "m", &profile, NULL), 0);
        text = profile_text(profile);
        assert_string_equal(text, texts[i]);
        free(text);
        (void)profile_unref(profile);
    }
}

/* A profile to which the order of nodes matters: digits of the counts as a number. */
static int digits_pace(struct profile *profile, const struct shape *shape, struct pace *ret,
                       struct edl_error *error)
{
    (void)profile;
    (void)error;
    ret->rate[0] = 0;
    for (uint32_t i = 0; i < shape->n_nodes; i++)
        ret->rate[0] = 10 * ret->rate[0] + shape->counts[i];
    return 0;
}

static void free_digits(struct profile *profile)
{
    free(profile);
}

TEST(test_shapes_are_turned)
{
    static const struct profile_ops ops = { .name = "digits",
                                            .pace = digits_pace,
                                            .free = free_digits };
    static const struct {
        uint32_t counts[4], n_nodes;
        double digits;
    } cases[] = {
        { { 4 }, 1, 4 },         { { 4, 2 }, 2, 24 },         { { 2, 4 }, 2, 24 },
        { { 4, 1, 3 }, 3, 134 }, { { 3, 4, 1, 4 }, 4, 1434 }, { { 2, 1, 2, 1 }, 4, 1212 },
    };
    struct profile *profile = xcalloc(1, sizeof(*profile));

    profile_init(profile, &ops, "digits");
    profile->needs_shape = true;
    for (size_t i = 0; i < ELEMENTS(cases); i++)
        assert_near(profile_pace(profile,
                                 &(struct shape){ .counts = cases[i].counts,
                                                  .n_nodes = cases[i].n_nodes,
                                                  .n = 1 },
                                 NULL)
                        ->rate[0],
                    cases[i].digits);
    assert_near(profile_pace_of(profile, 10, 4, NULL)->rate[0], 244); /* 4, 4 and 2 */
    assert_near(profile_pace_of(profile, 10, 8, NULL)->rate[0], 28);
    (void)profile_unref(profile);
}

/* Of laws that rise two amounts are looked at: the same as of all. */
TEST(test_the_best_amount_is_that_of_all)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,min,max,instances\n"
                                   "0,power:0.7,80,2,5,2\n0,amdahl:0.1,7,1,300,1\n"
                                   "0,pserver:vgg-16,9,2,300,2\n0,table:1=2;4=6;9=5,9,1,9,1\n");

    for (size_t i = 0; i < trace->n; i++)
        for (uint32_t most = 1; most <= 300; most += 7) {
            const struct trace_job *job = &trace->jobs[i];
            uint32_t top = job_most(job, MAX_OF(most, job_least(job)));
            struct job_best best = job_best(job, 0, top, 4);
            double time_s = INFINITY, size_s = INFINITY;

            for (uint32_t n = job_least(job); n <= top; n++) {
                double seconds =
                    job->work_steps / profile_pace_of(job->profile, n, 4, NULL)->rate[0];

                time_s = fmin(time_s, seconds);
                size_s = fmin(size_s, seconds * n);
            }
            assert_true(best.time_s == time_s);
            assert_true(best.size_s == size_s);
        }
    (void)trace_free(trace);
}

/* ---- figures ---- */

TEST(test_quantile)
{
    static const double values[] = { 1, 2, 4, 8 };

    assert_near(quantile(values, 4, 0), 1);
    assert_near(quantile(values, 4, 1), 8);
    assert_near(quantile(values, 4, 0.5), 3);
    assert_near(quantile(values, 1, 0.9), 1);
    assert_true(isnan(quantile(values, 0, 0.5)));
}

TEST(test_paired)
{
    static const double a[] = { 9, 18, 33, 36 }, b[] = { 10, 20, 30, 40 };
    struct paired first, second;

    paired_of(a, b, 4, 7, &first);
    paired_of(a, b, 4, 7, &second);
    assert_near(first.mean, -1);
    assert_near(first.relative, -0.04);
    assert_int_equal(first.n, 4);
    assert_int_equal(first.lost, 1);
    assert_true(first.low < first.mean && first.mean < first.high);
    assert_true(first.low >= -4 && first.high <= 3);
    assert_true(first.low == second.low && first.high == second.high);
    paired_of(a, a, 4, 7, &first);
    assert_true(first.low == 0 && first.high == 0 && first.lost == 0);
}

TEST(test_bounds)
{
    struct trace *trace = trace_of("submit_s,speed,work_steps,max\n"
                                   "0,power:1,80,4\n"
                                   "10,power:1,8,2\n"
                                   "10,amdahl:1,5,4\n");
    struct run_config config = cluster_of(2, 2);
    struct bounds bounds;

    assert_int_equal(bounds_of(trace, &config, &bounds, NULL), 0);
    assert_near(bounds.shortest_avg_s, (20 + 4 + 5) / 3.0);
    /* sizes 20, 2 and 1.25 s: the first one is interrupted at 10 */
    assert_near(bounds.srpt_avg_s, (23.25 + 3.25 + 1.25) / 3);
    assert_near(bounds.makespan_s, 23.25);
    (void)trace_free(trace);
}
