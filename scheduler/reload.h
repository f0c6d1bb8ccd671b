/* SPDX-License-Identifier: Apache-2.0 */
/* reload.h - options that change while the scheduler runs */
#pragma once

struct scheduler;

/* scheduler_reload - reads files and command line again; the log tells what is different since and
 * what needs a restart. An error is logged, and then nothing changes. */
void scheduler_reload(struct scheduler *scheduler);
