/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - the judge: invariants of the model */
#pragma once

struct cluster;
struct edl_error;

/* cluster_check - the invariants; 0, or EDL_EBADTRANSITION with error naming the first that does
 * not hold */
int cluster_check(const struct cluster *cluster, struct edl_error *error);
