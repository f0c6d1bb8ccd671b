/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - lists of processes out of answers, as the caller of the library gets them */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "libedl/edl/edl.h"

#define PEERS_MAX 65536

/* peers_read - -EINVAL when it is no list of processes; *ret, the caller's (peers_free), points
 * into nothing else */
int peers_read(const json_t *list, struct edl_peer **ret, size_t *ret_n);
void peers_free(const struct edl_peer *peers, size_t n);

/* number_read - 0 with a number from 0 on, else -EINVAL */
int number_read(const json_t *object, const char *key, uint64_t *ret);

/* port_read - 0 with what is a port, else -EINVAL */
int port_read(const json_t *value, uint16_t *ret);

struct edl_error;

/* service_read - *ret is the caller's; an answer that is no service is an error */
int service_read(const json_t *answer, struct edl_service **ret, struct edl_error *error);

/* service_name_valid - or the name of a role: it becomes part of a path */
bool service_name_valid(const char *name);
