/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.h - archives of workspaces over HTTP, and which of them jobs need */
#pragma once

#include <stdint.h>

struct caller;
struct edl_error;
struct http_request;
struct http_sink;
struct job_spec;
struct scheduler;
struct store;

extern const struct http_sink api_workspace_sink; /* of PUT /workspaces/{sha256} */
void api_workspace_put(struct http_request *request, void *userdata);
void api_workspace_get(struct http_request *request, void *userdata);
void api_workspaces_list(struct http_request *request, void *userdata);

/* api_workspaces_init - opens the folder, and looks at it every hour */
int api_workspaces_init(struct scheduler *scheduler, struct edl_error *error);
/* api_workspaces_begin_term - where schedulers share a database its rows say which archives there
 * are (workspace_rows.h); store: before it is far. The jobs are loaded */
int api_workspaces_begin_term(struct scheduler *scheduler, struct store *store, uint64_t term,
                              struct edl_error *error);
void api_workspaces_done(struct scheduler *scheduler);

/* api_workspaces_check - EDL_EBADSPEC unless each archive that the job names is there, and one that
 * the caller may read; those are needed from now on, and the caller's */
int api_workspaces_check(struct scheduler *scheduler, const struct job_spec *spec,
                         const struct caller *caller, struct edl_error *error);
