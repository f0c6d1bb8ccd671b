/* SPDX-License-Identifier: Apache-2.0 */
/* api_forecast.h - ?dry_run=1: what a request would do instead of doing it */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "scheduler/core/cluster.h"

struct edl_error;
struct http_request;
struct scheduler;

/* api_dry_run - whether the request only asks; -EINVAL for a word that is neither yes nor no: a
 * caller who is not understood wants nothing done */
int api_dry_run(const struct http_request *request, bool *ret, struct edl_error *error);

/* Other bounds of a role, as PATCH /jobs/{job} gives them. */
/* Each answers the request with 200 and the forecast, or returns what the real request would be
 * refused with and leaves the request alone. */
int api_forecast_submit(struct scheduler *scheduler, struct http_request *request,
                        const struct job_spec *spec, const char *user,
                        const struct archived_jobs *archived, json_t *ignored,
                        struct edl_error *error);
int api_forecast_change(struct scheduler *scheduler, struct http_request *request,
                        const struct job *job, const struct job_change *change,
                        struct edl_error *error);
int api_forecast_node(struct scheduler *scheduler, struct http_request *request,
                      const struct node *node, enum node_state state, struct edl_error *error);
