/* SPDX-License-Identifier: Apache-2.0 */
/* library.h - the charting library of the page: Debian's libjs-chart.js, a file beside the program
 *
 * Read once, at the start. Where it is not installed the page says so, and shows figures alone.
 * Used by: web.c, scheduler.c. Tests: tests/integration/148-page-pictures.sh. */
#pragma once

#include <stddef.h>

struct edl_error;

#define WEB_LIBRARY_NAME "chart.min.js"
#define WEB_LIBRARY_PATH "/usr/share/javascript/chart.js/chart.min.js"
#define WEB_LIBRARY_VARIABLE "EDL_CHART_LIBRARY" /* of the environment: another path */

struct web_library {
    char *text; /* owned; NULL: there is none */
    size_t size;
    char tag[72]; /* its ETag, quotes included */
};

/* web_library_read - the file, or an empty *ret with error: -ENOENT, -E2BIG and what else reading
 * it gives */
int web_library_read(struct web_library *ret, struct edl_error *error);
void web_library_done(struct web_library *library);
