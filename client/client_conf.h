/* SPDX-License-Identifier: Apache-2.0 */
/* client_conf.h - files of settings: the scheduler of the command `edl`
 *
 * Keys: server (its address, or several: URL,URL), ca (file with the authority of an https server),
 * token-file. The join of a node writes address and authority to the system's,
 * /etc/edl/client.conf; `edl login` writes a person's own. */
#pragma once

struct edl_error;

/* ROOT/etc/edl/client.conf */
#define CLIENT_CONF_SYSTEM "/etc/edl/client.conf"

/* Owned; NULL: not in the file. */
struct client_conf {
    char *server;
    char *ca;
    char *token_file;
};

/* client_conf_folder - of the caller's own: $XDG_CONFIG_HOME/edl, else ~/.config/edl; new string,
 * NULL when there is no home */
char *client_conf_folder(void);

/* client_conf_read - -ENOENT when the file is not there; -EINVAL: an unknown key, no server;
 * -EPERM: others may write to it. Clear *ret after success only. */
int client_conf_read(const char *path, struct client_conf *ret, struct edl_error *error);

/* client_conf_read_own - the caller's; a file of another account is as if it was not there: root
 * with a person's HOME is not that person */
int client_conf_read_own(struct client_conf *ret, struct edl_error *error);
void client_conf_clear(struct client_conf *conf);
