/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_packages.h - the package files that this machine can send: of a folder, or those that its
 * own apt fetches */
#pragma once

#include <systemd/sd-event.h>

#include "client/deploy/deploy_core.h"

struct deploy_packages;

/* packages_fn - they are known now; error: why there are none, NULL: none is wrong */
typedef void (*packages_fn)(const struct edl_error *error, void *userdata);

/* deploy_packages_start - folder: all .deb files of it that a node needs, the newest of each name;
 * NULL: apt-get download puts them into a temporary folder. fn is called once, from the loop. Of
 * this machine's apt nothing is an error: it may well have none. SIGCHLD must be blocked. */
int deploy_packages_start(sd_event *event, const char *folder, packages_fn fn, void *userdata,
                          struct deploy_packages **ret, struct edl_error *error);

/* deploy_packages_list - valid once fn was called; borrowed */
const struct deploy_package *deploy_packages_list(const struct deploy_packages *packages,
                                                  size_t *ret_n);

/* deploy_packages_free - and removes the temporary folder; accepts NULL, returns NULL */
struct deploy_packages *deploy_packages_free(struct deploy_packages *packages);
