/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_whoami.c - `edl whoami`: as whom the scheduler knows the caller */
#include "client/json_read.h"
#include "client/server.h"
#include "client/verb.h"

static int run(const struct invocation *invocation)
{
    _cleanup_json_ json_t *answer = NULL;
    struct server server;
    int status = server_open(invocation->common, &server);

    if (status != STATUS_OK)
        return status;
    status = server_get(&server, &answer, "/whoami");
    if (status == STATUS_OK)
        (void)json_object_set_new(answer, "server", json_string(server.base));
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (invocation->common->json)
        json_print(answer);
    else
        (void)printf("%s, %s (%s) at %s\n", json_text(answer, "user"), json_text(answer, "role"),
                     json_text(answer, "via"), json_text(answer, "server"));
    return STATUS_OK;
}

const struct verb verb_whoami = {
    .name = "whoami",
    .usage = "",
    .summary = "Your name and role for the scheduler, and which one that is",
    .run = run,
};
