/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_options.c - see deploy_options.h */
#include "client/deploy/deploy_options.h"

#include "shared/host_list.h"

#define AT(member) OPTION_FIELD(struct deploy_arguments, member)

static const struct option_row rows[] = {
    { "conf", "FILE", "the list of hosts, a conf.py (default: " HOST_LIST_FILE ")", option_text,
      AT(conf), .letter = 'c' },
    { "check", NULL, "look, and change nothing", option_flag, AT(check) },
    { "upgrade", NULL, "take newer packages where there are some", option_flag, AT(upgrade) },
    { "remove", NULL, "take edl-agent off the hosts, and them out of the cluster", option_flag,
      AT(remove) },
    { "packages", "DIR",
      "send the .deb files of DIR (default: those of this machine's apt, where a host has none)",
      option_text, AT(packages) },
    { "ssh", "HOW", "libssh2, openssh (the program ssh), or auto (default)", option_text, AT(ssh) },
    { "accept-new-keys", NULL, "believe the key of a host that was never seen, without a question",
      option_flag, AT(accept_new_keys) },
    { "password-file", "FILE", "the password for login and sudo, in its first line (default: ask)",
      option_text, AT(password_file) },
    { "yes", NULL, "with --remove: without a question", option_flag, AT(yes), .letter = 'y' },
};

const struct options_table deploy_options = OPTION_ROWS(rows);
