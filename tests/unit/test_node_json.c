/* SPDX-License-Identifier: Apache-2.0 */
/* test_node_json.c - an agent's words on its node, every member wrong once; the holder of each
 * GPU */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <utlist.h>

#include "scheduler/json/job_json.h"
#include "scheduler/json/node_json.h"
#include "shared/agent_wire.h"
#include "shared/error.h"
#include "tests/unit/scheduler_fixture.h"
#include "tests/unit/test.h"

/* A whole offer with these members, {"gpus":4} for example, in the place of its own. */
static int read_with(const char *members, struct node_offer *ret, struct edl_error *error)
{
    json_t *body =
        json_pack("{s:s,s:i,s:i,s:i,s:i,s:i}", "address", "10.0.0.7", "cpu_millicores", 4000,
                  "memory_bytes", 1 << 30, "gpus", 4, "port_first", 20000, "port_last", 20099);
    json_t *more = json_loads(members, 0, NULL);
    int r;

    assert_non_null(more);
    assert_int_equal(json_object_update_new(body, more), 0);
    memset(ret, 0xff, sizeof *ret); /* nothing of it may be left */
    *error = (struct edl_error){ 0 };
    r = node_offer_from_json(body, ret, error);
    json_decref(body);
    return r;
}

TEST(test_offer_without_what_it_need_not_say)
{
    static const char *const rows[] = { "{}", "{\"labels\":null,\"gpu_numa\":null}",
                                        "{\"labels\":{},\"gpu_numa\":[]}" };
    static const uint8_t none[NODE_GPUS_MAX];

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct node_offer offer;
        struct edl_error error;

        assert_int_equal(read_with(rows[i], &offer, &error), 0);
        assert_string_equal(offer.address, "10.0.0.7");
        assert_int_equal(offer.gpus, 4);
        assert_int_equal(offer.numa_nodes, 0);
        assert_memory_equal(offer.gpu_numa, none, sizeof none);
        assert_int_equal(offer.labels.n, 0);
    }
}

TEST(test_what_a_node_says_steers_no_terminal)
{
    struct node_offer offer;
    struct edl_error error;

    assert_int_equal(read_with("{\"address\":\"10.0.0.8\\n\\u001b[2J\"}", &offer, &error), 0);
    assert_string_equal(offer.address, "10.0.0.8??[2J");
}

TEST(test_offer_with_everything)
{
    struct node_offer offer;
    struct edl_error error;

    assert_int_equal(read_with("{\"numa_nodes\":2,\"gpu_numa\":[0,1,1],"
                               "\"labels\":{\"rack\":\"r1\",\"a/b\":\"\"}}",
                               &offer, &error),
                     0);
    assert_int_equal(offer.numa_nodes, 2);
    assert_memory_equal(offer.gpu_numa, ((uint8_t[]){ 0, 1, 1, 0 }), 4);
    assert_int_equal(offer.labels.n, 2);
    assert_string_equal(labels_get(&offer.labels, "rack"), "r1");
    assert_string_equal(labels_get(&offer.labels, "a/b"), "");
}

TEST(test_offer_refused)
{
    static const struct {
        const char *members, *pointer, *text;
    } rows[] = {
        { "{\"address\":null}", "/address", "is missing" },
        { "{\"gpus\":65}", "/gpus", "from 0 to 64" },
        { "{\"port_first\":30000}", "/port_last", "below port_first" },
        { "{\"numa_nodes\":256}", "/numa_nodes", "from 0 to 255" },
        { "{\"gpu_numa\":{}}", "/gpu_numa", "not a list of at most 4" },
        { "{\"gpu_numa\":[0,0,0,0,0]}", "/gpu_numa", "not a list of at most 4" },
        { "{\"gpu_numa\":[0,1]}", "/gpu_numa/1", "NUMA node from 0 to 0" },
        { "{\"numa_nodes\":2,\"gpu_numa\":[1,2]}", "/gpu_numa/1", "NUMA node from 0 to 1" },
        { "{\"numa_nodes\":2,\"gpu_numa\":[-1]}", "/gpu_numa/0", "NUMA node" },
        { "{\"numa_nodes\":2,\"gpu_numa\":[0,\"0\"]}", "/gpu_numa/1", "NUMA node" },
        { "{\"labels\":[]}", "/labels", "not an object" },
        { "{\"labels\":{\"rack\":1}}", "/labels/rack", "not a string" },
        { "{\"labels\":{\"a/b~\":\"\"}}", "/labels/a~1b~0", "cannot be a label's name" },
        { "{\"labels\":{\"rack\":\"a b\"}}", "/labels/rack", "cannot be the value" },
        { "{\"labels\":{\"a\":\"\",\"b\":\"\",\"c\":\"\",\"d\":\"\",\"e\":\"\",\"f\":\"\","
          "\"g\":\"\",\"h\":\"\",\"i\":\"\"}}",
          "/labels/i", "more than 8" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct node_offer offer;
        struct edl_error error;
        int r = read_with(rows[i].members, &offer, &error);

        if (r != -EINVAL || !streq(error.pointer, rows[i].pointer) ||
            strstr(error.text, rows[i].text) == NULL)
            fail_msg("%s: %d, %s (%s)", rows[i].members, r, error.text, error.pointer);
    }
}

TEST(test_idle_gpus)
{
    json_t *body = json_loads("{\"gpus_foreign\":[0],\"gpus_idle\":[1,5]}", 0, NULL);
    json_t *bad = json_loads("{\"gpus_idle\":[64]}", 0, NULL);
    struct edl_error error = { 0 };
    uint64_t mask;

    assert_int_equal(gpus_idle_from_json(body, &mask, NULL), 0);
    assert_int_equal(mask, 0x22);
    assert_int_equal(gpus_idle_from_json(bad, &mask, &error), -EINVAL);
    assert_non_null(strstr(error.text, "/gpus_idle/0"));
    json_decref(bad);
    json_decref(body);
}

TEST(test_foreign_ports)
{
    static const struct {
        const char *body;
        int r;
        size_t n;
    } rows[] = {
        { "{}", 0, 0 },
        { "{\"ports_foreign\":[]}", 0, 0 },
        { "{\"ports_foreign\":[1,20000,65535]}", 0, 3 },
        { "{\"ports_foreign\":[0]}", 0, 0 },
        { "{\"ports_foreign\":[65536]}", 0, 0 },
        { "{\"ports_foreign\":[20001,20001,-1,65536,7,65535,1]}", 0, 2 },
        { "{\"ports_foreign\":[\"1\",null,65535]}", 0, 1 },
        { "{\"ports_foreign\":1}", -EINVAL, 0 },
    };
    json_t *many = json_array(), *body = json_pack("{s:o}", "ports_foreign", many);
    uint16_t *ports = NULL;
    size_t n;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        json_t *told = json_loads(rows[i].body, 0, NULL);

        ports = NULL;
        n = 0;
        assert_int_equal(ports_foreign_from_json(told, &ports, &n, NULL), rows[i].r);
        assert_int_equal(n, rows[i].n);
        if (n > 0)
            assert_int_equal(ports[n - 1], 65535);
        free(ports);
        json_decref(told);
    }
    for (int i = 1; i <= AGENT_PORTS_FOREIGN_MAX + 1; i++)
        (void)json_array_append_new(many, json_integer(i));
    (void)json_array_insert_new(many, 1, json_integer(1));
    assert_int_equal(ports_foreign_from_json(body, &ports, &n, NULL), 0);
    assert_int_equal(n, AGENT_PORTS_FOREIGN_MAX);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ports[i], i + 1);
    free(ports);
    json_decref(body);
}

TEST(test_foreign_gpus)
{
    static const struct {
        const char *body;
        int r;
        uint64_t mask;
    } rows[] = {
        { "{}", 0, 0 },
        { "{\"gpus_foreign\":[]}", 0, 0 },
        { "{\"gpus_foreign\":[63,0,0]}", 0, UINT64_C(1) << 63 | 1 },
        { "{\"gpus_foreign\":[64]}", -EINVAL, 0 },
        { "{\"gpus_foreign\":[-1]}", -EINVAL, 0 },
        { "{\"gpus_foreign\":[\"1\"]}", -EINVAL, 0 },
        { "{\"gpus_foreign\":1}", -EINVAL, 0 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        json_t *body = json_loads(rows[i].body, 0, NULL);
        uint64_t mask;

        assert_int_equal(gpus_foreign_from_json(body, &mask, NULL), rows[i].r);
        assert_int_equal(mask, rows[i].mask);
        json_decref(body);
    }
}

static void assert_json(json_t *take_json, const char *expected)
{
    char *text = json_dumps(take_json, JSON_COMPACT | JSON_ENCODE_ANY);

    assert_string_equal(text, expected);
    free(text);
    json_decref(take_json);
}

TEST(test_node_shows_who_holds_which_gpu)
{
    struct cluster *cluster = new_cluster();
    struct job *job = run_job(cluster);
    struct node *node = cluster_node(cluster, "n1");
    struct process *process;
    json_t *json;

    node->offer.gpus = 3;
    node->offer.numa_nodes = 2;
    node->offer.gpu_numa[2] = 1;
    (void)labels_set(&node->offer.labels, "rack", "r1", NULL);
    DL_FOREACH2(job->processes, process, job_next)
    if (process->role == 1 && process->index == 1)
        break;
    process->gpu_mask = 5;
    json = node_to_json(node, NULL);
    assert_json(json_incref(json_object_get(json, "labels")), "{\"rack\":\"r1\"}");
    assert_int_equal(json_integer_value(json_object_get(json, "gpus")), 3);
    assert_int_equal(json_integer_value(json_object_get(json, "numa_nodes")), 2);
    assert_json(json_incref(json_object_get(json, "devices")),
                "[{\"device\":0,\"numa\":0,\"job\":\"example\",\"role\":\"trainer\",\"index\":1},"
                "{\"device\":1,\"numa\":0},"
                "{\"device\":2,\"numa\":1,\"job\":\"example\",\"role\":\"trainer\",\"index\":1}]");
    json_decref(json);
    json = process_to_json(process);
    assert_json(json_incref(json_object_get(json, "gpus")), "[0,2]");
    json_decref(json);
    assert_json(gpus_to_json(UINT64_C(1) << 63), "[63]");
    assert_json(gpus_to_json(0), "[]");
    (void)cluster_free(cluster);
}
