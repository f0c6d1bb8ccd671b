/* SPDX-License-Identifier: Apache-2.0 */
/* link_told.h - what schedulers told of themselves: the highest term, and where the others are
 *
 * A term is the time in which one of several schedulers leads; each next one is higher. An answer
 * of a lower one than this node has heard of is of a scheduler that was deposed: it does not
 * count. Both are kept in schedulers.json of the state folder and outlive the agent:
 *
 *     {"term": 7, "servers": [..], "given": [..]}      given: its addresses by its options
 *
 * A cluster on one machine has no terms. Used by: link.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/server_list.h"

struct edl_error;

struct link_told {
    char *path;    /* owned; NULL: it is not kept */
    uint64_t term; /* 0: none */
    struct server_list given;
    struct server_list servers; /* none: nobody said */
};

/* link_told_open - what an earlier agent kept; nothing of it when that one asked other schedulers
 */
void link_told_open(const char *state_dir, const struct server_list *given, struct link_told *ret);
void link_told_close(struct link_told *told);

/* link_told_term - whether an answer counts by its term: 0, and a higher one is kept before
 * -ESTALE: it is a lower one; -EINVAL: it is none */
int link_told_term(struct link_told *told, const json_t *answer, struct edl_error *error);

/* link_told_ends - an answer that was stored has no term: the cluster is on one machine again */
void link_told_ends(struct link_told *told, const json_t *answer);

/* link_told_servers - true: an answer lists other ones than before; they are kept */
bool link_told_servers(struct link_told *told, const json_t *answer);
