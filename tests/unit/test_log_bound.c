/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_bound.c - logs of processes that have ended are removed in time, also of such as lived
 * for less than the time between two looks
 *
 * edl-workspace is that of the folder in EDL_BUILD_DIR (default "."). */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/logs/log_bound.h"
#include "agent/processes/process.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define DEADLINE_US (120 * USEC_PER_SEC)
#define OLD_MAX_BYTES (UINT64_C(256) * 1024)
#define LOG_BYTES (4 * OLD_MAX_BYTES)

struct fixture {
    char root[64];
    struct layout layout;
    struct process process;
    struct process_table table;
    sd_event *event;
    struct log_bound *bound;
    char *log;     /* of the process */
    char *before;  /* the log of one that ended before this agent was there */
    char *jobs[2]; /* the folders of both */
};

static void write_log(const char *path)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    for (uint64_t i = 0; i < LOG_BYTES / 64; i++)
        assert_true(fprintf(file, "%-63s\n", "a line of a program that was there for a moment") >
                    0);
}

static int setup(void **state)
{
    static const struct process_id id = { .job_id = 7, .role = "trainer", .incarnation = 1 };
    static const struct process_id before = { .job_id = 6, .role = "trainer", .incarnation = 1 };
    struct fixture *f = xcalloc(1, sizeof *f);
    const char *build = getenv("EDL_BUILD_DIR");

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-log-bound-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    f->layout.logs_dir = text_format("%s/logs", f->root);
    f->layout.processes_dir = text_format("%s/processes", f->root);
    f->layout.program_dir = text_format("%s", build != NULL ? build : ".");
    f->process.id = id;
    f->table.list = &f->process;
    f->log = layout_log_path(&f->layout, &id);
    f->before = layout_log_path(&f->layout, &before);
    f->jobs[0] = text_format("%s/7", f->layout.logs_dir);
    f->jobs[1] = text_format("%s/6", f->layout.logs_dir);
    assert_int_equal(mkdir(f->layout.processes_dir, 0700), 0);
    assert_int_equal(mkdir(f->layout.logs_dir, 0700), 0);
    assert_int_equal(mkdir(f->jobs[0], 0700), 0);
    assert_int_equal(mkdir(f->jobs[1], 0700), 0);
    assert_true(sd_event_new(&f->event) >= 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char **const owned[] = {
        &f->log,

        &f->before, &f->jobs[0], &f->jobs[1], &f->layout.logs_dir, &f->layout.processes_dir
    };

    (void)log_bound_free(f->bound);
    sd_event_unref(f->event);
    for (size_t i = 0; i < ELEMENTS(owned); i++) { /* what is in a folder before it */
        (void)remove(*owned[i]);
        free(*owned[i]);
    }
    assert_int_equal(rmdir(f->root), 0);
    free(f->layout.program_dir);
    free(f);
    return 0;
}

static void await_removal(const struct fixture *f, const char *log)
{
    uint64_t deadline_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;

    while (access(log, F_OK) == 0) {
        if (clock_read_us(CLOCK_BOOTTIME) > deadline_us)
            fail_msg("%s is still there", log);
        assert_true(sd_event_run(f->event, LOG_BOUND_FAST_US) >= 0);
    }
}

TEST_WITH(test_short_lived, .setup = setup, .teardown = teardown)
{
    struct fixture *f = *state;

    write_log(f->before);
    f->bound =
        log_bound_new(&(struct log_bound_config){ .event = f->event,
                                                  .layout = &f->layout,
                                                  .processes = &f->table,
                                                  .bounds = { 2 * LOG_BYTES, OLD_MAX_BYTES } });
    await_removal(f, f->before); /* with what an agent begins with; the next is not due for long */
    write_log(f->log);
    log_bound_forget(f->bound, &f->process); /* before anybody looked at it */
    f->table.list = NULL;
    await_removal(f, f->log);
}
