/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_machine.c - what agents tell of their machines: every member wrong once, told again as
 * it was, added up */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/nodes/machine.h"
#include "shared/account_name.h"
#include "shared/error.h"
#include "tests/unit/scheduler_fixture.h"
#include "tests/unit/test.h"

#define WHOLE                                                                                      \
    "{\"load_milli\":[80,70,60],\"memory_available_bytes\":4096,"                                  \
    "\"pressure\":{\"cpu\":{\"some_ppm\":1000},\"io\":{\"some_ppm\":20,\"full_ppm\":10}},"         \
    "\"disks\":[{\"name\":\"state\",\"free_bytes\":3,\"size_bytes\":9}],"                          \
    "\"nics\":[{\"name\":\"eno1\",\"received_bytes\":7,\"sent_bytes\":8,"                          \
    "\"speed_mbit_per_s\":1000},{\"name\":\"eno2\",\"received_bytes\":0,\"sent_bytes\":0}]}"

static struct machine *read_machine(const char *text, int *ret, struct edl_error *error)
{
    json_t *machine = json_loads(text, JSON_DECODE_ANY, NULL);
    json_t *body = json_pack("{s:o}", "machine", machine);
    struct machine *read;

    assert_non_null(body);
    *error = (struct edl_error){ 0 };
    *ret = machine_from_json(body, &read, error);
    json_decref(body);
    return read;
}

static struct machine *good(const char *text)
{
    struct edl_error error;
    int r;
    struct machine *machine = read_machine(text, &r, &error);

    if (r != 0)
        fail_msg("%s", error.text);
    return machine;
}

TEST(test_told_as_it_was)
{
    static const char *const rows[][2] = {
        { WHOLE, WHOLE },
        { "{\"limits\":[\"memory\",\"tasks\"]}",
          "{\"pressure\":{},\"disks\":[],\"nics\":[],\"limits\":[\"memory\",\"tasks\"]}" },
        { "{}", "{\"pressure\":{},\"disks\":[],\"nics\":[]}" },
        { "{\"of a later version\":1}", "{\"pressure\":{},\"disks\":[],\"nics\":[]}" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct machine *machine = good(rows[i][0]);
        json_t *json = machine_to_json(machine), *expected = json_loads(rows[i][1], 0, NULL);

        if (!json_equal(json, expected))
            fail_msg("%s", json_dumps(json, JSON_COMPACT));
        json_decref(json);
        json_decref(expected);
        (void)machine_free(machine);
    }
    assert_null(good("null"));
}

/* The version of an agent stands beside its figures; one that is none costs nothing. */
TEST(test_version_of_the_agent)
{
    static const char *const rows[][2] = {
        { "\"1.2.3~rc1+git\"", "1.2.3~rc1+git" },
        { "7", NULL },
        { "\"<b>1</b>\"", NULL },
        { "\"1234567890.234567890.234567890.2\"", NULL },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char text[128];
        struct edl_error error = { 0 };
        struct machine *machine;
        json_t *body, *json;

        (void)snprintf(text, sizeof text, "{\"version\":%s,\"machine\":{}}", rows[i][0]);
        body = json_loads(text, 0, NULL);
        assert_int_equal(machine_from_json(body, &machine, &error), 0);
        json = machine_to_json(machine);
        if (rows[i][1] == NULL)
            assert_null(json_object_get(json, "version"));
        else
            assert_string_equal(json_string_value(json_object_get(json, "version")), rows[i][1]);
        json_decref(json);
        json_decref(body);
        (void)machine_free(machine);
    }
}

TEST(test_refused)
{
    static const struct {
        const char *machine, *pointer;
    } rows[] = {
        { "1", "/machine" },
        { "{\"load_milli\":[1,2]}", "/machine/load_milli" },
        { "{\"load_milli\":[1,2,3,4]}", "/machine/load_milli" },
        { "{\"load_milli\":[1,2,-3]}", "/machine/load_milli" },
        { "{\"load_milli\":[1,2,2147483648]}", "/machine/load_milli" },
        { "{\"memory_available_bytes\":-1}", "/machine/memory_available_bytes" },
        { "{\"pressure\":[]}", "/machine/pressure" },
        { "{\"limits\":{}}", "/machine/limits" },
        { "{\"limits\":[1]}", "/machine/limits" },
        { "{\"limits\":[\"\\u001b\"]}", "/machine/limits" },
        { "{\"pressure\":{\"io\":1}}", "/machine/pressure/io" },
        { "{\"pressure\":{\"io\":{\"full_ppm\":1000001}}}", "/machine/pressure/io/full_ppm" },
        { "{\"disks\":{}}", "/machine/disks" },
        { "{\"disks\":[1]}", "/machine/disks/0/name" },
        { "{\"disks\":[1,2,3,4,5]}", "/machine/disks" },
        { "{\"disks\":[{\"name\":\"a\",\"size_bytes\":1}]}", "/machine/disks/0/free_bytes" },
        { "{\"nics\":[{\"name\":\"an interface with a name of 32\"}]}",
          "/machine/nics/0/received_bytes" },
        { "{\"nics\":[{\"name\":\"an interface with a name of 32 ch\"}]}", "/machine/nics/0/name" },
        { "{\"nics\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", "/machine/nics" },
        { "{\"gpus\":{}}", "/machine/gpus" },
        { "{\"gpus\":[1]}", "/machine/gpus/0/uuid" },
        { "{\"gpus\":[{\"uuid\":\"a\",\"pci_bus_id\":7}]}", "/machine/gpus/0/pci_bus_id" },
        { "{\"gpus\":[{\"uuid\":\"a\",\"pci_bus_id\":\"\\u001b[2J\"}]}",
          "/machine/gpus/0/pci_bus_id" },
        { "{\"gpus\":[{\"uuid\":\"a\",\"pci_bus_id\":\"b\",\"utilisation_ppm\":1000001}]}",
          "/machine/gpus/0/utilisation_ppm" },
        { "{\"gpus\":[{\"uuid\":\"a\",\"pci_bus_id\":\"b\",\"strangers\":7}]}",
          "/machine/gpus/0/strangers" },
        { "{\"gpus\":[{\"uuid\":\"a\",\"pci_bus_id\":\"b\",\"strangers\":[{\"pid\":1}]}]}",
          "/machine/gpus/0/strangers/0/user" },
        { "{\"gpus\":[{\"uuid\":\"a\",\"pci_bus_id\":\"b\",\"strangers\":"
          "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}",
          "/machine/gpus/0" },
        { "{\"nics\":[{\"name\":\"a\",\"received_bytes\":1,\"sent_bytes\":1,"
          "\"speed_mbit_per_s\":\"x\"}]}",
          "/machine/nics/0/speed_mbit_per_s" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error;
        int r;
        struct machine *machine = read_machine(rows[i].machine, &r, &error);

        if (r != -EINVAL || machine != NULL || !streq(error.pointer, rows[i].pointer))
            fail_msg("%s: %d, %s (%s)", rows[i].machine, r, error.text, error.pointer);
    }
}

/* A directory has long names: no reason to lose a node's report. */
TEST(test_who_is_on_a_gpu_has_a_name_of_any_length)
{
    char name[ACCOUNT_NAME_MAX + 1] = "", text[ACCOUNT_NAME_MAX + 128];
    struct machine *machine;

    memset(name, 'x', ACCOUNT_NAME_MAX);
    (void)snprintf(text, sizeof text,
                   "{\"gpus\":[{\"uuid\":\"a\",\"pci_bus_id\":\"b\",\"strangers\":"
                   "[{\"pid\":1,\"user\":\"%s\"}]}]}",
                   name);
    machine = good(text);
    assert_non_null(machine);
    (void)machine_free(machine);
}

#define ALICE "{\"pid\":7,\"user\":\"alice\",\"memory_bytes\":5}"
#define GPUS                                                                                       \
    "[{\"uuid\":\"GPU-a\",\"pci_bus_id\":\"00:3B\",\"strangers\":[]},"                             \
    "{\"uuid\":\"GPU-b\",\"pci_bus_id\":\"00:AF\",\"name\":\"A100\",\"memory_total_bytes\":9,"     \
    "\"memory_used_bytes\":8,\"utilisation_ppm\":1000000,\"strangers\":[" ALICE "]}]"

TEST(test_gpus_and_who_is_on_them)
{
    struct machine *machine = good("{\"gpus\":" GPUS "}");
    json_t *expected = json_loads(GPUS, 0, NULL);
    struct node node = { .offer.gpus = 3, .gpus_foreign = 0x6 };
    char text[128];

    assert_true(json_equal(machine->gpus, expected));
    json_decref(expected);
    assert_string_equal(machine_say_gpus(machine, &node, text, sizeof text),
                        "GPU 1 is held by pid 7 of alice, GPU 2 cannot be looked at");
    assert_string_equal(machine_say_gpus(machine, &node, text, 20), "GPU 1 is held by pi");
    node.gpus_foreign = 0;
    assert_string_equal(machine_say_gpus(NULL, &node, text, sizeof text), "");
    (void)machine_free(machine);
}

static void join(struct cluster *cluster, const char *name)
{
    const struct node_offer offer = { .cpu_millicores = 1000, .port_first = 1, .port_last = 2 };
    struct node *node;

    assert_int_equal(cluster_join_node(cluster, name, "", &offer, (struct instant){ 1, 1, 0 },
                                       &node, NULL),
                     0);
}

TEST(test_sums)
{
    struct cluster *cluster = new_cluster();
    struct machines machines = { 0 };
    struct machine_sums sums = machines_sum(&machines, cluster);

    assert_int_equal(sums.disk_free_least_bytes, 0);
    join(cluster, "a");
    join(cluster, "b");
    join(cluster, "gone");
    machines_take(&machines, "a", good(WHOLE));
    machines_take(&machines, "b", good(WHOLE));
    machines_take(&machines, "gone", good(WHOLE));
    machines_take(&machines, "never joined", good(WHOLE));
    machines_take(&machines, "b",
                  good("{\"load_milli\":[5,0,0],\"disks\":[{\"name\":\"state\",\"free_bytes\":2,"
                       "\"size_bytes\":9}],\"pressure\":{\"io\":{\"some_ppm\":30}}}"));
    cluster_node(cluster, "gone")->state = NODE_LOST;
    sums = machines_sum(&machines, cluster);
    assert_int_equal(sums.memory_available_bytes, 4096);
    assert_int_equal(sums.load_milli, 85);
    assert_int_equal(sums.disk_free_least_bytes, 2);
    assert_int_equal(sums.pressure_most_ppm[PRESSURE_CPU], 1000);
    assert_int_equal(sums.pressure_most_ppm[PRESSURE_MEMORY], 0);
    assert_int_equal(sums.pressure_most_ppm[PRESSURE_IO], 30);
    machines_forget(&machines, "b");
    machines_forget(&machines, "b");
    assert_null(machines_find(&machines, "b"));
    assert_non_null(machines_find(&machines, "a"));
    machines_done(&machines);
    cluster_node(cluster, "gone")->state = NODE_READY;
    (void)cluster_free(cluster);
}

TEST(test_traffic_only_grows)
{
    static const struct {
        const char *nics;
        uint64_t received, sent; /* after it */
    } rows[] = {
        { "{\"nics\":[{\"name\":\"a\",\"received_bytes\":100,\"sent_bytes\":50}]}", 0, 0 },
        { "{\"nics\":[{\"name\":\"a\",\"received_bytes\":130,\"sent_bytes\":51}]}", 30, 1 },
        { "{\"nics\":[{\"name\":\"a\",\"received_bytes\":5,\"sent_bytes\":6}]}", 35, 7 },
        { "{\"nics\":[{\"name\":\"b\",\"received_bytes\":900,\"sent_bytes\":900}]}", 35, 7 },
        { "{\"nics\":[{\"name\":\"a\",\"received_bytes\":900,\"sent_bytes\":900},"
          "{\"name\":\"b\",\"received_bytes\":901,\"sent_bytes\":900}]}",
          36, 7 },
    };
    struct machines machines = { 0 };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        machines_take(&machines, "n", good(rows[i].nics));
        assert_int_equal(machines.received_bytes, rows[i].received);
        assert_int_equal(machines.sent_bytes, rows[i].sent);
    }
    machines_done(&machines);
}
