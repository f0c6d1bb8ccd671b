/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_screen.h - how a deployment is told: a table that moves on a terminal, else a line for
 * each step; at the end a table, and what to type for each host that failed; or JSON
 *
 * Progress goes to stderr, the end to stdout. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/deploy/deploy_core.h"

struct screen;

/* What is shown of one host; borrowed. */
struct screen_row {
    const char *host;      /* as the list of hosts has it */
    const char *transport; /* "libssh2"; "" not known yet */
    const char *why;       /* why it is ssh, though nobody asked for that; "" */
    const struct deploy_host *core;
    const char *waiting; /* for what; "": for nothing */
    uint64_t sent_bytes, to_send_bytes;
    uint64_t took_us;
};

/* screen_new - quiet: nothing before the end (--json) */
struct screen *screen_new(const struct deploy_plan *plan, const struct screen_row *rows, size_t n,
                          bool quiet);
struct screen *screen_free(struct screen *screen);

/* screen_row_changed - something of row i may read otherwise now */
void screen_row_changed(struct screen *screen, size_t i);
/* screen_leave - before something else is written to the terminal; screen_return - after that */
void screen_leave(struct screen *screen);
void screen_return(struct screen *screen);

/* screen_end - the summary on stdout, and remedies on stderr */
void screen_end(struct screen *screen);
/* screen_json - the summary as JSON on stdout */
void screen_json(const struct screen *screen);
