/* SPDX-License-Identifier: Apache-2.0 */
/* test_workspace_cache.c - archives on a node: fetched once, kept when they are whole, within a
 * bound */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/workspace/workspace_cache.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEADLINE_US (120 * USEC_PER_SEC)
#define CALLS_MAX 8

/* A call that the cache made, to be answered by the test. */
struct made {
    char path[128], header[64];
    FILE *save;
    http_answer_fn on_answer;
    void *userdata;
};

struct fixture {
    char root[64], dir[96];
    sd_event *event;
    struct workspace_cache *cache;
    struct made calls[CALLS_MAX];
    unsigned n_calls;
    unsigned n_ready;
    struct edl_error why; /* of the last; code 0: none */
};

static int fake_call(const struct http_call *call, http_answer_fn on_answer, void *call_userdata,
                     struct http_async_call **ret_call, struct edl_error *error, void *userdata)
{
    struct fixture *f = userdata;
    struct made *made = &f->calls[f->n_calls];

    (void)error;
    assert_true(f->n_calls < CALLS_MAX);
    assert_true(call->stall_timeout_us > 0);
    *made = (struct made){ .save = call->save, .on_answer = on_answer, .userdata = call_userdata };
    (void)snprintf(made->path, sizeof made->path, "%s", call->path);
    (void)snprintf(made->header, sizeof made->header, "%s", call->headers[0]);
    *ret_call = NULL; /* none that could be cancelled */
    f->n_calls++;
    return 0;
}

static void open_cache(struct fixture *f, uint64_t max_bytes)
{
    f->cache = workspace_cache_new(&(struct workspace_cache_config){ .event = f->event,
                                                                     .dir = f->dir,
                                                                     .max_bytes = max_bytes,
                                                                     .call = fake_call,
                                                                     .userdata = f,
                                                                     .retry_us = 1000 });
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-cache-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    (void)snprintf(f->dir, sizeof f->dir, "%s/archives", f->root);
    assert_true(sd_event_new(&f->event) >= 0);
    open_cache(f, 10);
    *state = f;
    return 0;
}

static size_t count_files(const struct fixture *f, bool remove)
{
    _cleanup_closedir_ DIR *folder = opendir(f->dir);
    const struct dirent *entry;
    size_t n = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        if (remove)
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
        n++;
    }
    return n;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    (void)workspace_cache_free(f->cache);
    (void)sd_event_unref(f->event);
    (void)count_files(f, true);
    (void)rmdir(f->dir);
    assert_int_equal(rmdir(f->root), 0);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static void run_until(struct fixture *f, const unsigned *n, unsigned wanted)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (*n < wanted) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(f->event, 100 * USEC_PER_MSEC) >= 0);
    }
}

static void on_ready(const struct edl_error *why, void *userdata)
{
    struct fixture *f = userdata;

    f->why = why != NULL ? *why : (struct edl_error){ 0 };
    f->n_ready++;
}

static void hash_of(const char *text, char ret[WORKSPACE_HEX + 1])
{
    struct content_hash *hash = NULL;

    assert_int_equal(content_hash_new(&hash, NULL), 0);
    content_hash_add(hash, text, strlen(text));
    content_hash_end(hash, ret);
    (void)content_hash_free(hash);
}

static struct workspace_wait *wait_for(struct fixture *f, const char *text, uint32_t index)
{
    const struct process_id id = {
        .job_id = 7, .role = "trainer", .index = index, .incarnation = 1
    };
    char hex[WORKSPACE_HEX + 1];

    hash_of(text, hex);
    assert_false(workspace_cache_has(f->cache, hex));
    return workspace_cache_wait(f->cache, hex, &id, on_ready, f);
}

static bool has(struct fixture *f, const char *text)
{
    char hex[WORKSPACE_HEX + 1];

    hash_of(text, hex);
    return workspace_cache_has(f->cache, hex);
}

/* answer - to the last call; text: the body of a success, in two pieces */
static void answer(struct fixture *f, unsigned status, const char *text)
{
    struct made *made = &f->calls[f->n_calls - 1];
    struct http_answer answer = { .status = status };
    size_t size = strlen(text), wrote = 0;

    if (status == 200)
        wrote = fwrite(text, 1, size / 2, made->save) +
                fwrite(text + size / 2, 1, size - size / 2, made->save);
    if (status == 200 && wrote != size)
        answer = (struct http_answer){ .failure = EDL_EUNREACHABLE, .text = "write error" };
    made->on_answer(&answer, made->userdata);
}

static void fetch(struct fixture *f, const char *text)
{
    unsigned n_calls = f->n_calls;

    (void)wait_for(f, text, 0);
    run_until(f, &f->n_calls, n_calls + 1);
    answer(f, 200, text);
}

TEST(one_fetch_for_all_who_wait)
{
    struct fixture *f = *state;

    (void)wait_for(f, "abc", 0);
    (void)wait_for(f, "abc", 1);
    run_until(f, &f->n_calls, 1);
    (void)wait_for(f, "abc", 2);
    assert_int_equal(strncmp(f->calls[0].path, "/workspaces/ba7816bf", 20), 0);
    assert_string_equal(f->calls[0].header, "X-EDL-Process: 7.trainer.0.1");
    answer(f, 200, "abc");
    assert_int_equal(f->n_ready, 3);
    assert_int_equal(f->why.code, 0);
    assert_int_equal(f->n_calls, 1);
    assert_true(has(f, "abc"));
    assert_int_equal(count_files(f, false), 1);
}

TEST(nothing_that_is_not_it_gets_its_name)
{
    struct fixture *f = *state;

    (void)wait_for(f, "abc", 0);
    run_until(f, &f->n_calls, 1);
    answer(f, 200, "abd"); /* it may have been damaged on the way: once more */
    assert_int_equal(f->n_ready, 0);
    assert_false(has(f, "abc"));
    run_until(f, &f->n_calls, 2);
    answer(f, 503, "");
    run_until(f, &f->n_calls, 3);
    answer(f, 200, "abc");
    assert_int_equal(f->n_ready, 1);
    assert_int_equal(f->why.code, 0);
    assert_true(has(f, "abc"));
}

TEST(it_is_not_tried_for_ever)
{
    struct fixture *f = *state;

    (void)wait_for(f, "abc", 0);
    for (unsigned n = 1; n <= 6; n++) {
        run_until(f, &f->n_calls, n);
        answer(f, 200, "abd");
    }
    assert_int_equal(f->n_ready, 1);
    assert_int_equal(f->why.code, EDL_ECORRUPT);
    assert_non_null(
        strstr(f->why.text, "workspace sha256:ba7816bf8f01...: the archive that came has"));
    assert_int_equal(count_files(f, false), 0);
}

TEST(what_is_refused_is_told_at_once)
{
    struct fixture *f = *state;

    (void)wait_for(f, "abc", 0);
    run_until(f, &f->n_calls, 1);
    answer(f, 404, "");
    assert_int_equal(f->n_ready, 1);
    assert_int_not_equal(f->why.code, 0);
    (void)wait_for(f, "12345678901", 0);
    run_until(f, &f->n_calls, 2);
    answer(f, 200, "12345678901");
    assert_int_equal(f->n_ready, 2);
    assert_int_equal(f->why.code, -E2BIG);
    assert_non_null(strstr(f->why.text, "larger than the 10 bytes"));
    assert_int_equal(count_files(f, false), 0);
}

/* The first may not have it, and the second goes while it asks: that says nothing of the third. */
TEST(one_refusal_keeps_nobody_else_from_it)
{
    struct fixture *f = *state;
    struct workspace_wait *second;

    (void)wait_for(f, "abc", 0);
    second = wait_for(f, "abc", 1);
    (void)wait_for(f, "abc", 2);
    run_until(f, &f->n_calls, 1);
    answer(f, 403, "");
    assert_int_equal(f->n_ready, 1);
    assert_int_equal(f->why.code, -EACCES);
    assert_non_null(strstr(f->why.text, "workspace sha256:ba7816bf8f01...: "));
    run_until(f, &f->n_calls, 2);
    assert_string_equal(f->calls[1].header, "X-EDL-Process: 7.trainer.1.1");
    (void)workspace_wait_cancel(second);
    answer(f, 403, "");
    assert_int_equal(f->n_ready, 1); /* nobody else was refused */
    run_until(f, &f->n_calls, 3);
    assert_string_equal(f->calls[2].header, "X-EDL-Process: 7.trainer.2.1");
    answer(f, 200, "abc");
    assert_int_equal(f->n_ready, 2);
    assert_int_equal(f->why.code, 0);
    assert_true(has(f, "abc"));
}

/* try_all - until it is given up */
static enum start_fault try_all(struct fixture *f, const struct http_answer *says)
{
    unsigned n_ready = f->n_ready;

    f->n_calls = 0;
    (void)wait_for(f, "abc", 0);
    for (unsigned n = 1; f->n_ready == n_ready; n++) {
        run_until(f, &f->n_calls, n);
        f->calls[n - 1].on_answer(says, f->calls[n - 1].userdata);
    }
    return workspace_cache_fault(f->why.code);
}

/* What the scheduler did is no fault of the node; what breaks on the way to it is. */
TEST(whose_fault_it_is)
{
    static const struct {
        unsigned status;
        int failure;
        enum start_fault fault;
        unsigned calls;
    } cases[] = {
        { 403, 0, START_FAULT_JOB, 1 },         { 404, 0, START_FAULT_JOB, 1 },
        { 422, 0, START_FAULT_JOB, 1 },         { 400, 0, START_FAULT_PLACE, 6 },
        { 401, 0, START_FAULT_PLACE, 6 },       { 409, 0, START_FAULT_PLACE, 6 },
        { 413, 0, START_FAULT_PLACE, 6 },       { 429, 0, START_FAULT_PLACE, 6 },
        { 500, 0, START_FAULT_PLACE, 6 },       { 502, 0, START_FAULT_PLACE, 6 },
        { 503, 0, START_FAULT_PLACE, 6 },       { 504, 0, START_FAULT_PLACE, 6 },
        { 507, 0, START_FAULT_PLACE, 6 },       { 0, EDL_EUNREACHABLE, START_FAULT_PLACE, 6 },
        { 0, -ETIMEDOUT, START_FAULT_NODE, 6 }, { 0, -ENOTCONN, START_FAULT_NODE, 6 },
        { 200, 0, START_FAULT_NODE, 6 }, /* nothing came, which is not it */
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const struct http_answer says = { .status = cases[i].status, .failure = cases[i].failure };

        assert_int_equal(try_all(f, &says), cases[i].fault);
        assert_int_equal(f->n_calls, cases[i].calls);
    }
    assert_int_equal(workspace_cache_fault(-E2BIG), START_FAULT_DISK);
    assert_int_equal(workspace_cache_fault(-ENOSPC), START_FAULT_DISK);
    assert_int_equal(workspace_cache_fault(-EIO), START_FAULT_NODE);
}

/* Its own files do not say what the scheduler has. */
TEST(a_folder_that_went_is_the_nodes)
{
    struct fixture *f = *state;

    (void)wait_for(f, "abc", 0);
    run_until(f, &f->n_calls, 1);
    (void)count_files(f, true);
    answer(f, 200, "abc");
    assert_int_equal(f->n_ready, 1);
    assert_non_null(strstr(f->why.text, "cannot keep"));
    assert_int_equal(workspace_cache_fault(f->why.code), START_FAULT_NODE);
}

/* await_tick - files that change now are of the same time, as many kernels tell it */
static void await_tick(void)
{
    uint64_t now_us = clock_read_us(CLOCK_REALTIME_COARSE);

    while (clock_read_us(CLOCK_REALTIME_COARSE) == now_us)
        (void)sched_yield();
}

TEST(what_was_used_longest_ago_goes_first)
{
    struct fixture *f = *state;

    fetch(f, "aaaa");
    fetch(f, "bbbb");
    await_tick();
    assert_true(has(f, "aaaa")); /* which is a use */
    fetch(f, "cccc");
    assert_int_equal(count_files(f, false), 2);
    assert_false(has(f, "bbbb"));
    assert_true(has(f, "aaaa"));
    fetch(f, "dddddddddd"); /* all of the room */
    assert_int_equal(count_files(f, false), 1);
    assert_true(has(f, "dddddddddd"));
}

TEST(a_fetch_ends_with_the_last_who_waits)
{
    struct fixture *f = *state;
    struct workspace_wait *first = wait_for(f, "abc", 0), *second = wait_for(f, "abc", 1);

    (void)workspace_wait_cancel(first);
    run_until(f, &f->n_calls, 1);
    assert_string_equal(f->calls[0].header, "X-EDL-Process: 7.trainer.1.1");
    assert_int_equal(count_files(f, false), 1);
    (void)workspace_wait_cancel(second);
    assert_int_equal(count_files(f, false), 0);
    assert_int_equal(f->n_ready, 0);
}

TEST(what_a_crash_left_is_removed)
{
    struct fixture *f = *state;
    char path[200];

    fetch(f, "abc");
    (void)snprintf(path, sizeof path, "%s/%064d.new", f->dir, 7);
    (void)safe_close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(count_files(f, false), 2);
    (void)workspace_cache_free(f->cache);
    open_cache(f, 10);
    assert_int_equal(count_files(f, false), 1);
    assert_true(has(f, "abc"));
}
