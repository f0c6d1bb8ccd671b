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
#include "agent/files/kept_outputs.h"

struct edl_error;
struct layout;
struct link;
struct node_clock;
struct workspaces;

struct workspaces_config {
    sd_event *event;
    struct link *link;
    const struct layout *layout;    /* borrowed */
    uint64_t max_bytes;             /* of the archives that are kept */
    const struct node_clock *clock; /* borrowed */
    struct kept_bounds kept;        /* of copies whose processes have ended */
    /* its workspace is there, or why it is not: NULL or an error; order is borrowed for the call */
    void (*ready)(const struct process_id *id, json_t *order, const struct edl_error *why,
                  void *userdata);
    void *userdata;
};

/* workspaces_new - also removes what an earlier agent left that no process needs */
struct workspaces *workspaces_new(const struct workspaces_config *config);
struct workspaces *workspaces_free(struct workspaces *workspaces);

/* workspaces_set_bounds - from now on: room for archives in bytes, and what is kept of copies */
void workspaces_set_bounds(struct workspaces *workspaces, uint64_t max_bytes,
                           const struct kept_bounds *kept);

/* workspaces_await - whether the order has to wait for its workspace; then ready will be called */
bool workspaces_await(struct workspaces *workspaces, const struct process_id *id, json_t *order);

/* workspaces_cancel - whether it was waiting; ready is not called any more */
bool workspaces_cancel(struct workspaces *workspaces, const struct process_id *id);

/* workspaces_sweep_soon - a process is gone: its copy stays within the bounds of what is kept; what
 * else it had is removed, by edl-workspace */
void workspaces_sweep_soon(struct workspaces *workspaces);

/* workspaces_sweep_later - the time of what is kept ends by itself: it is looked at once an hour,
 * or sooner where it is shorter; also when a process without a copy is gone, of which a private
 * workspace may be left */
void workspaces_sweep_later(struct workspaces *workspaces);
