/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.h - starts that wait for their workspace, and the removal of copies that were left
 *
 * Used by: agent. Tests: tests/integration/255-workspaces.sh. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "agent/core/process_id.h"

struct edl_error;
struct layout;
struct link;
struct workspaces;

struct workspaces_config {
    sd_event *event;
    struct link *link;
    const struct layout *layout; /* borrowed */
    uint64_t max_bytes;          /* of the archives that are kept */
    /* its workspace is there, or why it is not: NULL or an error; order is borrowed for the call */
    void (*ready)(const struct process_id *id, json_t *order, const struct edl_error *why,
                  void *userdata);
    void *userdata;
};

/* workspaces_new - also removes what an earlier agent left that no process needs */
struct workspaces *workspaces_new(const struct workspaces_config *config);
struct workspaces *workspaces_free(struct workspaces *workspaces);

/* workspaces_set_max - room for archives from now on, in bytes */
void workspaces_set_max(struct workspaces *workspaces, uint64_t max_bytes);

/* workspaces_await - whether the order has to wait for its workspace; then ready will be called */
bool workspaces_await(struct workspaces *workspaces, const struct process_id *id, json_t *order);

/* workspaces_cancel - whether it was waiting; ready is not called any more */
bool workspaces_cancel(struct workspaces *workspaces, const struct process_id *id);

/* workspaces_sweep_soon - a process is gone: what it had is removed, by edl-workspace */
void workspaces_sweep_soon(struct workspaces *workspaces);
