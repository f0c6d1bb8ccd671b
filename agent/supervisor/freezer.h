/* SPDX-License-Identifier: Apache-2.0 */
/* freezer.h - a program that stands still: its control group is frozen, and that is verified
 *
 * By cgroup.freeze of version 2, which no process of the group can undo, and which a SIGCONT does
 * not. The supervisor's own process is not in that group. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct freezer {
    const char *group; /* borrowed; in the unified hierarchy */
    int events_fd; /* owned; readable by priority when it stands still; -1: it cannot be frozen */
};

/* freezer_open - of this group, "": there is none. false: it cannot be frozen (no right to, no
 * version 2, a kernel before 5.2) */
bool freezer_open(struct freezer *ret, const char *group);
void freezer_close(struct freezer *freezer);

/* freezer_freeze, freezer_thaw - asked for; 0, or -errno */
int freezer_freeze(const struct freezer *freezer);
int freezer_thaw(const struct freezer *freezer);

/* freezer_stands - all of it does. Takes the news of events_fd. A thread in an uninterruptible call
 * (state D) does not: the call may write for a long time yet, and SIGKILL ends many of them. */
bool freezer_stands(const struct freezer *freezer);

/* freezer_holds - whether this process is in the group, or below it; false also of one that is gone
 */
bool freezer_holds(const struct freezer *freezer, pid_t pid);

/* freezer_is_undone - somebody else had it thawed */
bool freezer_is_undone(const struct freezer *freezer);
