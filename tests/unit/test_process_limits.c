/* SPDX-License-Identifier: Apache-2.0 */
/* test_process_limits.c - from an order to the values that are written to a control group, and
 * their files
 *
 * That the kernel keeps to it is shown by tests/integration/259-control-groups.sh. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "agent/groups/cgroup_home.h"
#include "agent/supervisor/process_guard.h"
#include "agent/supervisor/process_limits.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static void assert_setting(const char *order_text, enum cgroup_controller controller,
                           unsigned version, const char *const *expected)
{
    struct cgroup_setting settings[CGROUP_SETTINGS_MAX];
    json_t *order = json_loads(order_text, 0, NULL);
    struct process_limits limits;
    size_t n, i = 0;

    assert_non_null(order);
    limits = process_limits_of(order);
    n = process_limits_settings(&limits, controller, version, settings);
    for (; expected[2 * i] != NULL; i++) {
        assert_true(i < n);
        assert_string_equal(settings[i].file, expected[2 * i]);
        assert_string_equal(settings[i].text, expected[2 * i + 1]);
    }
    assert_int_equal(n, i);
    json_decref(order);
}

#define SETTINGS(order, controller, version, ...)                                                  \
    assert_setting(order, controller, version, (const char *const[]){ __VA_ARGS__ })

TEST(test_memory)
{
    const char *order = "{\"memory_bytes\":67108864}";

    SETTINGS(order, CGROUP_MEMORY, 2, "memory.max", "67108864", NULL);
    SETTINGS(order, CGROUP_MEMORY, 1, "memory.limit_in_bytes", "67108864", NULL);
    SETTINGS("{\"memory_bytes\":0}", CGROUP_MEMORY, 2, NULL);
    SETTINGS("{\"memory_bytes\":-1}", CGROUP_MEMORY, 1, NULL);
}

TEST(test_cpu)
{
    SETTINGS("{\"cpu_millicores\":500}", CGROUP_CPU, 2, "cpu.weight", "50", NULL);
    SETTINGS("{\"cpu_millicores\":500}", CGROUP_CPU, 1, "cpu.shares", "512", NULL);
    SETTINGS("{\"cpu_millicores\":1}", CGROUP_CPU, 2, "cpu.weight", "1", NULL);
    SETTINGS("{\"cpu_millicores\":1}", CGROUP_CPU, 1, "cpu.shares", "10", NULL);
    SETTINGS("{\"cpu_millicores\":9223372036854775807}", CGROUP_CPU, 2, "cpu.weight", "10000",
             NULL);
    SETTINGS("{\"cpu_millicores\":1500,\"cpu_quota\":true}", CGROUP_CPU, 2, "cpu.weight", "150",
             "cpu.max", "150000 100000", NULL);
    SETTINGS("{\"cpu_millicores\":1500,\"cpu_quota\":true}", CGROUP_CPU, 1, "cpu.shares", "1536",
             "cpu.cfs_quota_us", "150000", NULL);
    SETTINGS("{\"cpu_millicores\":1,\"cpu_quota\":true}", CGROUP_CPU, 1, "cpu.shares", "10",
             "cpu.cfs_quota_us", "1000", NULL); /* less the kernel does not take */
    SETTINGS("{\"cpu_millicores\":0,\"cpu_quota\":true}", CGROUP_CPU, 2, "cpu.weight", "1", NULL);
}

TEST(test_tasks_and_cpus)
{
    SETTINGS("{\"tasks_max\":64}", CGROUP_PIDS, 2, "pids.max", "64", NULL);
    SETTINGS("{}", CGROUP_PIDS, 1, "pids.max", "4096", NULL);
    SETTINGS("{\"cpus\":\"0-3,8\"}", CGROUP_CPUSET, 2, "cpuset.cpus", "0-3,8", NULL);
    SETTINGS("{\"cpus\":\"\"}", CGROUP_CPUSET, 2, NULL);
}

TEST(test_where_a_process_is)
{
    struct cgroup_paths paths = { 0 };

    cgroup_paths_take(&paths, "0::/a/b\n");
    cgroup_paths_take(&paths, "4:memory:/c\n");
    cgroup_paths_take(&paths, "3:cpu,cpuacct:/d:e\n");
    cgroup_paths_take(&paths, "2:cpuset2,net_cls:/f\n");
    cgroup_paths_take(&paths, "1:name=systemd:/g\n");
    cgroup_paths_take(&paths, "nonsense\n");
    cgroup_paths_take(&paths, "5:pids");
    assert_string_equal(paths.unified, "/a/b");
    assert_string_equal(paths.legacy[CGROUP_MEMORY], "/c");
    assert_string_equal(paths.legacy[CGROUP_CPU], "/d:e");
    assert_string_equal(paths.legacy[CGROUP_CPUSET], "");
    assert_string_equal(paths.legacy[CGROUP_PIDS], "");
}

TEST(test_the_same_path_everywhere)
{
    struct cgroup_paths paths = { .unified = "/edl.slice" };

    cgroup_paths_everywhere(&paths, paths.unified);
    assert_string_equal(paths.unified, "/edl.slice");
    assert_string_equal(paths.legacy[CGROUP_MEMORY], "/edl.slice");
}

TEST(test_home_in_an_order)
{
    struct cgroup_home home = { .paths = { .unified = "/a", .legacy[CGROUP_MEMORY] = "/c/d" },
                                .by_unified[CGROUP_PIDS] = true };
    struct cgroup_home back;
    json_t *json;
    static const char *const refused[] = { "{}", "{\"unified\":1}", "{\"unified\":\"a\"}",
                                           "{\"unified\":\"/a/../b\"}",
                                           "{\"unified\":\"/\",\"legacy\":{\"memory\":\"x\"}}" };

    json = cgroup_home_to_json(&home);
    assert_int_equal(cgroup_home_from_json(json, &back), 0);
    json_decref(json);
    assert_memory_equal(&back, &home, sizeof back);
    assert_true(cgroup_home_holds(&back, CGROUP_MEMORY) && cgroup_home_holds(&back, CGROUP_PIDS));
    assert_false(cgroup_home_holds(&back, CGROUP_CPU));
    for (size_t i = 0; i < ELEMENTS(refused); i++) {
        json = json_loads(refused[i], 0, NULL);
        assert_int_equal(cgroup_home_from_json(json, &back), -EINVAL);
        json_decref(json);
    }
}

TEST(test_guard)
{
    assert_int_equal(process_guard_tasks(32768, 192000), 16384);
    assert_int_equal(process_guard_tasks(4194304, 192000), 96000);
    assert_int_equal(process_guard_tasks(301, 192000), 1024);
    assert_int_equal(process_guard_tasks(UINT64_MAX, 192000), 96000); /* not readable */
}
