/* SPDX-License-Identifier: Apache-2.0 */
/* admission_json.c - whether a deadline can be kept, as the API shows it */
#include "scheduler/json/admission_json.h"

#include <math.h>

#include "scheduler/core/ask/admission.h"
#include "shared/macro.h"
#include "shared/rfc3339.h"

/* Whole seconds, so that what is late is never 0; null: not known, or none at all */
static json_t *seconds_or_null(double s)
{
    return s > 0 && s < 1e12 ? json_integer((json_int_t)ceil(s)) : json_null();
}

static json_t *instant_or_null(uint64_t wall_us)
{
    char text[RFC3339_MAX];

    return wall_us != 0 ? json_string(rfc3339_format(wall_us, text)) : json_null();
}

static json_t *count_or_null(uint32_t n)
{
    return n > 0 ? json_integer(n) : json_null();
}

static json_t *late_to_json(const struct admission *admission)
{
    json_t *jobs = json_array();

    for (uint32_t i = 0; i < MIN_OF(admission->n_late, (uint32_t)ADMISSION_LATE_NAMED); i++)
        (void)json_array_append_new(jobs,
                                    json_pack("{s:I,s:s}", "id", (json_int_t)admission->late[i].id,
                                              "job", admission->late[i].job));
    return json_pack("{s:I,s:I,s:o}", "count", (json_int_t)admission->n_late, "not_looked_at",
                     (json_int_t)admission->n_not_looked_at, "jobs", jobs);
}

json_t *admission_to_json(const struct admission *admission)
{
    return json_pack("{s:s,s:s,s:s,s:o,s:I,s:{s:o,s:o},s:o,s:o,s:{s:o,s:o},s:o}", "verdict",
                     admission_verdict_to_string(admission->verdict), "code", admission->code,
                     "text", admission->text, "deadline",
                     instant_or_null(admission->deadline_wall_us), "jobs_known",
                     (json_int_t)admission->jobs_known, "seconds", "least",
                     seconds_or_null(admission->least_s), "most",
                     seconds_or_null(admission->most_s), "instances",
                     count_or_null(admission->instances), "late_seconds",
                     seconds_or_null(admission->late_s), "change", "max_instance",
                     count_or_null(admission->max_wanted), "deadline",
                     instant_or_null(admission->deadline_wanted_wall_us), "others_late",
                     late_to_json(admission));
}
