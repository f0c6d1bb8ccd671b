/* SPDX-License-Identifier: Apache-2.0 */
/* usage_question.c - see usage_question.h */
#include "agent/machine/usage_question.h"

#include <stdio.h>
#include <string.h>

#include "agent/groups/cgroup_home.h"
#include "agent/machine/inventory.h"
#include "agent/processes/stuck.h"
#include "shared/json_read.h"
#include "shared/macro.h"

/* take_cgroup - NULL: it has none */
static const struct cgroup_paths *take_cgroup(const json_t *asked, struct cgroup_paths *ret)
{
    const char *unified = json_text(asked, "cgroup");

    *ret = (struct cgroup_paths){ 0 };
    if (unified[0] != '/' || strlen(unified) >= CGROUP_PATH_SIZE ||
        cgroup_legacy_from_json(json_object_get(asked, "cgroup_legacy"), ret->legacy) < 0)
        return NULL;
    (void)snprintf(ret->unified, sizeof ret->unified, "%s", unified);
    return ret;
}

static json_t *measure(const json_t *asked)
{
    json_int_t root = json_integer_value(json_object_get(asked, "root"));
    uint32_t absent = (uint32_t)json_integer_value(json_object_get(asked, "absent"));
    struct cgroup_paths paths;
    struct inventory_tree tree = { .root = (pid_t)root,
                                   .cgroup = take_cgroup(asked, &paths),
                                   .cgroup_absent = &absent };
    char text[STUCK_TEXT_SIZE];
    json_t *json;

    if (root <= 1 || root > INT32_MAX)
        return NULL;
    inventory_measure(&tree);
    json = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "id", json_text(asked, "id"), "absent",
                     (json_int_t)absent, "cpu_used_us", (json_int_t)tree.cpu_used_us,
                     "memory_used_bytes", (json_int_t)tree.memory_used_bytes, "memory_peak_bytes",
                     (json_int_t)tree.memory_peak_bytes, "tasks", (json_int_t)tree.tasks);
    if (json != NULL && json_is_true(json_object_get(asked, "stuck"))) {
        stuck_say(tree.root, text);
        (void)json_object_set_new(json, "stuck", json_stringn_nocheck(text, strlen(text)));
    }
    return json;
}

json_t *usage_answer(const json_t *question)
{
    struct inventory_moment moment;
    json_t *trees = json_array();
    const json_t *asked;
    size_t i;

    inventory_look(&moment);
    json_array_foreach(json_object_get(question, "trees"), i, asked)
    {
        json_t *told = measure(asked);

        if (told != NULL)
            (void)json_array_append_new(trees, told);
    }
    return json_pack("{s:I, s:I, s:I, s:o}", "busy_ticks", (json_int_t)moment.busy_ticks,
                     "memory_bytes", (json_int_t)moment.memory_bytes, "available_bytes",
                     (json_int_t)moment.available_bytes, "trees", trees);
}
