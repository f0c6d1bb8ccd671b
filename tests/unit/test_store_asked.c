/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_asked.c - reads of a store that is far: a memo brings the same as a near store */
#include <systemd/sd-event.h>

#include "scheduler/core/model/archive.h"
#include "scheduler/core/model/job_match.h"
#include "scheduler/json/job_json.h"
#include "scheduler/store/far/far.h"
#include "scheduler/store/store_asked.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

#define ROUNDS_MAX 100

/* A far store of the fixture's database, and its reader. */
struct asker {
    sd_event *event;
    struct store *far;
    struct store_asked *memo;
    unsigned rounds;
    bool came, ended;
};

static void open_asker(const struct fixture *f, struct asker *ret)
{
    struct far_config config = { .delay_us = USEC_PER_MSEC };
    struct edl_error error = { 0 };

    *ret = (struct asker){ .memo = store_asked_new() };
    assert_true(sd_event_new(&ret->event) >= 0);
    if (open_store(f, &config.writer, &error) < 0 ||
        store_far_new(ret->event, &config, &ret->far, &error) < 0)
        fail_msg("%s", error.text);
    assert_true(store_is_far(ret->far));
    assert_false(store_is_far(f->store));
}

static void close_asker(struct asker *asker)
{
    (void)store_free(asker->far);
    (void)store_asked_free(asker->memo);
    (void)sd_event_unref(asker->event);
}

static void on_rows(struct store_asked *memo, void *userdata)
{
    struct asker *asker = userdata;

    asker->came = true;
    asker->ended = memo == NULL;
    asker->memo = memo != NULL ? memo : store_asked_new();
}

static void send(struct asker *asker)
{
    asker->came = false;
    asker->rounds++;
    store_ask_send(asker->far, asker->memo, on_rows, asker);
    while (!asker->came)
        assert_true(sd_event_run(asker->event, UINT64_MAX) >= 0);
}

typedef int (*work_fn)(struct store *store, void *data, struct edl_error *error);

/* Does the work again and again, as its callers do. It begins anew where the machine was too busy
 * for the limit of a round. */
static int ask(struct asker *asker, work_fn work, void *data, struct edl_error *error)
{
    int r = -ETIMEDOUT;

    for (;;) {
        if (r == -ETIMEDOUT) {
            asker->rounds = 0;
            store_asked_forget(asker->memo);
        }
        (void)store_ask_for(asker->far, asker->memo);
        r = work(asker->far, data, error);
        (void)store_ask_for(asker->far, NULL);
        if (r == -ETIMEDOUT)
            continue;
        if (r != -EINPROGRESS)
            return r;
        assert_true(store_asked_wants(asker->memo));
        assert_true(asker->rounds < ROUNDS_MAX);
        send(asker);
    }
}

TEST_EACH(set_up, tear_down);

/* --- events --- */

struct text {
    char all[4096];
};

static void add_event(const struct stored_event *event, void *userdata)
{
    struct text *text = userdata;
    size_t used = strlen(text->all);

    (void)snprintf(text->all + used, sizeof text->all - used, "%lu %lu %s %s|%s\n",
                   (unsigned long)event->revision, (unsigned long)event->time_us, event->event,
                   event->node, event->text);
}

static int read_events(struct store *store, void *data, struct edl_error *error)
{
    struct event_bounds bounds;
    struct text *text = data;
    int r = store_bounds_of_page(store, 0, 1, 3, &bounds, error);

    *text = (struct text){ "" };
    if (r == 0)
        r = store_events(store, 0, 1, 3, add_event, text, error);
    if (r == 0)
        (void)snprintf(text->all + strlen(text->all), 64, "%lu..%lu", (unsigned long)bounds.oldest,
                       (unsigned long)bounds.newest);
    return r;
}

TEST(test_a_memo_brings_what_a_near_store_tells_in_one_round)
{
    struct fixture *f = *state;
    struct text near = { "" }, far = { "" };
    struct edl_error error = { 0 };
    struct asker asker;

    (void)start_data(f, 3);
    commit(f);
    open_asker(f, &asker);
    assert_int_equal(read_events(f->store, &near, &error), 0);
    assert_int_equal(ask(&asker, read_events, &far, &error), 0);
    assert_string_equal(near.all, far.all);
    assert_non_null(strstr(near.all, "\n"));
    assert_int_equal(asker.rounds, 1); /* bounds and events, as they were at one moment */
    close_asker(&asker);
}

TEST(test_a_read_without_a_memo_is_an_error)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct event_bounds bounds;
    struct asker asker;

    open_asker(f, &asker);
    assert_int_equal(store_event_bounds(asker.far, &bounds, &error), -EIO);
    assert_non_null(strstr(error.text, "nobody waits"));
    (void)store_ask_for(asker.far, asker.memo);
    assert_int_equal(store_event_bounds(asker.far, &bounds, &error), -EINPROGRESS);
    assert_int_equal(error.code, -EINPROGRESS);
    (void)store_ask_for(asker.far, NULL);
    close_asker(&asker);
}

/* With other parameters it is another read. */
static int read_some(struct store *store, void *data, struct edl_error *error)
{
    return store_events(store, 0, *(uint64_t *)data, 2, add_event, &(struct text){ "" }, error);
}

TEST(test_parameters_tell_reads_apart)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct asker asker;
    uint64_t after = 0;

    (void)run_job(f->cluster);
    commit(f);
    open_asker(f, &asker);
    assert_int_equal(ask(&asker, read_some, &after, &error), 0);
    (void)store_ask_for(asker.far, asker.memo);
    assert_int_equal(read_some(asker.far, &after, &error), 0);
    after = 1;
    assert_int_equal(read_some(asker.far, &after, &error), -EINPROGRESS);
    (void)store_ask_for(asker.far, NULL);
    close_asker(&asker);
}

/* --- errors --- */

TEST(test_a_read_that_fails_says_why)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    char moved[128];
    struct text text;
    struct asker asker;

    only_sqlite(f);
    open_asker(f, &asker);
    (void)snprintf(moved, sizeof moved, "%s.moved", f->path);
    assert_int_equal(rename(f->path, moved), 0);
    assert_true(ask(&asker, read_events, &text, &error) < 0);
    assert_int_not_equal(error.code, -EINPROGRESS);
    assert_true(error.text[0] != '\0');
    assert_int_equal(asker.rounds, 1);
    assert_int_equal(rename(moved, f->path), 0);
    assert_int_equal(ask(&asker, read_events, &text, &error), 0); /* the next one connects anew */
    close_asker(&asker);
}

static bool count_tail(const struct log_tail *tail, void *userdata)
{
    *(size_t *)userdata += strlen(tail->text);
    return true;
}

static int read_tails(struct store *store, void *data, struct edl_error *error)
{
    *(size_t *)data = 0;
    return store_log_tails(store, 1, 0, count_tail, data, error);
}

static void put_tail(struct fixture *f, uint32_t index, size_t bytes)
{
    struct edl_error error = { 0 };
    struct log_tail tail = { .job_id = 1,
                             .role = "trainer",
                             .index = index,
                             .incarnation = 7,
                             .sequence = index + 1,
                             .text = xcalloc(bytes + 1, 1) };

    memset(tail.text, 'x', bytes);
    assert_int_equal(store_commit(f->store, &(struct turn_records){ .tails = &tail, .n_tails = 1 },
                                  &error),
                     0);
    free(tail.text);
}

TEST(test_more_than_a_memo_holds_is_refused)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct asker asker;
    size_t size = 0;

    (void)run_job(f->cluster);
    commit(f);
    put_tail(f, 0, STORE_ASKED_BYTES / 2);
    open_asker(f, &asker);
    assert_int_equal(ask(&asker, read_tails, &size, &error), 0);
    assert_int_equal(size, STORE_ASKED_BYTES / 2);
    put_tail(f, 1, STORE_ASKED_BYTES / 2);
    assert_int_equal(ask(&asker, read_tails, &size, &error), -E2BIG);
    assert_true(error.remedy[0] != '\0');
    close_asker(&asker);
}

TEST(test_logs_come_in_pieces)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct asker asker;
    size_t size = 0;

    (void)run_job(f->cluster);
    commit(f);
    for (uint32_t i = 0; i < 70; i++)
        put_tail(f, i, i);
    open_asker(f, &asker);
    assert_int_equal(ask(&asker, read_tails, &size, &error), 0);
    assert_int_equal(size, 70 * 69 / 2);
    assert_int_equal(asker.rounds, 3);
    close_asker(&asker);
}

/* --- the archive --- */

static void add_archived(struct fixture *f, unsigned n)
{
    struct edl_error error = { 0 };

    for (unsigned i = 0; i < n; i++) {
        struct job_spec *spec = parse_job(job_text);
        struct job *job;

        (void)snprintf(spec->name, sizeof spec->name, "job-%u", i);
        assert_int_equal(cluster_submit(f->cluster, spec, i % 3 == 0 ? "ann" : "ben", start, &job,
                                        &error),
                         0);
        assert_int_equal(cluster_kill_job(f->cluster, job, "", start, &error), 0);
    }
    commit(f);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(store_commit(f->store,
                                      &(struct turn_records){
                                          .effects = &(struct effect){ .kind = EFFECT_ARCHIVE_JOB,
                                                                       .id = i + 1 },
                                          .n_effects = 1 },
                                      &error),
                         0);
}

struct list {
    const char *user;
    bool newest;
    size_t rows;
    uint64_t ids[1000];
    size_t n;
    uint64_t skip_to; /* once that number was seen it goes on behind this one */
};

static int walk(struct store *store, void *data, struct edl_error *error)
{
    struct list *list = data;
    const struct job_match match = { .user = list->user, .states = UINT32_MAX };
    struct archive_walk walk = { .newest = list->newest,
                                 .at = list->newest ? UINT64_MAX : 0,
                                 .match = &match,
                                 .rows = list->rows };
    struct archive_row row;
    int r;

    list->n = 0;
    while ((r = store_walk_archived(store, &walk, &row, error)) == 1) {
        list->ids[list->n++] = row.id;
        if (list->skip_to != 0 && list->n == 2)
            walk.at = list->skip_to;
    }
    return r;
}

TEST(test_a_walk_goes_in_pieces)
{
    static const struct {
        const char *user;
        bool newest;
        size_t rows;
        uint64_t skip_to;
        unsigned rounds;
    } cases[] = {
        { NULL, false, 900, 0, 3 },   { NULL, true, 900, 0, 3 },      { "ann", false, 900, 0, 3 },
        { "ann", true, 900, 0, 3 },   { "nobody", false, 900, 0, 3 }, { "ben", false, 100, 0, 1 },
        { NULL, false, 260, 0, 2 },   { NULL, true, 250, 0, 1 },      { NULL, false, 900, 400, 2 },
        { "ann", true, 900, 100, 2 },
    };
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct asker asker;

    add_archived(f, 620);
    open_asker(f, &asker);
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct list near = { .user = cases[i].user,
                             .newest = cases[i].newest,
                             .rows = cases[i].rows,
                             .skip_to = cases[i].skip_to };
        struct list far = near;

        assert_int_equal(walk(f->store, &near, &error), 0);
        assert_int_equal(ask(&asker, walk, &far, &error), 0);
        assert_int_equal(near.n, far.n);
        assert_memory_equal(near.ids, far.ids, near.n * sizeof *near.ids);
        assert_int_equal(asker.rounds, cases[i].rounds);
    }
    close_asker(&asker);
}

static int load(struct store *store, void *data, struct edl_error *error)
{
    static const uint64_t ids[] = { 1, 2, 5, 7 };
    struct cluster *loaded = new_cluster();
    int r =
        store_load_archived(store, &(struct archive_query){ .ids = ids, .n_ids = ELEMENTS(ids) },
                            loaded, start, error);
    const struct job *job;

    *(char *)data = '\0';
    for (job = cluster_jobs(loaded); r == 0 && job != NULL; job = job->hh.next) {
        json_t *json = job_to_json(job, "any", true);
        _cleanup_free_ char *text = json_dumps(json, JSON_SORT_KEYS);

        (void)strncat(data, text, 30000 - strlen(data) - 1);
        json_decref(json);
    }
    (void)cluster_free(loaded);
    return r;
}

TEST(test_a_page_of_jobs_comes_in_one_round)
{
    static char near[30000], far[30000];
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct asker asker;

    add_archived(f, 6);
    open_asker(f, &asker);
    assert_int_equal(load(f->store, near, &error), 0);
    assert_int_equal(ask(&asker, load, far, &error), 0);
    assert_string_equal(near, far);
    assert_non_null(strstr(near, "job-4"));
    assert_int_equal(asker.rounds, 1);
    close_asker(&asker);
}

/* --- the end --- */

TEST(test_a_store_that_ends_takes_what_is_under_way_with_it)
{
    struct fixture *f = *state;
    struct edl_error error = { 0 };
    struct text text;
    struct asker asker;

    open_asker(f, &asker);
    (void)store_ask_for(asker.far, asker.memo);
    assert_int_equal(read_events(asker.far, &text, &error), -EINPROGRESS);
    store_ask_send(asker.far, asker.memo, on_rows, &asker);
    asker.far = store_free(asker.far);
    assert_true(asker.came);
    assert_true(asker.ended);
    assert_true(store_asked_is_empty(asker.memo));
    close_asker(&asker);
}
