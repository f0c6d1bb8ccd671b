/* SPDX-License-Identifier: Apache-2.0 */
/* node_clock.c - see node_clock.h */
#include "agent/machine/node_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "agent/layout.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

static struct clock_reading reading_of(const struct node_clock *clock)
{
    return (struct clock_reading){ .boot_id = clock->boot_id,
                                   .boot_us = clock_read_us(CLOCK_BOOTTIME),
                                   .real_us = clock_read_us(CLOCK_REALTIME) };
}

int node_clock_parse(const char *text, struct elapsed_record *ret)
{
    char end;

    *ret = (struct elapsed_record){ .n_steps = 0 };
    if (sscanf(text, "%39s %" SCNu64 " %" SCNu64 " %" SCNu64 "%c", ret->boot_id, &ret->boot_us,
               &ret->real_us, &ret->elapsed_us, &end) < 4 ||
        !elapsed_record_is_valid(ret))
        return -EINVAL;
    return 0;
}

void node_clock_text(const struct node_clock *clock, char ret[NODE_CLOCK_TEXT_SIZE])
{
    const struct clock_reading now = reading_of(clock);
    const struct elapsed_record record = elapsed_clock_record(&clock->elapsed, &now);

    (void)snprintf(ret, NODE_CLOCK_TEXT_SIZE, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                   record.boot_id, record.boot_us, record.real_us, record.elapsed_us);
}

int node_clock_write(const char *path, const char *text, struct edl_error *error)
{
    return whole_file_write(path, text, 0600, error);
}

int node_clock_open(struct node_clock *clock, const char *state_dir, struct edl_error *error)
{
    _cleanup_free_ char *path = text_format("%s/" NODE_CLOCK_FILE, state_dir), *text = NULL;
    char now_text[NODE_CLOCK_TEXT_SIZE];
    struct elapsed_record stored;
    struct clock_reading now;
    bool known =
        whole_file_read(path, false, &text, NULL) == 0 && node_clock_parse(text, &stored) == 0;
    int r = clock_boot_id(clock->boot_id, sizeof clock->boot_id);

    if (r < 0)
        return edl_error_errno(error, r, "cannot read the boot id");
    now = reading_of(clock);
    (void)elapsed_clock_begin(&clock->elapsed, known ? &stored : NULL, &now);
    clock_keep(&clock->elapsed);
    node_clock_text(clock, now_text);
    (void)node_clock_write(path, now_text, NULL); /* on a full disk the next sweep does it */
    return 0;
}
