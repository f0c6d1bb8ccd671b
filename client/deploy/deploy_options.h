/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_options.h - the options of `edl deploy`: the verb needs them for its help, and the program
 * edl-deploy to follow them */
#pragma once

#include "client/options.h"

struct deploy_arguments {
    struct common_options common;
    const char *conf, *ssh, *packages, *password_file;
    bool check, remove, upgrade, yes, accept_new_keys;
};

extern const struct options_table deploy_options;
