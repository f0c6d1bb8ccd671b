/* SPDX-License-Identifier: Apache-2.0 */
/* test_drop_in_runs.c - a prolog or epilog that cannot be told what to run */
#include "tests/unit/test.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>

#include "agent/core/drop_in.h"
#include "agent/drop_ins/drop_in_runs.h"
#include "shared/clock.h"
#include "shared/macro.h"

enum { TOO_LONG = 16 << 20 }; /* bytes: no message of a socket */

static char why[DROP_IN_REASON_SIZE];
static unsigned n_ended;

static void on_ended(const char *reason, void *userdata)
{
    (void)snprintf(why, sizeof why, "%s", reason != NULL ? reason : "(stopped)");
    n_ended++;
    (void)sd_event_exit(userdata, 0);
}

/* Its process ends and is reaped before anybody hears of it. */
TEST(test_one_that_cannot_be_told_is_reaped)
{
    char *long_text = calloc(1, TOO_LONG + 1);
    struct drop_in_runs *runs;
    sd_event *event;

    assert_non_null(long_text);
    memset(long_text, 'x', TOO_LONG);
    assert_true(sd_event_new(&event) >= 0);
    runs = drop_in_runs_new(event, "/bin/cat", false);
    (void)drop_in_runs_add(runs, "prolog", 7, json_pack("{s:s}", "text", long_text),
                           60 * USEC_PER_SEC, on_ended, event);
    assert_int_equal(sd_event_loop(event), 0);
    assert_int_equal(n_ended, 1);
    if (strstr(why, "prolog did not run: cannot tell edl-supervisor what to run") == NULL)
        fail_msg("%s", why);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    runs = drop_in_runs_free(runs);
    assert_null(runs);
    sd_event_unref(event);
    free(long_text);
}
