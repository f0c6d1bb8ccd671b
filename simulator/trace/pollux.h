/* SPDX-License-Identifier: Apache-2.0 */
/* pollux.h - jobs of Pollux' workloads as profiles, and reading such a workload */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct edl_error;
struct pollux_app;
struct profile;
struct trace;

/* pollux_profile_new - a job's physics with one batch; batch 0: at every epoch the one with the
 * best goodput. Takes one more reference of app. */
struct profile *pollux_profile_new(struct pollux_app *app, uint32_t batch);

/* pollux_import - a workload (name, time, application, num_replicas, batch_size) whose applications
 * are folders of dir; adaptive: batches are chosen anew, not the file's
 * Errors: -EINVAL and what opening gives, naming file, line and remedy. */
int pollux_import(const char *path, const char *dir, bool adaptive, struct trace **ret,
                  struct edl_error *error);
