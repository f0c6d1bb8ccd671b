/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_options.c - see deploy_options.h */
#include "client/deploy/deploy_options.h"

#include "shared/host_list.h"

#define AT(member) offsetof(struct deploy_arguments, member)

const struct option_spec deploy_option_specs[] = {
    { "conf", 'c', OPTION_TEXT, "FILE",
      "the list of hosts, a conf.py (default: " HOST_LIST_FILE ")", AT(conf) },
    { "check", 0, OPTION_FLAG, NULL, "look, and change nothing", AT(check) },
    { "upgrade", 0, OPTION_FLAG, NULL, "take newer packages where there are some", AT(upgrade) },
    { "remove", 0, OPTION_FLAG, NULL, "take edl-agent off the hosts, and them out of the cluster",
      AT(remove) },
    { "packages", 0, OPTION_TEXT, "DIR",
      "send the .deb files of DIR (default: those of this machine's apt, where a host has none)",
      AT(packages) },
    { "ssh", 0, OPTION_TEXT, "HOW", "libssh2, openssh (the program ssh), or auto (default)",
      AT(ssh) },
    { "accept-new-keys", 0, OPTION_FLAG, NULL,
      "believe the key of a host that was never seen, without a question", AT(accept_new_keys) },
    { "password-file", 0, OPTION_TEXT, "FILE",
      "the password for login and sudo, in its first line (default: ask)", AT(password_file) },
    { "yes", 'y', OPTION_FLAG, NULL, "with --remove: without a question", AT(yes) },
    { .name = NULL },
};
