/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_hub.c - log streams on their way from agents to readers */
#include "scheduler/nodes/log_hub.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "tests/unit/orders_fixture.h"
#include "tests/unit/test.h"

struct hub_fixture {
    char folder[64], path[96];
    struct store *store;
    struct log_hub *hub;
};

static void hub_open(struct fixture *f, struct hub_fixture *h)
{
    struct edl_error error = { 0 };
    size_t n;
    const struct effect *effects = cluster_effects(f->cluster, &n);

    (void)snprintf(h->folder, sizeof h->folder, "/tmp/edl-test-orders-XXXXXX");
    assert_non_null(mkdtemp(h->folder));
    (void)snprintf(h->path, sizeof h->path, "%s/edl.db", h->folder);
    assert_int_equal(store_open(h->path, &h->store, &error), 0);
    assert_int_equal(store_commit(h->store,
                                  &(struct turn_records){ .effects = effects, .n_effects = n },
                                  &error),
                     0);
    assert_int_equal(log_hub_new(h->store, start.wall_us, &h->hub, &error), 0);
}

static void hub_close(struct hub_fixture *h)
{
    (void)log_hub_free(h->hub);
    (void)store_free(h->store);
    (void)unlink(h->path);
    (void)rmdir(h->folder);
}

static void push(struct hub_fixture *h, const struct process *process, uint64_t offset,
                 const char *text, bool end)
{
    struct log_push p = { .process = process,
                          .offset = offset,
                          .next_offset = offset + strlen(text),
                          .text = text,
                          .end = end };

    log_hub_push(h->hub, &p, start.now_us);
}

/* All that is behind the cursor, in one string (static). */
static const char *read_text(struct hub_fixture *h, struct log_read *read)
{
    static char text[LOG_RING_BYTES + 4096];
    struct edl_error error = { 0 };
    json_t *entries, *entry;
    size_t i, used = 0;

    if (log_hub_read(h->hub, read, &entries, &error) < 0)
        fail_msg("%s", error.text);
    text[0] = '\0';
    json_array_foreach(entries, i, entry) used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s",
                         json_string_value(json_object_get(entry, "text")));
    json_decref(entries);
    return text;
}

static struct log_read whole_job(const struct fixture *f)
{
    return (struct log_read){ .filter = { .job_id = f->job->id, .index = UINT32_MAX },
                              .max_bytes = 1 << 20 };
}

TEST_EACH(set_up, tear_down);

TEST(test_logs_are_cut_where_they_overlap)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);

    hub_open(f, &h);
    push(&h, trainer(f, 0), 0, "one\n", false);
    push(&h, trainer(f, 0), 0, "one\n", false);
    assert_string_equal(read_text(&h, &read), "one\n");
    push(&h, trainer(f, 0), 0, "one\ntwo\n", false);
    assert_string_equal(read_text(&h, &read), "two\n");
    assert_string_equal(read_text(&h, &read), "");
    assert_false(read.truncated);
    push(&h, trainer(f, 0), 100, "far\n", false);
    assert_string_equal(read_text(&h, &read), "far\n");
    assert_true(read.truncated);
    hub_close(&h);
}

TEST(test_logs_overlap_with_replaced_bytes)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);
    /* the file holds a, an invalid byte, b, c, d: five bytes */
    struct log_push p = { .process = trainer(f, 0),
                          .offset = 0,
                          .next_offset = 5,
                          .text = "a\xef\xbf\xbd"
                                  "bcd" };

    hub_open(f, &h);
    push(&h, trainer(f, 0), 0, "a", false);
    (void)read_text(&h, &read);
    log_hub_push(h.hub, &p, start.now_us);
    assert_string_equal(read_text(&h, &read), "\xef\xbf\xbd"
                                              "bcd");
    hub_close(&h);
}

TEST(test_logs_end_is_stored_and_read_from_the_store)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct edl_error error = { 0 };
    struct log_read read = whole_job(f);
    const struct log_tail *tails;
    size_t n;

    hub_open(f, &h);
    push(&h, trainer(f, 0), 0, "so far\n", false);
    push(&h, trainer(f, 0), 7, "the end\n", true);
    tails = log_hub_pending(h.hub, &n);
    assert_int_equal(n, 1);
    assert_string_equal(tails[0].text, "so far\nthe end\n");
    assert_int_equal(store_commit(h.store, &(struct turn_records){ .tails = tails, .n_tails = n },
                                  &error),
                     0);
    log_hub_pending_clear(h.hub);
    (void)log_hub_free(h.hub); /* the scheduler starts anew */
    assert_int_equal(log_hub_new(h.store, start.wall_us, &h.hub, &error), 0);
    assert_string_equal(read_text(&h, &read), "so far\nthe end\n");
    assert_string_equal(read_text(&h, &read), "");
    hub_close(&h);
}

/* However many processes write: what ended first goes first, then what was written longest ago. */
TEST(test_logs_take_a_bounded_part_of_memory)
{
    enum { RINGS = LOG_RINGS_BYTES / LOG_RING_BYTES };
    struct fixture *f = *state;
    struct hub_fixture h;
    struct process process = *trainer(f, 0);
    struct log_read read = whole_job(f);
    char *text = xcalloc(LOG_RING_BYTES + 1, 1);

    memset(text, 'x', LOG_RING_BYTES);
    hub_open(f, &h);
    read.filter.role = "trainer";
    for (uint32_t i = 0; i < 3 * RINGS; i++) { /* 2 of 3 go on */
        process.incarnation = 1000 + i;
        push(&h, &process, 0, text, i % 3 == 0);
        assert_true(log_hub_bytes(h.hub) <= LOG_RINGS_BYTES);
    }
    assert_true(log_hub_bytes(h.hub) > LOG_RINGS_BYTES - 2 * LOG_RING_BYTES);
    read.max_bytes = LOG_RING_BYTES;
    assert_non_null(strstr(read_text(&h, &read), "output is missing here")); /* of each that went */
    assert_true(read.truncated);
    assert_true(read.more);
    assert_int_equal(strlen(read_text(&h, &read)), LOG_RING_BYTES); /* the last ones are there */
    assert_true(read.more);
    for (uint32_t i = 0; i < 100000; i++) { /* small pieces: what they hang on counts as well */
        struct log_push p = { .process = &process,
                              .offset = LOG_RING_BYTES + i,
                              .next_offset = LOG_RING_BYTES + i + 1,
                              .text = "y" };

        log_hub_push(h.hub, &p, start.now_us);
    }
    assert_true(log_hub_bytes(h.hub) <= LOG_RINGS_BYTES);
    free(text);
    hub_close(&h);
}

TEST(test_logs_silence_is_an_end)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct process *process;
    struct edl_error error = { 0 };
    const struct log_tail *tails;
    size_t n;

    hub_open(f, &h);
    DL_FOREACH2(f->job->processes, process, job_next)
    {
        process->state = PROCESS_EXITED;
        process->started_wall_us = start.wall_us;
    }
    f->job->state = JOB_SUCCEEDED;
    f->job->ended_wall_us = start.wall_us;
    assert_false(log_hub_is_ended(h.hub, f->job, start.wall_us)); /* an end may be on its way */
    DL_FOREACH2(f->job->processes, process, job_next)
    log_hub_push_silence(h.hub, process, start.now_us);
    tails = log_hub_pending(h.hub, &n);
    assert_true(n > 0);
    assert_string_equal(tails[0].text, "");
    assert_int_equal(store_commit(h.store, &(struct turn_records){ .tails = tails, .n_tails = n },
                                  &error),
                     0);
    log_hub_pending_clear(h.hub);
    assert_true(log_hub_is_ended(h.hub, f->job, start.wall_us));
    DL_FOREACH2(f->job->processes, process, job_next)
    log_hub_push_silence(h.hub, process, start.now_us); /* the next report says it again */
    (void)log_hub_pending(h.hub, &n);
    assert_int_equal(n, 0);
    hub_close(&h);
}

#define LOST "[edl: output is missing here: the newest is kept]\n"

TEST(test_logs_ring_keeps_the_newest)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);
    _cleanup_free_ char *block = xcalloc(1, 64 * 1024 + 1);
    uint64_t offset = 0;
    const char *text;

    hub_open(f, &h);
    for (char c = 'a'; c < 'a' + 8; c++) {
        memset(block, c, 64 * 1024);
        push(&h, trainer(f, 0), offset, block, false);
        offset += 64 * 1024;
    }
    text = read_text(&h, &read);
    assert_true(strncmp(text, LOST, strlen(LOST)) == 0);
    text += strlen(LOST);
    assert_int_equal(strlen(text), LOG_RING_BYTES);
    assert_int_equal(text[0], 'e');
    assert_true(read.truncated);
    assert_string_equal(read_text(&h, &read), ""); /* it is said once */
    hub_close(&h);
}

static void push_dropped(struct hub_fixture *h, const struct process *process, uint64_t dropped,
                         uint64_t offset, const char *text, bool end)
{
    struct log_push p = { .process = process,
                          .offset = offset,
                          .next_offset = offset + strlen(text),
                          .dropped_bytes = dropped,
                          .text = text,
                          .end = end };

    log_hub_push(h->hub, &p, start.now_us);
}

#define DROPPED(n)                                                                                 \
    "[edl: " n " bytes of output are missing here: the node keeps the newest, see log-max]\n"

/* Where the node has cut off the beginning, whoever misses some of it is told, and nobody else. */
TEST(test_logs_say_what_the_node_dropped)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);

    hub_open(f, &h);
    push(&h, trainer(f, 0), 0, "one\n", false);
    push_dropped(&h, trainer(f, 0), 4, 4, "two\n", false); /* it had that */
    assert_string_equal(read_text(&h, &read), "one\ntwo\n");
    push_dropped(&h, trainer(f, 0), 100, 100, "far\n", false);
    assert_string_equal(read_text(&h, &read), DROPPED("92") "far\n");
    push_dropped(&h, trainer(f, 0), 100, 104, "on\n", false);
    assert_string_equal(read_text(&h, &read), "on\n");
    push_dropped(&h, trainer(f, 1), 1000, 5000, "late\n", false); /* from its end on */
    assert_string_equal(read_text(&h, &read), DROPPED("1000") "late\n");
    hub_close(&h);
}

/* The stored end says it too, whether the ring's own line is in it or was cut off. */
TEST(test_logs_stored_say_what_the_node_dropped)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    _cleanup_free_ char *block = xcalloc(1, 48 * 1024 + 1);
    const struct log_tail *tails;
    size_t n;

    hub_open(f, &h);
    memset(block, 'x', 48 * 1024);
    push_dropped(&h, trainer(f, 0), 7, 10, "short\n", true);
    push_dropped(&h, trainer(f, 1), 7, 7, block, false);
    push_dropped(&h, trainer(f, 1), 7, 7 + 48 * 1024, block, true);
    tails = log_hub_pending(h.hub, &n);
    assert_int_equal(n, 2);
    assert_string_equal(tails[0].text, DROPPED("7") "short\n");
    assert_true(strncmp(tails[1].text, DROPPED("7") "xxx", strlen(DROPPED("7")) + 3) == 0);
    assert_true(strlen(tails[1].text) <= LOG_TAIL_BYTES);
    assert_true(strlen(tails[1].text) > LOG_TAIL_BYTES - 200);
    log_hub_pending_clear(h.hub);
    hub_close(&h);
}

#define BEFORE(n)                                                                                  \
    "[edl: " n " bytes of output before this line are not shown: node n1 has them in "             \
    "/logs/trainer-0.log]\n"

static void push_of_file(struct hub_fixture *h, const struct process *process, uint64_t offset,
                         const char *text, bool end)
{
    struct log_push p = { .process = process,
                          .offset = offset,
                          .next_offset = offset + strlen(text),
                          .file = "/logs/trainer-0.log",
                          .text = text,
                          .end = end };

    log_hub_push(h->hub, &p, start.now_us);
}

/* Who comes late to a long output is given whole lines, and told where the rest of it is. */
TEST(test_logs_begin_at_a_line_and_say_what_is_before)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);

    hub_open(f, &h);
    push_of_file(&h, trainer(f, 0), 1000, "lf a line\nwhole\n", false);
    assert_string_equal(read_text(&h, &read), BEFORE("1010") "whole\n");
    push_of_file(&h, trainer(f, 0), 1016, "goes on\n", false);
    assert_string_equal(read_text(&h, &read), "goes on\n");
    push_of_file(&h, trainer(f, 1), 7, "one line alone\n", false);
    assert_string_equal(read_text(&h, &read), BEFORE("7") "one line alone\n");
    hub_close(&h);
}

/* places_of - "offset-next text" of each entry, of a notice "! text" (static) */
static const char *places_of(struct hub_fixture *h, struct log_read *read)
{
    static char text[4096];
    struct edl_error error = { 0 };
    json_t *entries, *entry;
    size_t i, used = 0;

    assert_int_equal(log_hub_read(h->hub, read, &entries, &error), 0);
    text[0] = '\0';
    json_array_foreach(entries, i, entry)
    {
        bool notice = json_is_true(json_object_get(entry, "notice"));
        const json_t *offset = json_object_get(entry, "offset");

        assert_true(!notice || offset == NULL);
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%lld-%lld %.8s|",
                             notice ? "!" : "", offset != NULL ? json_integer_value(offset) : -1,
                             json_integer_value(json_object_get(entry, "next_offset")),
                             json_string_value(json_object_get(entry, "text")));
    }
    json_decref(entries);
    return text;
}

/* So that a reader sees what it misses, or has already. */
TEST(test_logs_tell_their_places)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct edl_error error = { 0 };
    struct log_read read = whole_job(f);
    const struct log_mark mark = { 13, start.wall_us };
    struct log_push p = { .process = trainer(f, 0),
                          .offset = 6,
                          .next_offset = 19, /* one byte was no text */
                          .text = "o\nthree\nfour\xef\xbf\xbd",
                          .wall_us = start.wall_us,
                          .marks = &mark,
                          .n_marks = 1 };
    const struct log_tail *tails;
    size_t n;

    hub_open(f, &h);
    push(&h, p.process, 0, "one\n", false);
    push(&h, p.process, 4, "two\n", false);
    assert_string_equal(places_of(&h, &read), "0-4 one\n|4-8 two\n|");
    log_hub_push(h.hub, &p, start.now_us);
    assert_string_equal(places_of(&h, &read), "8-13 three|13-19 \nfour\xef\xbf\xbd|");
    push_of_file(&h, p.process, 25, "x\nfive\n", true);
    assert_string_equal(places_of(&h, &read), "!-1-0 [edl: 8 |27-32 five\n|");
    tails = log_hub_pending(h.hub, &n);
    assert_int_equal(store_commit(h.store, &(struct turn_records){ .tails = tails, .n_tails = n },
                                  &error),
                     0);
    (void)log_hub_free(h.hub); /* the scheduler starts anew */
    assert_int_equal(log_hub_new(h.store, start.wall_us, &h.hub, &error), 0);
    read.cursor = 0;
    assert_non_null(strstr(places_of(&h, &read), "-1-32 "));
    hub_close(&h);
}

/* Also where the ring lost the beginning: for who has seen nothing of it. */
TEST(test_logs_ring_says_where_the_rest_is)
{
    enum { PIECE = 64 * 1024, LINE = 64 };
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);
    _cleanup_free_ char *block = xcalloc(1, PIECE + 1);
    const char *text;

    memset(block, 'x', PIECE);
    for (size_t i = LINE - 1; i < PIECE; i += LINE)
        block[i] = '\n';
    hub_open(f, &h);
    for (uint64_t i = 0; i < 8; i++)
        push_of_file(&h, trainer(f, 0), i * PIECE, block, false);
    text = read_text(&h, &read);
    assert_true(strncmp(text, BEFORE("262208"), strlen(BEFORE("262208"))) == 0);
    assert_int_equal(strlen(text) - strlen(BEFORE("262208")), LOG_RING_BYTES - LINE);
    hub_close(&h);
}

/* So does what is stored of it: the end of a program, and the end so far. */
TEST(test_logs_stored_begin_at_a_line)
{
    enum { LINES = 10000, LINE_BYTES = 10 };
    struct fixture *f = *state;
    struct hub_fixture h;
    _cleanup_free_ char *text = xcalloc(1, (size_t)LINES * LINE_BYTES + 1);
    struct log_push so_far = { .process = trainer(f, 1),
                               .offset = 3,
                               .next_offset = 13,
                               .file = "/logs/trainer-0.log",
                               .text = "half\nwhole\n" };
    const struct log_tail *tails;
    unsigned long long before;
    char *line;
    size_t n;

    for (size_t i = 0; i < LINES; i++)
        (void)snprintf(text + i * LINE_BYTES, LINE_BYTES + 1, "line %04zu\n", i);
    hub_open(f, &h);
    push_of_file(&h, trainer(f, 0), 0, text, true);
    (void)log_hub_keep(h.hub, &so_far, start.now_us);
    tails = log_hub_pending(h.hub, &n);
    assert_int_equal(n, 2);
    assert_true(strlen(tails[0].text) <= LOG_TAIL_BYTES);
    assert_int_equal(sscanf(tails[0].text, "[edl: %llu bytes", &before), 1);
    line = strchr(tails[0].text, '\n') + 1;
    assert_int_equal(before, (size_t)LINES * LINE_BYTES - strlen(line));
    assert_string_equal(line, text + before);
    assert_int_equal(before % LINE_BYTES, 0);
    assert_string_equal(tails[1].text, BEFORE("8") "whole\n");
    log_hub_pending_clear(h.hub);
    hub_close(&h);
}

/* The end that is sent now and then does not overtake what a reader is being sent. */
TEST(test_logs_kept_leave_no_gap_for_a_reader)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);
    struct log_push end = {
        .process = trainer(f, 0), .offset = 8, .next_offset = 14, .text = "three\n"
    };

    hub_open(f, &h);
    (void)log_hub_want(h.hub, &read.filter, start.now_us, start.now_us + 60 * USEC_PER_SEC);
    push(&h, trainer(f, 0), 0, "one\n", false);
    (void)log_hub_keep(h.hub, &end, start.now_us);
    push(&h, trainer(f, 0), 4, "two\nthree\n", false);
    assert_string_equal(read_text(&h, &read), "one\ntwo\nthree\n");
    assert_false(read.truncated);
    log_hub_pending_clear(h.hub);
    hub_close(&h);
}

static bool keep(struct hub_fixture *h, const struct process *process, uint64_t offset,
                 const char *text, uint64_t now_us)
{
    struct log_push p = {
        .process = process, .offset = offset, .next_offset = offset + strlen(text), .text = text
    };

    return log_hub_keep(h->hub, &p, now_us);
}

static void store_pending(struct hub_fixture *h)
{
    struct edl_error error = { 0 };
    size_t n;
    const struct log_tail *tails = log_hub_pending(h->hub, &n);

    if (store_commit(h->store, &(struct turn_records){ .tails = tails, .n_tails = n }, &error) < 0)
        fail_msg("%s", error.text);
    log_hub_pending_clear(h->hub);
}

/* What nobody asked for is there when its node dies, also after a restart of the scheduler. */
TEST(test_logs_are_kept_for_when_the_node_dies)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct edl_error error = { 0 };
    struct log_read read = whole_job(f);
    struct process *process = trainer(f, 0);

    hub_open(f, &h);
    assert_true(keep(&h, process, 0, "early\n", start.now_us + LOG_PENDING_US));
    store_pending(&h);
    /* not a commit for each: they come along with others, or after a while */
    assert_false(keep(&h, process, 2, "rly\nlater\n", start.now_us + LOG_PENDING_US + 1));
    assert_true(keep(&h, trainer(f, 1), 0, "other\n", start.now_us + 2 * LOG_PENDING_US));
    store_pending(&h);
    (void)log_hub_free(h.hub);
    assert_int_equal(log_hub_new(h.store, start.wall_us, &h.hub, &error), 0);
    assert_string_equal(read_text(&h, &read), "rly\nlater\nother\n");
    hub_close(&h);
}

/* A reader of a live process is not shown the kept end, and then all of it again. */
TEST(test_logs_kept_wait_for_what_is_coming)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);
    uint64_t now_us = start.now_us;

    read.job = f->job;
    read.now_us = now_us;
    hub_open(f, &h);
    (void)keep(&h, trainer(f, 0), 6, "later\n", now_us);
    store_pending(&h);
    (void)log_hub_want(h.hub, &read.filter, now_us, now_us + 60 * USEC_PER_SEC);
    assert_string_equal(read_text(&h, &read), "");
    push(&h, trainer(f, 0), 0, "early\nlater\n", false);
    assert_string_equal(read_text(&h, &read), "early\nlater\n");
    /* what is kept meanwhile adds to it */
    (void)keep(&h, trainer(f, 0), 6, "later\nnew\n", now_us);
    assert_string_equal(read_text(&h, &read), "new\n");
    store_pending(&h);
    /* its agent does not answer: what is there is shown */
    read.cursor = 0;
    (void)keep(&h, trainer(f, 1), 0, "silent\n", now_us);
    store_pending(&h);
    read.now_us = now_us + 3 * USEC_PER_SEC;
    assert_string_equal(read_text(&h, &read), "early\nlater\nnew\nsilent\n");
    hub_close(&h);
}

/* Two processes that ended: their outputs are merged by when it was written, not by who ended
 * first; what is of one process stays in its order, even when its clock was set back. */
TEST(test_logs_of_ended_processes_are_merged_in_time)
{
    static const struct log_mark marks[2][3] = { { { 2, 100 }, { 4, 300 }, { 6, 500 } },
                                                 { { 2, 200 }, { 4, 150 }, { 6, 400 } } };
    static const char *const texts[] = { "a\nb\nc\nd\n", "A\nB\nC\nD\n" };
    struct fixture *f = *state;
    struct hub_fixture h;
    struct edl_error error = { 0 };
    struct log_read read = whole_job(f);

    hub_open(f, &h);
    for (uint32_t i = 0; i < 2; i++) {
        struct log_push p = { .process = trainer(f, i),
                              .next_offset = 8,
                              .text = texts[i],
                              .end = true,
                              .wall_us = 600 + i,
                              .marks = marks[i],
                              .n_marks = 3 };

        log_hub_push(h.hub, &p, start.now_us);
    }
    assert_string_equal(read_text(&h, &read), "a\nA\nB\nb\nC\nc\nd\nD\n");
    assert_string_equal(read_text(&h, &read), "");
    hub_close(&h);
    /* stored, pieces are not smaller than a KiB */
    hub_open(f, &h);
    for (uint32_t i = 0; i < 2; i++) {
        char first[1025], second[1025];
        _cleanup_free_ char *text = xcalloc(1, 2049);
        struct log_mark mark = { 1024, 100 + 10 * i };
        struct log_push p = { .process = trainer(f, i),
                              .next_offset = 2048,
                              .text = text,
                              .end = true,
                              .wall_us = 300 - 10 * i,
                              .marks = &mark,
                              .n_marks = 1 };

        memset(first, (int)('a' + i), 1024);
        memset(second, (int)('A' + i), 1024);
        memcpy(text, first, 1024);
        memcpy(text + 1024, second, 1024);
        log_hub_push(h.hub, &p, start.now_us);
    }
    store_pending(&h);
    (void)log_hub_free(h.hub);
    assert_int_equal(log_hub_new(h.store, start.wall_us, &h.hub, &error), 0);
    read = whole_job(f);
    {
        const char *text = read_text(&h, &read);

        assert_int_equal(strlen(text), 4096);
        assert_int_equal(text[0], 'a');
        assert_int_equal(text[1024], 'b');
        assert_int_equal(text[2048], 'B'); /* at 290 */
        assert_int_equal(text[3072], 'A'); /* at 300 */
    }
    hub_close(&h);
}

/* A job that just ended: its last words are waited for, whatever was kept of it before. */
TEST(test_logs_kept_are_not_the_end)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct process *process = trainer(f, 0);
    uint64_t wall_us = start.wall_us;

    hub_open(f, &h);
    (void)keep(&h, process, 0, "so far\n", start.now_us);
    store_pending(&h);
    process->state = PROCESS_EXITED; /* as far as the log hub looks */
    process->started_wall_us = wall_us;
    f->job->state = JOB_SUCCEEDED;
    f->job->ended_wall_us = wall_us;
    assert_false(log_hub_is_ended(h.hub, f->job, wall_us));
    push(&h, process, 0, "so far\nthe end\n", true);
    assert_true(log_hub_is_ended(h.hub, f->job, wall_us));
    process->state = PROCESS_ASSIGNED;
    f->job->state = JOB_STARTING;
    hub_close(&h);
}

TEST(test_logs_kept_do_not_replace_the_end)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_read read = whole_job(f);

    hub_open(f, &h);
    push(&h, trainer(f, 0), 0, "all of it, to the end\n", true);
    assert_false(keep(&h, trainer(f, 0), 15, "end\n", start.now_us + LOG_PENDING_US));
    store_pending(&h);
    assert_string_equal(read_text(&h, &read), "all of it, to the end\n");
    hub_close(&h);
}

static void ignore_job(uint64_t job_id, void *userdata)
{
    (void)job_id;
    ++*(int *)userdata;
}

TEST(test_logs_orders_list_a_stream_while_it_is_read)
{
    struct fixture *f = *state;
    struct hub_fixture h;
    struct log_filter filter = { .job_id = f->job->id, .role = "trainer", .index = 1 };
    uint64_t until_us = start.now_us + LOG_INTEREST_US;
    json_t *logs;
    int gone = 0;

    hub_open(f, &h);
    logs = log_hub_orders(h.hub, f->node);
    assert_int_equal(json_array_size(logs), 0);
    json_decref(logs);
    assert_true(log_hub_want(h.hub, &filter, start.now_us, until_us));
    assert_false(log_hub_want(h.hub, &filter, start.now_us, until_us));
    push(&h, trainer(f, 1), 0, "12345", false);
    logs = log_hub_orders(h.hub, f->node);
    assert_int_equal(json_array_size(logs), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(logs, 0), "after")), 5);
    json_decref(logs);
    assert_int_equal(log_hub_expire(h.hub, until_us - 1, ignore_job, &gone), until_us);
    assert_int_equal(gone, 0);
    (void)log_hub_expire(h.hub, until_us, ignore_job, &gone);
    assert_int_equal(gone, 1);
    logs = log_hub_orders(h.hub, f->node);
    assert_int_equal(json_array_size(logs), 0);
    json_decref(logs);
    hub_close(&h);
}
