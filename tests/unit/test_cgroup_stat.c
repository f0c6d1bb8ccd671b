/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup_stat.c - figures of a control group in the layouts that systemd has */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/groups/cgroup.h"
#include "agent/groups/cgroup_stat.h"
#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define GROUP "/edl.slice/edl-7.slice/edl-7.trainer.0.1.service"

static char root[64];
static uint32_t absent; /* what the group of a test does not have, as far as that was seen */

static int setup(void **state)
{
    (void)state;
    absent = 0;
    (void)snprintf(root, sizeof root, "/tmp/edl-test-cgroup-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

TEST_EACH(setup, teardown);

static void put(const char *hierarchy, const char *name, const char *text)
{
    _cleanup_free_ char *folder = text_format("%s%s%s", root, hierarchy, GROUP);
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    FILE *f;

    assert_int_equal(folder_make(folder, 0700, NULL), 0);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static struct cgroup_stat look(void)
{
    _cleanup_free_ char *unified = text_format("%s/unified", root);
    struct cgroup_paths paths;
    struct cgroup_stat stat;

    cgroup_paths_everywhere(&paths, GROUP);
    (void)cgroup_stat_read(unified, root, &paths, &absent, &stat);
    return stat;
}

TEST(test_version_2)
{
    struct cgroup_stat stat;

    put("/unified", "cpu.stat", "usage_usec 1234567\nuser_usec 1\nsystem_usec 2\n");
    put("/unified", "memory.current", "10000\n");
    put("/unified", "memory.stat", "anon 6000\nactive_file 1\ninactive_file 3000\n");
    put("/unified", "memory.peak", "20000\n");
    put("/unified", "pids.current", "17\n");
    stat = look();
    assert_int_equal(stat.cpu_used_us, 1234567);
    assert_int_equal(stat.memory_used_bytes, 7000);
    assert_int_equal(stat.memory_peak_bytes, 20000);
    assert_int_equal(stat.tasks, 17);
}

TEST(test_hybrid)
{
    struct cgroup_stat stat;

    put("/unified", "cpu.stat", "usage_usec 5\n");
    put("/cpuacct", "cpuacct.usage", "9000\n");
    put("/memory", "memory.usage_in_bytes", "10000\n");
    put("/memory", "memory.stat", "inactive_file 1\ntotal_inactive_file 10001\n");
    put("/memory", "memory.max_usage_in_bytes", "20000\n");
    put("/pids", "pids.current", "17\n");
    stat = look();
    assert_int_equal(stat.cpu_used_us, 5);
    assert_int_equal(stat.memory_used_bytes, 0);
    assert_int_equal(stat.memory_peak_bytes, 20000);
    assert_int_equal(stat.tasks, 17);
}

TEST(test_what_there_is)
{
    struct cgroup_stat stat = look();

    assert_int_equal(stat.cpu_used_us, NEVER_US);
    assert_int_equal(stat.memory_used_bytes, NEVER_US);
    assert_int_equal(stat.memory_peak_bytes, NEVER_US);
    assert_int_equal(stat.tasks, NEVER_US);
    put("/cpuacct", "cpuacct.usage", "9000\n");
    put("/memory", "memory.usage_in_bytes", "10000\n");
    put("/pids", "pids.current", "max\n");
    stat = look();
    assert_int_equal(stat.cpu_used_us, 9);
    assert_int_equal(stat.memory_used_bytes, 10000);
    assert_int_equal(stat.tasks, NEVER_US);
}

TEST(test_what_is_absent_is_tried_once)
{
    put("/unified", "cpu.stat", "usage_usec 5\n");
    assert_int_equal(look().tasks, NEVER_US);
    put("/unified", "pids.current", "17\n");
    put("/unified", "cpu.stat", "usage_usec 6\n");
    assert_int_equal(look().tasks, NEVER_US);
    assert_int_equal(look().cpu_used_us, 6);
    absent = 0;
    assert_int_equal(look().tasks, 17);
}

TEST_PLAIN(test_words_of_too_little_memory)
{
    static const struct {
        uint64_t bytes;
        const char *words;
    } cases[] = {
        { 64, "beyond the 64 bytes that each may use" },
        { 1 << 19, "beyond the 512 KiB that each may use" },
        { 1 << 25, "beyond the 32 MiB that each may use" },
        { UINT64_C(3) << 30, "beyond the 3072 MiB that each may use" },
        { 0, "the job asks for none" },
    };
    char text[256];

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        cgroup_describe_oom(cases[i].bytes, text, sizeof text);
        assert_non_null(strstr(text, cases[i].words));
    }
}
