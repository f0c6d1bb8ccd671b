/* SPDX-License-Identifier: Apache-2.0 */
/* owner_options.c - the limits of a user or group on the command line and in tables */
#include "client/owner_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/report.h"
#include "client/text.h"
#include "shared/error.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "shared/parse.h"

static int add(json_t *body, const char *key, const char *option, const char *text,
               int (*parse)(const char *text, uint64_t *ret), const char *like)
{
    struct edl_error error = { 0 };
    uint64_t value;

    if (text == NULL)
        return 0;
    if (parse(text, &value) == 0 && value <= INT64_MAX) {
        (void)json_object_set_new(body, key, json_integer((json_int_t)value));
        return 0;
    }
    (void)edl_error_set(&error, -EINVAL, "--%s: \"%.40s\" is no amount", option, text);
    (void)edl_error_remedy(&error, "--%s %s, or 0 for no limit", option, like);
    (void)report_error(&error);
    return -EINVAL;
}

int owner_options_add(const struct owner_options *options, json_t *body)
{
    int r = add(body, "max_cpu_millicores", "max-cpu", options->cpu, parse_cpu, "16");

    if (r == 0)
        r = add(body, "max_gpus", "max-gpus", options->gpus, parse_u64, "4");
    if (r == 0)
        r = add(body, "max_jobs", "max-jobs", options->jobs, parse_u64, "100");
    if (r == 0)
        r = add(body, "max_time_us", "max-time", options->time, parse_seconds, "8h");
    return r;
}

const char *owner_limits_text(const json_t *of, char *buffer, size_t size)
{
    static const struct {
        const char *key, *unit;
    } amounts[] = { { "max_gpus", "GPUs" }, { "max_jobs", "jobs" } };
    uint64_t cpu = json_u64(of, "max_cpu_millicores"), us = json_u64(of, "max_time_us");
    char part[32];
    size_t used = 0;

    buffer[0] = '\0';
    if (cpu != 0)
        used += (size_t)snprintf(buffer, size, "%s cores", text_cpu(cpu, part, sizeof part));
    for (size_t i = 0; i < ELEMENTS(amounts) && used < size; i++)
        if (json_u64(of, amounts[i].key) != 0)
            used += (size_t)snprintf(buffer + used, size - used, "%s%" PRIu64 " %s",
                                     used > 0 ? ", " : "", json_u64(of, amounts[i].key),
                                     amounts[i].unit);
    if (us != 0 && used < size)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used > 0 ? ", " : "",
                                 text_duration(us, part, sizeof part));
    return used > 0 ? buffer : "-";
}

void owner_limits_print_over(const json_t *of)
{
    uint64_t cpu = json_u64(of, "max_cpu_millicores"), gpus = json_u64(of, "max_gpus");
    uint64_t held_cpu = json_u64(of, "held_cpu_millicores"), held_gpus = json_u64(of, "held_gpus");
    char held[32], most[32];

    if (cpu != 0 && held_cpu > cpu)
        (void)printf("%s of %s cores are in use; nothing is ended\n",
                     text_cpu(held_cpu, held, sizeof held), text_cpu(cpu, most, sizeof most));
    if (gpus != 0 && held_gpus > gpus)
        (void)printf("%" PRIu64 " of %" PRIu64 " GPUs are in use; nothing is ended\n", held_gpus,
                     gpus);
}
