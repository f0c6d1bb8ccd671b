/* SPDX-License-Identifier: Apache-2.0 */
/* clone.h - a copy of a cluster to try something on */
#pragma once

struct instant;

/* cluster_clone - an independent copy to try something on: what is remembered, and what a plan
 * looks at besides (leases, back-offs, foreign load), without pending effects. cluster_free it.
 * Linear. */
struct cluster *cluster_clone(const struct cluster *cluster, struct instant now);

/* cluster_clone_active - without the jobs that are over: it plans the same. Linear in the nodes and
 * the jobs that are not, and a walk over the list of all. */
struct cluster *cluster_clone_active(const struct cluster *cluster, struct instant now);
