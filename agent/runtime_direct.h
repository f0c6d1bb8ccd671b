/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_direct.h - processes under edl-supervisor, for machines without a service manager */
#pragma once

#include <systemd/sd-event.h>

struct edl_error;
struct runtime;

/* runtime_direct_new - supervisor_path: the program edl-supervisor, copied */
int runtime_direct_new(sd_event *event, const char *supervisor_path, struct runtime **ret,
                       struct edl_error *error);
