/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_scale.c - `edl scale`: change the bounds of a running job's role */
#include <errno.h>
#include <inttypes.h>

#include "client/job_view.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"

struct scale_options {
    struct common_options common;
    const char *role;
};

static const struct option_spec scale_options[] = {
    { "role", 'r', OPTION_TEXT, "ROLE", "which role (default: trainer)",
      offsetof(struct scale_options, role) },
    { .name = NULL },
};

static int run(const struct invocation *invocation)
{
    const struct scale_options *options = invocation->options;
    const char *job = invocation->arguments.args[0];
    const char *range = invocation->arguments.args[1];
    const char *role = options->role != NULL ? options->role : "trainer";
    struct edl_error error = { 0 };
    struct server server;
    uint64_t min;
    uint64_t max;

    if (text_range(range, &min, &max) < 0) {
        (void)edl_error_set(&error, -EINVAL, "\"%s\" is no range of instances", range);
        (void)edl_error_remedy(&error, "edl scale %s 2:6", job);
        return report_error(&error);
    }
    int status = server_open(&options->common, &server);

    if (status != STATUS_OK)
        return status;

    _cleanup_free_ char *path = job_path(job, "");
    _cleanup_json_ json_t *body =
        json_pack("{s:s, s:I, s:I}", "role", role, "min", (json_int_t)min, "max", (json_int_t)max);
    _cleanup_json_ json_t *answer = NULL;

    status = server_request(&server, "PATCH", path, body, &answer);
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (options->common.json)
        json_print(answer);
    else
        (void)printf("job %s (%" PRIu64 ") %s: %s %" PRIu64 " to %" PRIu64 "\n",
                     json_text(answer, "name"), json_u64(answer, "id"), json_text(answer, "state"),
                     role, min, max);
    return STATUS_OK;
}

const struct verb verb_scale = {
    .name = "scale",
    .usage = "JOB MIN:MAX [--role ROLE]",
    .summary = "Change how many instances a job may have",
    .details =
        "MIN:MAX, MIN-MAX or N (exactly N). The policy chooses the number between them; running\n"
        "processes that stay are not disturbed.",
    .options = scale_options,
    .options_size = sizeof(struct scale_options),
    .min_args = 2,
    .max_args = 2,
    .run = run,
};
