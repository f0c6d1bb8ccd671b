/* SPDX-License-Identifier: Apache-2.0 */
/* park.h - under crowding a job that can go on later goes back to the queue, so that one that waits
 * starts */
#pragma once

struct plan;

/* plan_park - looks once in a part of the time that may lie between two parkings of a job, while
 * somebody waits; behind the queue */
void plan_park(struct plan *plan);
