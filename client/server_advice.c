/* SPDX-License-Identifier: Apache-2.0 */
/* server_advice.c - see server_advice.h */
#include "client/server_advice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/server.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/macro.h"

#define LOGIN_REMEDY                                                                               \
    "run the line `edl login ...` that `edl user add NAME` prints for you on the scheduler's "     \
    "machine"

/* The first whose file is there tells what this machine is. */
static const struct {
    const char *path;
    const char *text, *remedy;
} machines[] = {
    { "/usr/lib/systemd/system/edl-scheduler.service",
      "no server is known, and the scheduler of this machine does not run",
      "as root: systemctl start edl-scheduler; for another machine's: edl login URL" },
    { "/etc/edl/agent.conf",
      "no server is known: this machine has not joined a cluster, or joined one on itself alone",
      LOGIN_REMEDY },
    { "/usr/bin/edl", "no server is known", LOGIN_REMEDY },
};

static bool is_there(const char *root, const char *path)
{
    _cleanup_free_ char *whole = text_format("%s%s", root, path);

    return access(whole, F_OK) == 0;
}

int server_advise_unknown(const char *root, struct edl_error *error)
{
    for (size_t i = 0; i < ELEMENTS(machines); i++) {
        if (!is_there(root, machines[i].path))
            continue;
        (void)edl_error_set(error, -ENOENT, "%s", machines[i].text);
        return edl_error_remedy(error, "%s", machines[i].remedy);
    }
    (void)edl_error_set(error, -ENOENT, "no server is known");
    return edl_error_remedy(error, "`edl dev` starts a cluster on this machine; or edl login URL, "
                                   "--server URL, or export EDL_SERVER=URL");
}

bool server_is_packaged(const char *root)
{
    for (size_t i = 0; i < ELEMENTS(machines); i++)
        if (is_there(root, machines[i].path))
            return true;
    return false;
}

void server_advise(const char *base, struct http_answer *answer)
{
    const char *path = strncmp(base, "unix:", 5) == 0 ? base + 5 : NULL;

    if (answer->failure != EDL_EUNREACHABLE || answer->remedy[0] != '\0')
        return;
    if (path != NULL && !answer->sent) {
        bool is_service = streq(path, LOCAL_SOCKET);

        if (access(path, W_OK) == -1 && errno == EACCES) {
            (void)snprintf(answer->remedy, sizeof answer->remedy,
                           "this account may not write to it; edl login URL comes in with a token");
            return;
        }
        (void)snprintf(answer->text, sizeof answer->text, "%s at %s does not answer",
                       is_service ? "the scheduler of this machine" : "the scheduler", path);
        (void)snprintf(answer->remedy, sizeof answer->remedy, "%s",
                       is_service ? "as root: systemctl start edl-scheduler; journalctl -u "
                                    "edl-scheduler says why it ended"
                                  : "is that scheduler running?");
        return;
    }
    (void)snprintf(answer->remedy, sizeof answer->remedy, "is the server running?%s",
                   server_is_packaged("") ? "" : " `edl dev` starts one on this machine");
}
