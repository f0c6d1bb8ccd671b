/* SPDX-License-Identifier: Apache-2.0 */
/* step_sums_json.c - see step_sums_json.h */
#include "shared/step_sums_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/step_sums.h"

#define AT(field) offsetof(struct step_sums, field)
static const struct member {
    const char *name;
    size_t at;
} members[] = {
    { "step", AT(step) },       { "steps", AT(steps) },
    { "samples", AT(samples) }, { "compute_us", AT(compute_us) },
    { "wait_us", AT(wait_us) },
};
#undef AT

int step_sums_from_json(const json_t *value, struct step_sums *ret, struct edl_error *error)
{
    struct step_sums sums = { 0 };

    if (!json_is_object(value))
        return edl_error_set(error, -EINVAL, "steps are an object: {\"step\": 7, \"steps\": 1}");
    for (size_t i = 0; i < ELEMENTS(members); i++) {
        const json_t *member = json_object_get(value, members[i].name);
        json_int_t number = json_integer_value(member);
        char at[16];

        if (member == NULL)
            continue;
        (void)snprintf(at, sizeof at, "/%s", members[i].name);
        /* without its sign a negative number is too large */
        if (!json_is_integer(member) || (uint64_t)number > STEP_SUM_MAX)
            return edl_error_at(error, -EINVAL, at, "%s is not a whole number from 0 to %" PRIu64,
                                at, STEP_SUM_MAX);
        *(uint64_t *)((char *)&sums + members[i].at) = (uint64_t)number;
    }
    *ret = sums;
    return 0;
}

json_t *step_sums_to_json(const struct step_sums *sums)
{
    json_t *object = json_object();

    for (size_t i = 0; i < ELEMENTS(members); i++)
        (void)json_object_set_new(
            object, members[i].name,
            json_integer((json_int_t) * (const uint64_t *)((const char *)sums + members[i].at)));
    return object;
}
