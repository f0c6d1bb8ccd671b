/* SPDX-License-Identifier: Apache-2.0 */
/* client_files.c - see client_files.h */
#include "agent/link/client_files.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "agent/link/membership.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_call.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "shared/whole_file.h"

#define DEFAULT_PATH "/etc/edl/client.conf"
#define MARK "# Kept by edl-agent while this line stands first.\n"
#define READABLE 0644 /* by everybody: there is no secret in them */

static bool is_this_machine(const char *server)
{
    /* plain HTTP is on loopback only */
    return strncmp(server, "https://", 8) != 0 || http_host_is_this_machine(server + 8);
}

static const char *path_of(const struct agent_options *options)
{
    if (options->client_conf != NULL)
        return options->client_conf[0] != '\0' ? options->client_conf : NULL;
    return geteuid() == 0 && options->state_dir == options->default_state_dir ? DEFAULT_PATH : NULL;
}

/* look - 1: it is to be written; 0: it is as it should be; -EEXIST: somebody else's */
static int look(const char *path, const char *wanted)
{
    _cleanup_free_ char *text = NULL;
    int r = whole_file_read(path, false, &text, NULL);

    if (r == -ENOENT)
        return 1;
    if (r < 0 || strncmp(text, MARK, strlen(MARK)) != 0)
        return -EEXIST;
    return streq(text, wanted) ? 0 : 1;
}

int client_files_keep(const struct agent_options *options, const struct membership *member,
                      struct edl_error *error)
{
    const char *path = path_of(options);
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    _cleanup_free_ char *authority = NULL;
    _cleanup_free_ char *ca_path = NULL;
    _cleanup_free_ char *ca = NULL;
    _cleanup_free_ char *conf = NULL;
    _cleanup_free_ char *servers = NULL;
    int of_conf, of_ca;
    int r = 0;

    if (slash == NULL || member->ca_path == NULL || is_this_machine(member->server))
        return 0;
    r = whole_file_read(member->ca_path, false, &authority, error);
    if (r < 0)
        return r;
    ca_path = text_format("%.*s/ca.pem", (int)(slash - path), path);
    ca = text_format(MARK "%s", authority);
    servers = server_list_text(&member->servers);
    conf = text_format(MARK "server: \"%s\"\nca: \"%s\"\n", servers, ca_path);
    of_conf = look(path, conf);
    of_ca = look(ca_path, ca);
    if (of_conf < 0 || of_ca < 0)
        return 0;
    if (of_ca == 1)
        r = whole_file_write(ca_path, ca, READABLE, error);
    if (r == 0 && of_conf == 1)
        r = whole_file_write(path, conf, READABLE, error);
    return r < 0 ? r : of_ca | of_conf;
}

void client_files_once(const struct agent_options *options, const struct membership *member,
                       bool *told)
{
    struct edl_error error = { 0 };
    int r;

    if (*told)
        return;
    *told = true;
    r = client_files_keep(options, member, &error);
    if (r < 0)
        log_warning("accounts of this machine do not find the scheduler by themselves: %s",
                    error.text);
    else if (r > 0)
        log_info("accounts of this machine find the scheduler %s by themselves", member->server);
}
