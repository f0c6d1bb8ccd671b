/* SPDX-License-Identifier: Apache-2.0 */
/* option_values.c - see option_values.h */
#include "agent/option_values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/account_policy.h"
#include "agent/log_trim.h"
#include "agent/options.h"
#include "agent/process_limits.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define USER_RANGE_LEAST 65536
#define TASKS_LEAST 16
#define TASKS_MOST 4194304 /* more numbers of processes Linux does not have */

int option_ports(const char *text, struct agent_options *options)
{
    char first_text[8];
    const char *dash = strchr(text, '-');
    uint64_t first, last;

    if (dash == NULL || (size_t)(dash - text) >= sizeof first_text)
        return -EINVAL;
    (void)snprintf(first_text, sizeof first_text, "%.*s", (int)(dash - text), text);
    if (parse_u64(first_text, &first) < 0 || parse_u64(dash + 1, &last) < 0 || first < 1024 ||
        last > UINT16_MAX || first > last)
        return -EINVAL;
    options->port_first = (uint16_t)first;
    options->port_last = (uint16_t)last;
    return 0;
}

/* option_user_range - beyond what accounts, services and network file systems of 16 bits have */
int option_user_range(const char *text, struct agent_options *options, struct edl_error *error)
{
    unsigned long long first, last;
    int n = 0;

    if (sscanf(text, "%10llu-%10llu%n", &first, &last, &n) != 2 || text[n] != '\0')
        return -EINVAL;
    if (first < USER_RANGE_LEAST || last > INT32_MAX || first > last)
        return edl_error_set(error, -ERANGE, "'%.80s' does not lie between %d and %d", text,
                             USER_RANGE_LEAST, INT32_MAX);
    options->user_range = (struct user_range){ (uint32_t)first, (uint32_t)last };
    return 0;
}

int option_runtime(const char *text, struct agent_options *options)
{
    static const char *const names[] = { [AGENT_RUNTIME_AUTO] = "auto",
                                         [AGENT_RUNTIME_SYSTEMD] = "systemd",
                                         [AGENT_RUNTIME_DIRECT] = "direct" };

    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (streq(text, names[i])) {
            options->runtime = (enum agent_runtime)i;
            return 0;
        }
    return -EINVAL;
}

int option_gpus(const char *text, struct agent_options *options, struct edl_error *error)
{
    int r = parse_u64(text, &options->gpus);

    options->gpus_given = true;
    if (r == 0 && options->gpus > AGENT_GPUS_MAX)
        return edl_error_set(error, -ERANGE, "a node has at most %d devices", AGENT_GPUS_MAX);
    return r;
}

int option_gpu_numa(const char *text, struct agent_options *options)
{
    for (size_t i = 0; i < AGENT_GPUS_MAX; i++) {
        size_t n = strcspn(text, ",");
        char number[8];
        uint64_t numa;

        (void)snprintf(number, sizeof number, "%.*s", (int)MIN_OF(n, sizeof number - 1), text);
        if (n >= sizeof number || parse_u64(number, &numa) < 0 || numa >= UINT8_MAX)
            return -EINVAL;
        options->gpu_numa[i] = (uint8_t)numa;
        options->n_gpu_numa = i + 1;
        if (text[n] == '\0')
            return 0;
        text += n + 1;
    }
    return -EINVAL;
}

/* option_cut_off_kill - 0 would say that it is killed at once, which nobody wants to have by chance
 */
int option_cut_off_kill(const char *text, struct agent_options *options, struct edl_error *error)
{
    int r = parse_seconds(text, &options->cut_off_kill_us);

    if (r == 0 && options->cut_off_kill_us < USEC_PER_SEC)
        return edl_error_set(error, -ERANGE, "'%.80s' is too short: 1s at least", text);
    return r;
}

int option_log_max(const char *text, struct agent_options *options, struct edl_error *error)
{
    int r = parse_bytes(text, &options->log_max_bytes);

    if (r == 0 && options->log_max_bytes < LOG_MAX_LEAST_BYTES)
        return edl_error_set(error, -ERANGE, "'%.80s' is too little: 256Ki at least", text);
    return r;
}

/* option_tasks_max - its supervisor counts as well */
int option_tasks_max(const char *text, struct agent_options *options, struct edl_error *error)
{
    int r = parse_u64(text, &options->tasks_max);

    if (r == 0 && (options->tasks_max < TASKS_LEAST || options->tasks_max > TASKS_MOST))
        return edl_error_set(error, -ERANGE, "'%.80s' does not lie between %d and %d", text,
                             TASKS_LEAST, TASKS_MOST);
    return r;
}
