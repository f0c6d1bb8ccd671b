/* SPDX-License-Identifier: Apache-2.0 */
/* test_reconcile.c - desired x observed, the process life cycle, identities, orders, log text */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/foreign.h"
#include "agent/machine/inventory.h"
#include "agent/logs/logs.h"
#include "agent/link/orders.h"
#include "agent/core/reconcile.h"
#include "agent/core/unit_sm.h"
#include "agent/logs/utf8.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define ID(index_, incarnation_)                                                                   \
    {                                                                                              \
        .job_id = 7, .role = "trainer", .index = (index_), .incarnation = (incarnation_)           \
    }

static struct reconcile_action actions[16];

static size_t plan(const struct reconcile_order *orders, size_t n_orders,
                   const struct reconcile_process *processes, size_t n_processes)
{
    return reconcile_plan(orders, n_orders, processes, n_processes, true, actions);
}

TEST(test_plan_new_order_starts)
{
    const struct reconcile_order orders[] = { { ID(0, 1), true, 5, 0 } };

    assert_int_equal(plan(orders, 1, NULL, 0), 1);
    assert_int_equal(actions[0].kind, RECONCILE_START);
    assert_int_equal(actions[0].idx_order, 0);
}

TEST(test_plan_no_lease_waits)
{
    const struct reconcile_order orders[] = { { ID(0, 1), true, 5, 0 } };

    assert_int_equal(reconcile_plan(orders, 1, NULL, 0, false, actions), 0);
}

TEST(test_plan_running_as_ordered_does_nothing)
{
    const struct reconcile_order orders[] = { { ID(0, 1), true, 5, 0 }, { ID(1, 1), false, 5, 0 } };
    const struct reconcile_process processes[] = { { ID(0, 1), UNIT_RUNNING, false, 9 },
                                                   { ID(1, 1), UNIT_STOPPING, false, 9 } };

    assert_int_equal(plan(orders, 2, processes, 2), 0);
}

TEST(test_plan_stop_order_stops_with_its_grace)
{
    const struct reconcile_order orders[] = { { ID(0, 1), false, 5, 0 } };
    const struct reconcile_process processes[] = { { ID(0, 1), UNIT_RUNNING, false, 9 } };

    assert_int_equal(plan(orders, 1, processes, 1), 1);
    assert_int_equal(actions[0].kind, RECONCILE_STOP);
    assert_int_equal(actions[0].grace_us, 5);
}

TEST(test_plan_unlisted_is_stopped_then_forgotten)
{
    const struct reconcile_process running[] = { { ID(0, 1), UNIT_PREPARING, false, 9 } };
    const struct reconcile_process exited[] = { { ID(0, 1), UNIT_EXITED, false, 9 } };

    assert_int_equal(plan(NULL, 0, running, 1), 1);
    assert_int_equal(actions[0].kind, RECONCILE_STOP);
    assert_int_equal(actions[0].grace_us, 9);
    assert_int_equal(plan(NULL, 0, exited, 1), 1);
    assert_int_equal(actions[0].kind, RECONCILE_FORGET);
}

TEST(test_plan_exited_stays_while_listed)
{
    const struct reconcile_order orders[] = { { ID(0, 1), true, 5, 0 } };
    const struct reconcile_process processes[] = { { ID(0, 1), UNIT_EXITED, false, 9 } };

    assert_int_equal(plan(orders, 1, processes, 1), 0);
}

TEST(test_plan_frozen_is_thawed_when_it_may_start)
{
    const struct reconcile_order orders[] = { { ID(0, 1), true, 5, 0 } };
    const struct reconcile_order stops[] = { { ID(0, 1), false, 5, 0 } };
    const struct reconcile_order newer[] = { { ID(0, 1), true, 5, 0 }, { ID(0, 2), true, 5, 0 } };
    struct reconcile_process processes[] = { { ID(0, 1), UNIT_RUNNING, true, 9 } };

    assert_int_equal(reconcile_plan(orders, 1, processes, 1, false, actions), 0);
    assert_int_equal(reconcile_plan(orders, 1, processes, 1, true, actions), 1);
    assert_int_equal(actions[0].kind, RECONCILE_THAW);
    assert_int_equal(actions[0].idx_process, 0);
    /* what is not to run is never thawed, not even to be asked to end */
    assert_int_equal(reconcile_plan(stops, 1, processes, 1, true, actions), 1);
    assert_int_equal(actions[0].kind, RECONCILE_STOP);
    assert_int_equal(reconcile_plan(NULL, 0, processes, 1, true, actions), 1);
    assert_int_equal(actions[0].kind, RECONCILE_STOP);
    assert_int_equal(reconcile_plan(newer, 2, processes, 1, true, actions), 1);
    assert_int_equal(actions[0].kind, RECONCILE_STOP);
    processes[0].state = UNIT_STOPPING;
    assert_int_equal(reconcile_plan(orders, 1, processes, 1, true, actions), 0);
}

TEST(test_plan_newer_waits_until_older_is_gone)
{
    const struct reconcile_order orders[] = { { ID(0, 1), true, 5, 0 }, { ID(0, 2), true, 5, 0 } };
    struct reconcile_process processes[] = { { ID(0, 1), UNIT_RUNNING, false, 9 } };

    assert_int_equal(plan(orders, 2, processes, 1), 1);
    assert_int_equal(actions[0].kind, RECONCILE_STOP);
    processes[0].state = UNIT_STOPPING;
    assert_int_equal(plan(orders, 2, processes, 1), 0);
    processes[0].state = UNIT_EXITED;
    assert_int_equal(plan(orders, 2, processes, 1), 1);
    assert_int_equal(actions[0].kind, RECONCILE_START);
    assert_int_equal(actions[0].idx_order, 1);
}

TEST(test_plan_stale_is_refused)
{
    const struct reconcile_order orders[] = { { ID(0, 1), true, 5, 0 } };
    const struct reconcile_process processes[] = { { ID(0, 2), UNIT_EXITED, false, 9 } };
    const struct reconcile_order both[] = { { ID(0, 2), true, 5, 0 }, { ID(0, 1), true, 5, 0 } };
    size_t n = plan(orders, 1, processes, 1);

    assert_int_equal(n, 2); /* and the newer one, which is not listed, is forgotten */
    assert_int_equal(actions[0].kind, RECONCILE_REFUSE_STALE);
    assert_int_equal(actions[1].kind, RECONCILE_FORGET);
    assert_int_equal(plan(both, 2, NULL, 0), 2);
    assert_int_equal(actions[0].kind, RECONCILE_START);
    assert_int_equal(actions[1].kind, RECONCILE_REFUSE_STALE);
}

TEST(test_plan_other_slots_do_not_matter)
{
    const struct reconcile_order orders[] = { { ID(0, 1), true, 5, 0 }, { ID(1, 9), true, 5, 0 } };
    const struct reconcile_process processes[] = { { ID(1, 9), UNIT_RUNNING, false, 9 } };

    assert_int_equal(plan(orders, 2, processes, 1), 1);
    assert_int_equal(actions[0].kind, RECONCILE_START);
    assert_int_equal(actions[0].idx_order, 0);
}

TEST(test_plan_stop_of_unknown_is_never_started)
{
    const struct reconcile_order orders[] = { { ID(0, 1), false, 5, 0 } };

    assert_int_equal(plan(orders, 1, NULL, 0), 1);
    assert_int_equal(actions[0].kind, RECONCILE_NEVER_STARTED);
}

TEST(test_unit_sm_step_follows_the_table)
{
    enum unit_state next = UNIT_PREPARING;

    assert_int_equal(unit_sm_step(UNIT_PREPARING, UNIT_EVENT_STARTED, &next, NULL), 0);
    assert_int_equal(next, UNIT_RUNNING);
    assert_int_equal(unit_sm_step(UNIT_RUNNING, UNIT_EVENT_STOP, &next, NULL), 0);
    assert_int_equal(next, UNIT_STOPPING);
    assert_int_equal(unit_sm_step(UNIT_STOPPING, UNIT_EVENT_STARTED, &next, NULL), 0);
    assert_int_equal(next, UNIT_STOPPING); /* never taken back */
    assert_int_equal(unit_sm_step(UNIT_STOPPING, UNIT_EVENT_GONE, &next, NULL), 0);
    assert_int_equal(next, UNIT_EXITED);
    assert_int_equal(unit_sm_step(UNIT_EXITED, UNIT_EVENT_STARTED, &next, NULL),
                     EDL_EBADTRANSITION);
    assert_int_equal(next, UNIT_EXITED);
}

TEST(test_process_id_parse_takes_only_what_key_writes)
{
    static const char *const bad[] = { "",
                                       "1.trainer.0",
                                       "1.trainer.0.1.2",
                                       "1..0.1",
                                       "01.trainer.0.1",
                                       "1.tr/../x.0.1",
                                       "1.Tr.0.1",
                                       "1.trainer.-1.1",
                                       "1.trainer.4294967296.1",
                                       "x.trainer.0.1" };
    struct process_id id;
    char key[PROCESS_KEY_SIZE];

    assert_int_equal(process_id_parse("12.trainer.3.4", &id), 0);
    assert_int_equal(id.job_id, 12);
    assert_string_equal(id.role, "trainer");
    assert_int_equal(id.index, 3);
    assert_int_equal(id.incarnation, 4);
    assert_string_equal(process_id_key(&id, key), "12.trainer.3.4");
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        assert_int_equal(process_id_parse(bad[i], &id), -EINVAL);
}

TEST(test_orders_parse_is_all_or_nothing)
{
    static const char good[] =
        "{\"version\":1,\"processes\":[{\"job_id\":1,\"role\":\"trainer\",\"index\":0,"
        "\"incarnation\":2,\"desired\":\"stop\",\"grace_us\":7}],\"logs\":[{\"job_id\":1,"
        "\"role\":\"trainer\",\"index\":0,\"incarnation\":2,\"after\":5,"
        "\"tail_bytes\":100},{\"job_id\":1,\"role\":\"trainer\",\"index\":1,"
        "\"incarnation\":2}]}";
    json_t *answer = json_loads(good, 0, NULL);
    struct orders orders = { 0 };
    struct edl_error error;

    assert_int_equal(orders_parse(answer, &orders, &error), 0);
    assert_int_equal(orders.n, 1);
    assert_false(orders.list[0].run);
    assert_int_equal(orders.list[0].grace_us, 7);
    assert_int_equal(orders.logs[0].after, 5);
    assert_int_equal(orders.logs[0].tail_bytes, 100);
    assert_int_equal(orders.logs[1].after, 0);
    assert_int_equal(orders.logs[1].tail_bytes, NO_TAIL);
    orders_clear(&orders);
    (void)json_array_append_new(json_object_get(answer, "processes"),
                                json_pack("{s:s}", "role", "../x"));
    assert_int_equal(orders_parse(answer, &orders, &error), -EINVAL);
    assert_int_equal(orders.n, 0);
    json_decref(answer);
}

TEST(test_logs_first_byte)
{
    assert_int_equal(logs_first_byte(0, 100, 1000), 900);
    assert_int_equal(logs_first_byte(950, 100, 1000), 950);
    assert_int_equal(logs_first_byte(7, 100, 50), 7);
    assert_int_equal(logs_first_byte(7, NO_TAIL, 1000), 7);
}

static void check_utf8(const char *in, size_t n, bool last, const char *expected, size_t used)
{
    char out[64];
    size_t size;

    assert_int_equal(utf8_sanitise(in, n, last, out, &size), used);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(out, expected, size);
}

TEST(test_utf8_sanitise_replaces_and_waits)
{
    check_utf8("a\xC3\xA4", 3, true, "a\xC3\xA4", 3);
    check_utf8("a\xC3", 2, false, "a", 1);                          /* the rest may come */
    check_utf8("a\xC3", 2, true, "a\xEF\xBF\xBD", 2);               /* it will not */
    check_utf8("\xC0\xAF", 2, true, "\xEF\xBF\xBD\xEF\xBF\xBD", 2); /* overlong */
    check_utf8("\xED\xA0\x80", 3, true, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3); /* surrogate */
    check_utf8("a\0b", 3, true,
               "a\xEF\xBF\xBD"
               "b",
               3);
    check_utf8("\xF0\x9F\x98\x80", 4, true, "\xF0\x9F\x98\x80", 4);
}

TEST(test_inventory_counts_numa_nodes)
{
    static const char *const folders[] = { "node0", "node1", "node12", "power", "nodes" };
    char dir[] = "/tmp/edl-test-numa-XXXXXX";
    char path[80];

    assert_non_null(mkdtemp(dir));
    assert_int_equal(inventory_numa_nodes(dir), 1); /* nothing said: one */
    for (size_t i = 0; i < ELEMENTS(folders); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_int_equal(inventory_numa_nodes(dir), 3);
    for (size_t i = 0; i < ELEMENTS(folders); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
        (void)rmdir(path);
    }
    (void)rmdir(dir);
    assert_int_equal(inventory_numa_nodes(dir), 1);
}

TEST(test_inventory_smooth_reaches_a_steady_value)
{
    assert_int_equal(foreign_smooth(0, 1000, 5 * USEC_PER_SEC), 1000);
    assert_int_equal(foreign_smooth(0, 1000, USEC_PER_SEC), 1000); /* up: at once */
    assert_int_equal(foreign_smooth(0, 1000, USEC_PER_SEC / 2), 500);
    assert_int_equal(foreign_smooth(1000, 0, USEC_PER_SEC), 800); /* down: slowly */
    assert_int_equal(foreign_smooth(1000, 1000, USEC_PER_SEC), 1000);
}
