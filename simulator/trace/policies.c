/* SPDX-License-Identifier: Apache-2.0 */
/* policies.c - the laboratory's policies by name */
#include "shared/macro.h"
#include "simulator/trace/policy.h"

extern const struct trace_policy trace_policy_fifo, trace_policy_srtf, trace_policy_tiresias,
    trace_policy_fulfilment, trace_policy_optimus, trace_policy_afs, trace_policy_sia,
    trace_policy_goodput, trace_policy_goodput_live, trace_policy_goodput_live_balanced,
    trace_policy_goodput_balanced, trace_policy_goodput_patient;

const struct trace_policy *const trace_policies[] = {
    &trace_policy_fifo,
    &trace_policy_srtf,
    &trace_policy_tiresias,
    &trace_policy_fulfilment,
    &trace_policy_optimus,
    &trace_policy_afs,
    &trace_policy_sia,
    &trace_policy_goodput,
    &trace_policy_goodput_live,
    &trace_policy_goodput_live_balanced,
    &trace_policy_goodput_balanced,
    &trace_policy_goodput_patient,
    NULL,
};

const struct trace_policy *trace_policy_find(const char *name)
{
    for (size_t i = 0; trace_policies[i] != NULL; i++)
        if (streq(trace_policies[i]->name, name))
            return trace_policies[i];
    return NULL;
}

const char *trace_speeds_name(enum trace_speeds speeds)
{
    static const char *const names[] = { [SPEEDS_HIDDEN] = "unknown",
                                         [SPEEDS_TRUE] = "true",
                                         [SPEEDS_LEARNT] = "learnt",
                                         [SPEEDS_FAMILY] = "learnt by families" };

    return names[speeds];
}
