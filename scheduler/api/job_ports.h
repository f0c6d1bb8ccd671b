/* SPDX-License-Identifier: Apache-2.0 */
/* job_ports.h - ports that a job listens at by its own choice
 *
 * Parameter servers whose role has no allocated ports listen from `port` on, on the nodes that it
 * names: `ports_num` and `ports_num_for_sparse` ports. Two jobs at once on one node need ports of
 * their own. */
#pragma once

#include <stdbool.h>

struct cluster;
struct edl_error;
struct http_request;
struct job_spec;

/* api_job_ports_check - with ?ports=own: -EEXIST, with remedy and a pointer to /spec/port, when a
 * job that is not over has one of these ports on one of these nodes; -EINVAL: another word. Without
 * it 0. O(jobs that are not over, and the nodes that they name) */
int api_job_ports_check(const struct http_request *request, const struct cluster *cluster,
                        const struct job_spec *spec, struct edl_error *error);
