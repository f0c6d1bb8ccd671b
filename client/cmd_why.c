/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_why.c - `edl why`: the one reason for the state a job is in */
#include "client/job_view.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/verb.h"
#include "shared/cleanup.h"

static int run(const struct invocation *invocation)
{
    const char *job = invocation->arguments.args[0];
    _cleanup_free_ char *path = job_path(job, "/why");
    _cleanup_json_ json_t *answer = NULL;
    struct server server;
    int status = server_open(invocation->common, &server);

    if (status != STATUS_OK)
        return status;
    status = server_request(&server, "GET", path, NULL, &answer);
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    const char *code = json_text(answer, "code");
    const char *reason = json_text(answer, "reason");

    (void)printf("job %s is %s", job, json_text(answer, "state"));
    if (reason[0] != '\0')
        (void)printf(": %s", reason);
    if (code[0] != '\0')
        (void)printf(" [%s]", code);
    (void)fputc('\n', stdout);
    return STATUS_OK;
}

const struct verb verb_why = {
    .name = "why",
    .usage = "JOB",
    .summary = "Tell why a job is in its state and what would change it",
    .options = no_options,
    .options_size = sizeof(struct common_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
