/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.h - the tasks that a client holds; for client.c, which frees them with it */
#pragma once

struct edl_client;

void tasks_free_all(struct edl_client *client);
