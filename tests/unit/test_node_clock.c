/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_clock.c - a node's elapsed time in its file, and when processes started by it */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/process_id.h"
#include "agent/layout.h"
#include "agent/machine/node_clock.h"
#include "agent/processes/start_mark.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define DAY_US (UINT64_C(86400) * USEC_PER_SEC)
#define START_US (UINT64_C(1764000000) * USEC_PER_SEC)

static void write_text(const char *path, const char *text)
{
    _cleanup_fclose_ FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
}

TEST(test_a_node_goes_on_from_its_file_whatever_its_wall_clock_says)
{
    char folder[] = "/tmp/edl-node-clock-XXXXXX", boot_id[ELAPSED_BOOT_ID_SIZE];
    _cleanup_free_ char *path = NULL;
    char text[NODE_CLOCK_TEXT_SIZE];
    struct elapsed_record record;
    struct node_clock clock;
    uint64_t boot_us = clock_read_us(CLOCK_BOOTTIME), begun_us = clock_read_us(CLOCK_REALTIME);

    assert_non_null(mkdtemp(folder));
    path = text_format("%s/clock", folder);
    assert_int_equal(clock_boot_id(boot_id, sizeof boot_id), 0);
    (void)snprintf(text, sizeof text, "%s %llu %llu %llu\n", boot_id, (unsigned long long)boot_us,
                   (unsigned long long)(START_US + 8 * DAY_US), (unsigned long long)START_US);
    write_text(path, text);
    assert_int_equal(node_clock_open(&clock, folder, NULL), 0);
    assert_in_range(clock_instant().wall_us, START_US, START_US + DAY_US);
    node_clock_text(&clock, text);
    assert_int_equal(node_clock_parse(text, &record), 0);
    assert_in_range(record.elapsed_us, START_US, START_US + DAY_US);
    write_text(path, "nonsense\n"); /* as none */
    assert_int_equal(node_clock_open(&clock, folder, NULL), 0);
    assert_true(clock_instant().wall_us >= begun_us);
    clock_keep(NULL);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(test_a_mark_is_what_the_wall_clock_showed_or_shows_of_it_the_earlier)
{
    const struct start_mark mark = { .real_us = START_US, .elapsed_us = 100 * USEC_PER_SEC };
    const struct start_mark later = { START_US + 9 * USEC_PER_SEC, 109 * USEC_PER_SEC };
    const struct start_mark ahead = { START_US + 8 * DAY_US, 109 * USEC_PER_SEC };
    const struct start_mark back = { START_US - 3600 * USEC_PER_SEC, 109 * USEC_PER_SEC };

    assert_true(start_mark_real_us(&mark, &later) == START_US);
    assert_true(start_mark_real_us(&mark, &ahead) == START_US);
    assert_true(start_mark_real_us(&mark, &back) == START_US - 3609 * USEC_PER_SEC);
}

TEST(test_files_are_of_a_job_since_its_submission_by_the_clock_of_the_node)
{
    char folder[] = "/tmp/edl-start-mark-XXXXXX";
    struct layout layout = { .logs_dir = folder };
    struct process_id id = { .job_id = 7, .role = "trainer", .index = 0, .incarnation = 1 };
    _cleanup_free_ char *job = NULL, *mark = NULL, *earlier = NULL;
    uint64_t begin_us = clock_read_us(CLOCK_REALTIME_COARSE), since_us;

    assert_non_null(mkdtemp(folder));
    job = text_format("%s/7", folder);
    mark = text_format("%s/trainer-0.1.began", job);
    earlier = text_format("%s/trainer-1.1.began", job);
    assert_int_equal(mkdir(job, 0700), 0);
    assert_false(start_mark_since(&layout, &id, 0, &since_us));
    start_mark_write(&layout, &id);
    assert_true(start_mark_since(&layout, &id, 0, &since_us));
    assert_in_range(since_us, begin_us, clock_read_us(CLOCK_REALTIME));
    assert_true(start_mark_since(&layout, &id, 60 * USEC_PER_SEC, &since_us));
    assert_in_range(since_us, begin_us - 60 * USEC_PER_SEC, begin_us - USEC_PER_SEC);
    assert_int_equal(symlink("1000000.1000000", earlier), 0); /* another one began long before */
    assert_true(start_mark_since(&layout, &id, 0, &since_us));
    assert_true(since_us <= 1000000);
    assert_int_equal(unlink(mark) | unlink(earlier), 0);
    assert_int_equal(rmdir(job) | rmdir(folder), 0);
}
