/* SPDX-License-Identifier: Apache-2.0 */
/* memory_store.h - a store that keeps its records in memory: for the simulator and for copies
 *
 * It carries out the same effects as the SQLite store, by the same protocol (rows whole, changed
 * tasks taken once, a new pass resets all), so that a fault of the protocol shows in simulation.
 * Invariant: it holds the state after the last commit, and nothing else. */
#pragma once

#include "scheduler/core/record/records.h"

struct effect;
struct memory_store;

struct memory_store *memory_store_new(void);
struct memory_store *memory_store_free(struct memory_store *store); /* accepts NULL; returns NULL */

/* memory_store_commit - one turn's effects; O(their records). Not committing is how a crash before
 * or in the middle of a commit looks like: nothing of it remains. */
void memory_store_commit(struct memory_store *store, const struct effect *effects, size_t n);

/* memory_store_load - into an empty cluster; the caller calls cluster_restored. EDL_ECORRUPT with
 * error when records do not belong together. */
int memory_store_load(const struct memory_store *store, struct cluster *cluster, struct instant now,
                      struct edl_error *error);

/* memory_store_load_archived - the jobs that the core has let go of, in the same way */
int memory_store_load_archived(const struct memory_store *store, struct cluster *cluster,
                               struct instant now, struct edl_error *error);

uint64_t memory_store_commits(const struct memory_store *store);
