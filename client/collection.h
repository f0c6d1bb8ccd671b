/* SPDX-License-Identifier: Apache-2.0 */
/* collection.h - verbs for things with names: `edl user add ann`, `edl group list`
 *
 * POST /users adds one, PATCH /users/ann changes it, DELETE removes it, GET lists all. */
#pragma once

#include <jansson.h>
#include <stdint.h>

struct invocation;
struct server;
struct table;

struct collection {
    const char *name;                                     /* "users", as in paths and answers */
    json_t *(*body)(const struct invocation *invocation); /* of add and set; NULL: was refused */
    const char *(*query)(const struct invocation *invocation); /* of remove: "?forget=1"; or NULL */
    void (*print)(const json_t *item);                         /* after a change */
    /* instead of print, of one that was added; or NULL */
    void (*print_added)(const struct invocation *invocation, struct server *server, json_t *item);
    const char *const *headers; /* of list, as of table_new */
    uint32_t right;             /* the same */
    void (*add_row)(struct table *table, const json_t *item);
};

/* collection_run - the run of a verb that has a collection: add NAME, set NAME, remove NAME or
 * list, as the first argument says. Returns enum status. */
int collection_run(const struct invocation *invocation);
