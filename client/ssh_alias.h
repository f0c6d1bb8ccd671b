/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_alias.h - the host behind a name that only ssh_config(5) knows */
#pragma once

/* ssh_alias_host - HostName of that name, as `ssh -G` has it: a name or an address; new string.
 * NULL: there is no ssh, or it has none but the name itself. Waits for ssh, which reads files. */
char *ssh_alias_host(const char *name);
