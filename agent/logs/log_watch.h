/* SPDX-License-Identifier: Apache-2.0 */
/* log_watch.h - a supervisor keeps the log of its process within bounds when nobody else does
 *
 * That is the agent's to do (log_bound.h), at lower sizes, and waits for the disk, for which a
 * supervisor with a fence has no time. A process that is to be kept while its node is cut off has
 * none, and may run for days without an agent. */
#pragma once

#include <stdint.h>

struct log_watch {
    uint64_t most_bytes; /* of the log; 0: nobody watches */
    uint64_t size;       /* as it was seen last */
    uint64_t period_us;
    uint64_t look_at_us; /* boot time; NEVER_US: not at all */
};

/* log_watch_begin - bound_bytes: what the agent keeps it within; 0: it is not watched */
void log_watch_begin(struct log_watch *watch, uint64_t bound_bytes, uint64_t now_us);

/* log_watch_note - its size is seen; when the next look is. Pure: often while it grows fast, else
 * less and less. */
void log_watch_note(struct log_watch *watch, uint64_t size, uint64_t now_us);

/* log_watch_look - if it is time: shortens what is too long, from the front */
void log_watch_look(struct log_watch *watch, int log_fd, uint64_t now_us);
