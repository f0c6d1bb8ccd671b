/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h - do two clusters remember the same? */
#pragma once

struct cluster;
struct edl_error;

/* cluster_compare - do two clusters remember the same? 0, or EDL_EBADTRANSITION with error naming
 * the first difference. Linear. */
int cluster_compare(const struct cluster *a, const struct cluster *b, struct edl_error *error);
