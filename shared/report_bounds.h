/* SPDX-License-Identifier: Apache-2.0 */
/* report_bounds.h - how much the report of a node may hold
 *
 * The scheduler refuses more (scheduler/core/events/report_size.c), so an agent sends no more
 * (agent/link/report_fit.c). Older agents and schedulers have the same numbers: they may only rise.
 */
#pragma once

enum {
    REPORT_KIB = 64,              /* the machine: devices, interfaces, ports that others hold */
    REPORT_VALUES = 4096,         /* the same */
    REPORT_PROCESS_KIB = 8,       /* its reason and 16 texts of progress, every byte escaped */
    REPORT_PROCESS_VALUES = 64,   /* twice what an agent tells without rows of pushes */
    REPORT_BYTES_MOST = 4 << 20,  /* of the whole, however many processes there are */
    REPORT_VALUES_MOST = 4 << 20, /* the same */
};
