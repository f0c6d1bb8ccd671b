/* SPDX-License-Identifier: Apache-2.0 */
/* unit_report.c - what a report says of a unit */
#include "agent/core/agent_core.h"

struct agent_unit_report agent_unit_report(const struct agent_unit *unit)
{
    struct agent_unit_report report = { .state = unit->state, .reason = "" };

    if (unit->state != UNIT_EXITED)
        return report;
    if (!unit->exit_public || unit->held) {
        /* "preparing" is never news, whereas "stopping" would mean that we end it, and its own end
         * would not count. */
        report.state = UNIT_PREPARING;
        return report;
    }
    report.exit_code = unit->exit_code;
    report.exit_signal = unit->exit_signal;
    report.cause = unit->cause;
    report.reason = unit->reason;
    report.unfit = unit->unfit;
    report.fault = unit->fault;
    return report;
}
