/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_connect.c - `edl connect`: the bytes of ssh to a process of a job, as its ProxyCommand */
#include <errno.h>
#include <string.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/session_run.h"
#include "client/session_verb.h"
#include "client/ssh_key.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/error.h"

struct connect_options {
    struct common_options common;
};

static int connect_host(struct server *server, const struct session_name *name)
{
    _cleanup_free_ char *key = NULL;
    struct edl_error error = { 0 };
    json_t *body;
    int status;

    if (ssh_key_read(&key, &error) < 0) {
        (void)report_error(&error);
        return SESSION_BROKEN;
    }
    body = session_body("ssh", NULL, 0);
    (void)json_object_set_new(body, "key", json_string(key));
    status = session_run(&(struct session_run){
        .server = server, .name = name, .body = body, .reads = true, .quiet = true });
    json_decref(body);
    return status;
}

static int run(const struct invocation *invocation)
{
    struct session_name name;
    struct edl_error error = { 0 };
    struct server server;
    int status = session_verb_check(invocation);

    if (status != STATUS_OK)
        return status;
    if (session_name_read_host(invocation->arguments.args[0], &name, &error) < 0)
        return report_error(&error);
    status = server_open(invocation->common, &server);
    if (status == STATUS_OK) {
        status = connect_host(&server, &name);
        server_clear(&server);
    } else {
        status = SESSION_BROKEN;
    }
    session_name_clear(&name);
    return status;
}

const struct verb verb_connect = {
    .name = "connect",
    .usage = "JOB[.ROLE-N].edl",
    .summary = "The ProxyCommand of ssh to a process of a job (see edl ssh-config)",
    .details =
        "ssh calls it, and it passes ssh's bytes to an sshd that runs beside the process, as\n"
        "its account, for this one connection: nothing listens anywhere.",
    .options_size = sizeof(struct connect_options),
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
