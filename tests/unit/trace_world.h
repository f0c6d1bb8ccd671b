/* SPDX-License-Identifier: Apache-2.0 */
/* trace_world.h - small traces made by hand, for tests of the laboratory */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/trace/figures.h"
#include "simulator/trace/formula.h"
#include "simulator/trace/profile.h"
#include "simulator/trace/run.h"
#include "simulator/trace/trace.h"
#include "simulator/trace/trace_file.h"

static inline void assert_near_within(double value, double expected, double tolerance,
                                      const char *what, int line)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("line %d: %s is %.12g instead of %.12g", line, what, value, expected);
}

#define assert_near(value, expected)                                                               \
    assert_near_within(value, expected, 1e-6 * fmax(1, fabs((double)(expected))), #value, __LINE__)

/* trace_of - from lines of the form of edl-trace(5) */
static inline struct trace *trace_of(const char *text)
{
    struct edl_error error = { 0 };
    struct trace *trace = NULL;

    if (trace_parse_csv("test.csv", xstrdup(text), strlen(text), false, &trace, &error) < 0)
        fail_msg("%s; %s", error.text, error.remedy);
    return trace;
}

static inline struct run_config cluster_of(uint32_t n_nodes, uint32_t per_node)
{
    return (struct run_config){
        .n_nodes = n_nodes,
        .per_node = per_node,
        .restart_s = 30,
        .information = { .lengths = true, .speeds = SPEEDS_TRUE },
    };
}

static inline struct run_result run_of(const struct trace *trace, const struct trace_policy *policy,
                                       const struct run_config *config)
{
    struct edl_error error = { 0 };
    struct run_result result;

    if (run_trace(trace, policy, config, &result, &error) < 0)
        fail_msg("%s; %s", error.text, error.remedy);
    return result;
}

static inline const struct trace_policy *policy_of(const char *name)
{
    const struct trace_policy *policy = trace_policy_find(name);

    if (policy == NULL)
        fail_msg("no policy is called %s", name);
    return policy;
}
