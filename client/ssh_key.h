/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_key.h - the key with which the caller's ssh enters processes of jobs
 *
 * It opens nothing else: the sshd that takes it is made for one session, and dies with it. It
 * stands in the caller's own folder, as the file of `edl login` does. */
#pragma once

struct edl_error;

/* ssh_key_path - of the secret half, in client_conf_folder(); new string. -ENOENT: there is no home
 */
int ssh_key_path(char **ret, struct edl_error *error);

/* ssh_key_read - the public half as one line; *ret is the caller's. -ENOENT with the remedy */
int ssh_key_read(char **ret, struct edl_error *error);

/* ssh_key_make - with ssh-keygen, if there is none yet; *ret_path: as ssh_key_path */
int ssh_key_make(char **ret_path, struct edl_error *error);
