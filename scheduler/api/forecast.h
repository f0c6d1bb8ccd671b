/* SPDX-License-Identifier: Apache-2.0 */
/* forecast.h - ?dry_run=1: the effects of a request instead of the request */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "scheduler/core/core.h"

struct edl_error;
struct http_request;
struct scheduler;

/* api_dry_run - whether the request only asks; -EINVAL for a word that is neither yes nor no: a
 * caller who is not understood wants nothing done */
int api_dry_run(const struct http_request *request, bool *ret, struct edl_error *error);

/* Each keeps the request, and answers it with 200 and the forecast, or with the refusal of the real
 * request. -EAGAIN: the system gives no process for it, and the request is left alone. Only while
 * there is no other one (scheduler.forecast), and the core is not ahead of the database: see
 * dispatch.c. All arguments are borrowed for the call. */
int api_forecast_submit(struct scheduler *scheduler, struct http_request *request,
                        const struct job_spec *spec, const char *user,
                        const struct archived_jobs *archived, json_t *ignored, bool flat,
                        struct edl_error *error);
int api_forecast_change(struct scheduler *scheduler, struct http_request *request,
                        const struct job *job, const struct job_change *change,
                        struct edl_error *error);
int api_forecast_node(struct scheduler *scheduler, struct http_request *request,
                      const struct node *node, enum node_state state, struct edl_error *error);

/* api_forecast_done - forgets the one that is being made, if there is one */
void api_forecast_done(struct scheduler *scheduler);
