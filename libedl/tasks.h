/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - the tasks that a client holds; for client.c, which frees them with it, and the
 * questions of records.c about the data set */
#pragma once

#include <stdint.h>

struct edl_client;

void tasks_free_all(struct edl_client *client);

/* dataset_known - as edl_dataset_exists; 1: *ret_passes is as many as the job makes over it, or 0
 */
int dataset_known(struct edl_client *client, uint64_t *ret_passes);
