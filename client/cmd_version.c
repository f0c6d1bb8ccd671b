/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_version.c - `edl version`: of this command, and of the server when one is known and answers
 */
#include "client/json_read.h"
#include "client/server.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ANSWER_WITHIN_US (3 * USEC_PER_SEC)

/* Version of the server as a new string, or NULL. */
static char *server_version(const struct common_options *options)
{
    struct server server = { 0 };
    struct http_call call = { .method = "GET", .path = "/version", .timeout_us = ANSWER_WITHIN_US };
    struct http_answer answer = { 0 };
    char *version = NULL;

    if (server_locate(options, &server, NULL) < 0)
        return NULL;
    if (http_client_new_quick(server.base, &server.http, NULL) == 0) {
        if (server.ca != NULL)
            http_client_trust(server.http, server.ca);
        if (server_call(&server, &call, &answer) == STATUS_OK)
            version = xstrdup(json_text(answer.json, "version"));
        http_answer_clear(&answer);
    }
    server_clear(&server);
    return version;
}

static int run(const struct invocation *invocation)
{
    _cleanup_free_ char *server = server_version(invocation->common);

    if (invocation->common->json) {
        _cleanup_json_ json_t *both =
            json_pack("{s:s, s:s?}", "version", EDL_VERSION, "server", server);

        json_print(both);
        return STATUS_OK;
    }
    (void)printf("edl %s\n", EDL_VERSION);
    if (server != NULL)
        (void)printf("server %s\n", server);
    return STATUS_OK;
}

const struct verb verb_version = {
    .name = "version",
    .usage = "",
    .summary = "Print the versions of this command and of the server",
    .run = run,
};
