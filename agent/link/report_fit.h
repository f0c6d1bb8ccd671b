/* SPDX-License-Identifier: Apache-2.0 */
/* report_fit.h - the progress that processes told, cut to the room of a report
 *
 * A scheduler refuses a report that is too large, and with it all processes of the node. So the
 * words of programs never make it too large: it is left out first. Pure. Tests:
 * test_report_fit.c. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct report_left_out {
    size_t processes; /* whose progress is not told at all */
    size_t rows;      /* of pushes, of the others */
};

/* report_fit - body: all of a report; it keeps within shared/report_bounds.h
 * First each process gets its progress without rows of pushes: those with an equal share of the
 * room or less, then the others while there is room. Then each gets one row after another in turn.
 * Progress that is cut is a copy: what body shares with its maker stays. */
struct report_left_out report_fit(json_t *body);
