/* SPDX-License-Identifier: Apache-2.0 */
/* test_order_policy.c - orders for what the node does not offer */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "agent/core/process_id.h"
#include "agent/environment.h"
#include "agent/layout.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ORDER(more_) "{\"job\":\"j\",\"argv\":[\"true\"]," more_ "}"

static void test_orders(void **state)
{
    static const struct {
        const char *order, *wrong; /* NULL: it is for folders to fail, later */
    } rows[] = {
        { ORDER("\"cpu_millicores\":2000,\"memory_bytes\":4096,\"ports\":[20000,20009],"
                "\"env\":{\"EDL_GPUS\":\"0,1\"}"),
          NULL },
        { ORDER("\"cpu_millicores\":2001"), "2001 millicores, this node offers 2000" },
        { ORDER("\"memory_bytes\":4097"), "4097 bytes of memory, this node offers 4096" },
        { ORDER("\"ports\":[20000,19999]"), "port 19999, this node offers 20000-20009" },
        { ORDER("\"ports\":[20010]"), "port 20010" },
        { ORDER("\"ports\":[\"20000\"]"), "port 0" },
        { ORDER("\"env\":{\"EDL_GPUS\":\"0,2\"}"), "a GPU that this node does not offer" },
        { ORDER("\"env\":{\"EDL_GPUS\":\"64\"}"), "EDL_GPUS of the order names '64'" },
        { ORDER("\"env\":{\"EDL_GPUS\":\"0,\"}"), "EDL_GPUS of the order names ''" },
    };
    char nowhere[] = "/proc/nowhere";
    const struct layout layout = { .work_dir = nowhere,
                                   .logs_dir = nowhere,
                                   .output_dir = nowhere };
    const struct process_id id = { .job_id = 1, .role = "trainer", .incarnation = 1 };
    const struct environment_facts facts = { .limits = { 2000, 4096, 2, 20000, 20009 } };

    (void)state;
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        json_t *order = json_loads(rows[i].order, 0, NULL), *made = NULL;
        struct edl_error error = { 0 };
        const char *wrong = rows[i].wrong != NULL ? rows[i].wrong : nowhere;

        assert_non_null(order);
        assert_true(environment_complete(&layout, &id, order, &facts, &made, &error) < 0);
        if (strstr(error.text, wrong) == NULL)
            fail_msg("row %zu: %s, not: %s", i, error.text, wrong);
        json_decref(order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_orders) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
