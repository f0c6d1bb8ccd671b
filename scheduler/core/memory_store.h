/* SPDX-License-Identifier: Apache-2.0 */
/* memory_store.h - a store that keeps its records in memory: for the simulator and for copies
 *
 * It carries out the same effects as the SQLite store, by the same protocol (rows whole, changed
 * tasks taken once, a new pass resets all), so that what is wrong with the protocol shows in
 * simulation. Invariant: what it holds is the state after the last commit, and nothing else. */
#pragma once

#include "scheduler/core/records.h"

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

uint64_t memory_store_commits(const struct memory_store *store);

/* memory_store_put_all - as if every row of the cluster had been saved; takes no changed tasks away
 * from whoever else keeps them */
void memory_store_put_all(struct memory_store *store, const struct cluster *cluster);

/* NULL when nothing is recorded under it; valid until the next commit */
const struct job_record *memory_store_job(const struct memory_store *store, uint64_t id);
const struct process_record *memory_store_process(const struct memory_store *store, uint64_t job,
                                                  uint64_t incarnation);
const struct node_record *memory_store_node(const struct memory_store *store, const char *name);
