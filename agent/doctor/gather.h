/* SPDX-License-Identifier: Apache-2.0 */
/* gather.h - asks this machine, and the scheduler, for the facts; changes nothing
 *
 * A fact that cannot be found out is left as it was: zero. */
#pragma once

#include "agent/doctor/facts.h"

struct agent_options;

struct doctor_context { /* borrowed */
    const struct agent_options *options;
    const char *program_dir; /* where edl-prober is */
};

void gather_cgroups(const struct doctor_context *context, struct doctor_facts *ret);
void gather_systemd(const struct doctor_context *context, struct doctor_facts *ret);
void gather_gpus(const struct doctor_context *context, struct doctor_facts *ret);
void gather_clock(const struct doctor_context *context, struct doctor_facts *ret);
void gather_disks(const struct doctor_context *context, struct doctor_facts *ret);
/* also the clock's offset */
void gather_reach(const struct doctor_context *context, struct doctor_facts *ret);
void gather_accounts(const struct doctor_context *context, struct doctor_facts *ret);
void gather_machine(const struct doctor_context *context, struct doctor_facts *ret);
void gather_drop_ins(const struct doctor_context *context, struct doctor_facts *ret);
