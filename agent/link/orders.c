/* SPDX-License-Identifier: Apache-2.0 */
/* orders.c - the scheduler's orders, checked
 *
 * All or nothing on purpose: a process that is not listed is stopped, so an entry that was skipped
 * because it could not be read would end a healthy process. */
#include "agent/link/orders.h"

#include <errno.h>

#include "agent/processes/process_id_json.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "shared/orders_max.h"

#define DEFAULT_GRACE_US (30 * USEC_PER_SEC)

uint64_t orders_owner(const json_t *order)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *at = json_text(order, "submitter"); *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return hash;
}

static int parse_order(const json_t *object, struct reconcile_order *ret, struct edl_error *error)
{
    const char *desired = json_string_value(json_object_get(object, "desired"));
    const json_t *grace = json_object_get(object, "grace_us");
    int r = process_id_from_json(object, &ret->id, error);

    if (r < 0)
        return r;
    if (desired == NULL || (!streq(desired, "run") && !streq(desired, "stop")))
        return edl_error_set(error, -EINVAL, "'desired' is neither run nor stop");
    ret->run = streq(desired, "run");
    ret->owner = orders_owner(object);
    ret->grace_us = json_is_integer(grace) && json_integer_value(grace) >= 0
                        ? (uint64_t)json_integer_value(grace)
                        : DEFAULT_GRACE_US;
    return 0;
}

static int parse_processes(const json_t *array, struct orders *orders, struct edl_error *error)
{
    size_t n = json_array_size(array);

    if (!json_is_array(array) || n > ORDERS_MAX)
        return edl_error_set(error, -EINVAL, "'processes' is not a list of at most %u", ORDERS_MAX);
    orders->list = xcalloc(n, sizeof *orders->list);
    orders->documents = xcalloc(n, sizeof *orders->documents);
    for (; orders->n < n; orders->n++) {
        json_t *document = json_array_get(array, orders->n);
        int r = parse_order(document, &orders->list[orders->n], error);

        if (r < 0) {
            edl_error_prefix(error, "order %zu: ", orders->n);
            return r;
        }
        orders->documents[orders->n] = json_incref(document);
    }
    return 0;
}

static int parse_logs(const json_t *array, struct orders *orders, struct edl_error *error)
{
    size_t n = json_array_size(array); /* absent: none */

    if (n > ORDERS_MAX)
        return edl_error_set(error, -EINVAL, "'logs' has more than %u entries", ORDERS_MAX);
    orders->logs = xcalloc(n, sizeof *orders->logs);
    for (; orders->n_logs < n; orders->n_logs++) {
        const json_t *entry = json_array_get(array, orders->n_logs);
        const json_t *tail = json_object_get(entry, "tail_bytes");
        json_int_t after = json_integer_value(json_object_get(entry, "after"));
        int r = process_id_from_json(entry, &orders->logs[orders->n_logs].id, error);

        if (r < 0)
            return r;
        orders->logs[orders->n_logs].after = after > 0 ? (uint64_t)after : 0;
        orders->logs[orders->n_logs].tail_bytes =
            json_is_integer(tail) && json_integer_value(tail) >= 0
                ? (uint64_t)json_integer_value(tail)
                : NO_TAIL;
    }
    return 0;
}

int orders_parse(const json_t *answer, struct orders *ret, struct edl_error *error)
{
    struct orders orders = { 0 };
    int r = parse_processes(json_object_get(answer, "processes"), &orders, error);

    if (r == 0)
        r = parse_logs(json_object_get(answer, "logs"), &orders, error);
    if (r < 0) {
        orders_clear(&orders);
        return r;
    }
    *ret = orders;
    return 0;
}

void orders_clear(struct orders *orders)
{
    for (size_t i = 0; i < orders->n; i++)
        json_decref(orders->documents[i]);
    free(orders->documents);
    free(orders->list);
    free(orders->logs);
    *orders = (struct orders){ 0 };
}
