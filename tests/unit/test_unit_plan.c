/* SPDX-License-Identifier: Apache-2.0 */
/* test_unit_plan.c - what the service manager is asked for, from an order */
#include <errno.h>

#include "agent/supervisor/process_limits.h"
#include "agent/groups/unit_plan.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define KEY "12.trainer.3.7"

static const char *const no_paths[] = { NULL };

static json_t *order_of(const char *text)
{
    json_t *order = json_loads(text, 0, NULL);

    assert_non_null(order);
    return order;
}

static const struct unit_property *find(const struct unit_plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->n_properties; i++)
        if (streq(plan->properties[i].name, name))
            return &plan->properties[i];
    return NULL;
}

static int64_t number_of(const struct unit_plan *plan, const char *name)
{
    const struct unit_property *property = find(plan, name);

    assert_non_null(property);
    assert_int_not_equal(property->type, UNIT_TEXT);
    return property->number;
}

static void assert_text(const struct unit_plan *plan, const char *name, const char *text)
{
    const struct unit_property *property = find(plan, name);

    assert_non_null(property);
    assert_int_equal(property->type, UNIT_TEXT);
    assert_string_equal(property->text, text);
}

static void make(const char *text, const char *const *paths, struct unit_plan *ret)
{
    struct edl_error error = { 0 };
    json_t *order = order_of(text);

    assert_int_equal(unit_plan(KEY, order, paths, ret, &error), 0);
    json_decref(order);
}

TEST(test_names_tell_job_role_index_and_incarnation)
{
    struct unit_plan plan;

    make("{\"job\":\"mnist\"}", no_paths, &plan);
    assert_string_equal(plan.name, "edl-12.trainer.3.7.service");
    assert_string_equal(plan.slice, "edl-12.slice");
    assert_text(&plan, "Slice", "edl-12.slice");
    assert_text(&plan, "Description", "process trainer 3 of EDL job mnist");
}

TEST(test_limits_are_what_was_asked_for)
{
    struct unit_plan plan;

    make("{\"memory_bytes\":1048576,\"cpu_millicores\":2500,\"grace_us\":5000000}", no_paths,
         &plan);
    assert_int_equal(number_of(&plan, "MemoryMax"), 1048576);
    assert_int_equal(number_of(&plan, "CPUWeight"), 250);
    assert_int_equal(number_of(&plan, "TasksMax"), PROCESS_TASKS_MAX);
    assert_int_equal(number_of(&plan, "TimeoutStopUSec"), 35 * USEC_PER_SEC);
    make("{\"cpu_millicores\":1}", no_paths, &plan);
    assert_null(find(&plan, "MemoryMax")); /* 0 would be none at all */
    assert_int_equal(number_of(&plan, "CPUWeight"), 1);
    make("{\"cpu_millicores\":4000000}", no_paths, &plan);
    assert_int_equal(number_of(&plan, "CPUWeight"), 10000);
}

TEST(test_limits_that_the_node_asks_for)
{
    static const uint8_t far[] = { 0x0f, 0, 0x01, 0x80 };
    struct unit_plan plan;

    make("{\"cpu_millicores\":2000}", no_paths, &plan);
    assert_null(find(&plan, "CPUQuotaPerSecUSec"));
    assert_int_equal(plan.n_cpu_bytes, 0);
    make("{\"cpu_millicores\":2500,\"cpu_quota\":true,\"tasks_max\":64,\"cpus\":\"\"}", no_paths,
         &plan);
    assert_int_equal(number_of(&plan, "CPUQuotaPerSecUSec"), 2500000);
    assert_int_equal(number_of(&plan, "TasksMax"), 64);
    assert_int_equal(plan.n_cpu_bytes, 0);
    make("{\"cpu_quota\":true}", no_paths, &plan);
    assert_null(find(&plan, "CPUQuotaPerSecUSec")); /* 0 would be refused */
    make("{\"cpus\":\"0-3,16,31\"}", no_paths, &plan);
    assert_int_equal(plan.n_cpu_bytes, sizeof far);
    assert_memory_equal(plan.cpus, far, sizeof far);
    make("{\"cpus\":\"1023\"}", no_paths, &plan);
    assert_int_equal(plan.n_cpu_bytes, UNIT_CPU_BYTES);
}

TEST(test_limits_are_read_back)
{
    static const char *const limits[] = { "MemoryMax", "CPUWeight", "CPUQuotaPerSecUSec",
                                          "TasksMax", "DevicePolicy" };
    struct unit_plan plan;

    make("{\"cpu_millicores\":1000,\"cpu_quota\":true,\"memory_bytes\":4096}", no_paths, &plan);
    for (size_t i = 0; i < ELEMENTS(limits); i++)
        assert_true(unit_property_limits(find(&plan, limits[i])));
    assert_false(unit_property_limits(find(&plan, "Description")));
}

TEST(test_tmp_is_private_unless_its_supervisor_needs_the_machines)
{
    static const char *const own[] = { "/run/edl/processes/1", "/tmpfs/state", "", NULL };
    static const char *const shared[] = { "/run/edl/processes/1", "/tmp/workspace", NULL };
    static const char *const shared_too[] = { "/var/tmp/x", NULL };
    struct unit_plan plan;

    make("{}", own, &plan);
    assert_int_equal(number_of(&plan, "PrivateTmp"), 1);
    make("{}", shared, &plan);
    assert_int_equal(number_of(&plan, "PrivateTmp"), 0);
    make("{}", shared_too, &plan);
    assert_int_equal(number_of(&plan, "PrivateTmp"), 0);
}

/* wanted: NULL-terminated */
static void assert_hidden(const struct unit_plan *plan, const char *const *wanted)
{
    const struct unit_property *property = find(plan, "InaccessiblePaths");
    size_t n = 0;

    if (wanted[0] == NULL) {
        assert_null(property);
        return;
    }
    assert_int_equal(property->type, UNIT_TEXTS);
    for (; wanted[n] != NULL; n++)
        assert_string_equal(property->texts[n], wanted[n]);
    assert_null(property->texts[n]);
}

TEST(test_daemons_and_others_are_hidden)
{
    static const char *const own[] = { "/run/edl-agent/processes/1", "/run/users", "", NULL };
    static const char *const in_one[] = { "/run/edl-agent", "/run/user/0/edl", NULL };
    static const char *const in_all[] = { "/run/dbus", "/run/user/0/edl", "/run/edl/a", NULL };
    static const char *const all[] = { "-/run/user", "-/run/dbus", "-/run/edl", NULL };
    static const char *const all_and_socket[] = { "-/run/user", "-/run/dbus", "-/run/edl",
                                                  "-/srv/edl/socket", NULL };
    static const char *const others[] = { "-/run/dbus", "-/run/edl", NULL };
    static const char *const socket[] = { "-/run/edl/scheduler.sock", NULL };
    static const char *const none[] = { NULL };
    struct unit_plan plan;

    make("{}", own, &plan);
    assert_text(&plan, "ProtectProc", "invisible");
    assert_hidden(&plan, all);
    make("{}", in_one, &plan); /* where the node's owner has it: `edl dev` of root */
    assert_hidden(&plan, others);
    make("{}", in_all, &plan);
    assert_hidden(&plan, none);
    /* a workspace is the job's to choose */
    make("{\"workspace\":\"/run/user/0/edl\"}", in_one, &plan);
    assert_hidden(&plan, all);
    /* the socket by which the agent reaches the scheduler, wherever that is */
    make("{\"scheduler_socket\":\"/srv/edl/socket\"}", own, &plan);
    assert_hidden(&plan, all_and_socket);
    make("{\"scheduler_socket\":\"/run/edl/scheduler.sock\"}", own, &plan);
    assert_hidden(&plan, all);
    make("{\"scheduler_socket\":\"/run/edl/scheduler.sock\"}", in_all, &plan);
    assert_hidden(&plan, socket);
}

TEST(test_devices_are_those_that_were_granted)
{
    struct unit_plan plan;

    make("{\"env\":{\"EDL_GPUS\":\"\"}}", no_paths, &plan);
    assert_text(&plan, "DevicePolicy", "closed");
    assert_int_equal(plan.n_devices, 0);
    make("{\"env\":{\"EDL_GPUS\":\"0,13\"}}", no_paths, &plan);
    assert_int_equal(plan.n_devices, 5);
    assert_string_equal(plan.devices[0], "/dev/nvidia0");
    assert_string_equal(plan.devices[1], "/dev/nvidia13");
    assert_string_equal(plan.devices[2], "/dev/nvidiactl");
    make("{\"env\":{\"EDL_GPUS\":\"0,2\"},\"gpu_minors\":[3,1]}", no_paths, &plan);
    assert_string_equal(plan.devices[0], "/dev/nvidia3");
    assert_string_equal(plan.devices[1], "/dev/nvidia1");
}

TEST(test_what_is_no_order_is_refused)
{
    static const struct {
        const char *key, *order;
    } rows[] = {
        { "12.trainer.3", "{}" },
        { "../../x", "{}" },
        { KEY, "{\"env\":{\"EDL_GPUS\":\"0,\\/..\\/sda\"}}" },
        { KEY, "{\"env\":{\"EDL_GPUS\":\"1;2\"}}" },
        { KEY, "{\"env\":{\"EDL_GPUS\":\"-1\"}}" },
        { KEY, "{\"cpus\":\"0-\"}" },
        { KEY, "{\"cpus\":\"0,4096\"}" },
    };
    struct unit_plan plan;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };
        json_t *order = order_of(rows[i].order);

        assert_int_equal(unit_plan(rows[i].key, order, no_paths, &plan, &error), -EINVAL);
        assert_string_not_equal(error.text, "");
        json_decref(order);
    }
}

TEST(test_a_unit_belongs_to_the_process_it_was_made_for)
{
    static const struct {
        const char *cgroup;
        bool is;
    } rows[] = {
        { "/edl.slice/edl-12.slice/edl-" KEY ".service", true },
        { "/edl.slice/edl-12.slice/edl-" KEY "-2.service", true }, /* the name was taken */
        { "/edl.slice/edl-12.slice/edl-" KEY "1.service", false }, /* another incarnation */
        { "/edl.slice/edl-12.slice/edl-" KEY, false },
        { "/system.slice/edl-agent.service", false },
        { "/system.slice/other-" KEY ".service", false },
        { "/", false },
        { "", false },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        assert_int_equal(unit_is_of(rows[i].cgroup, KEY), rows[i].is);
}
