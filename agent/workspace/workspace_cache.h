/* SPDX-License-Identifier: Apache-2.0 */
/* workspace_cache.h - archives of workspaces on this node, fetched from the scheduler by their hash
 *
 * Shared by all jobs, and nothing a job can spoil: a process gets an unpacked copy, and the archive
 * is hashed again whenever one is made. Bounded in bytes; the archive that was used longest ago
 * goes first. A file has its name only when it is whole and hashes to it. All that wait for an
 * archive wait for one fetch, but that one of them may not have it is told to that one alone.
 *
 * Used by: agent. Tests: tests/unit/test_workspace_cache.c, tests/integration/255-workspaces.sh. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "agent/core/process_id.h"
#include "shared/http_client.h"
#include "shared/start_fault.h"

struct edl_error;
struct workspace_cache;
struct workspace_wait;

/* a call of the node's own: link_call */
typedef int (*workspace_call_fn)(const struct http_call *call, http_answer_fn on_answer,
                                 void *call_userdata, struct http_async_call **ret_call,
                                 struct edl_error *error, void *userdata);

struct workspace_cache_config {
    sd_event *event;
    const char *dir; /* borrowed; made when it is first needed */
    uint64_t max_bytes;
    workspace_call_fn call;
    void *userdata;
    uint64_t retry_us; /* before the second try; twice as long before each that follows */
};

/* why: NULL, it is there; else why it cannot be had. The wait is over and freed. */
typedef void (*workspace_ready_fn)(const struct edl_error *why, void *userdata);

/* workspace_cache_fault - whose fault it is that one cannot be had, by the code of why
 * A node that hears the scheduler, but gets no archive whole or in time, is at fault. */
enum start_fault workspace_cache_fault(int code);

/* workspace_cache_new - removes what a fetch left that was cut off */
struct workspace_cache *workspace_cache_new(const struct workspace_cache_config *config);

/* workspace_cache_set_max - from now on; what is more goes, what was used longest ago first */
void workspace_cache_set_max(struct workspace_cache *cache, uint64_t max_bytes);

/* workspace_cache_free - gives up every fetch, calls nobody; accepts NULL, returns NULL */
struct workspace_cache *workspace_cache_free(struct workspace_cache *cache);

/* workspace_cache_has - whether it is there; if so, it was used now */
bool workspace_cache_has(struct workspace_cache *cache, const char *sha256);

/* workspace_cache_wait - fetches it for a process; ready is called from the loop, once, unless the
 * wait is cancelled */
struct workspace_wait *workspace_cache_wait(struct workspace_cache *cache, const char *sha256,
                                            const struct process_id *id, workspace_ready_fn ready,
                                            void *userdata);

/* workspace_wait_cancel - the last one that waits ends the fetch; accepts NULL, returns NULL */
struct workspace_wait *workspace_wait_cancel(struct workspace_wait *wait);
