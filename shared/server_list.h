/* SPDX-License-Identifier: Apache-2.0 */
/* server_list.h - the addresses at which the schedulers of one cluster are: "URL[,URL...]"
 *
 * One of them leads, and any of them may. Each is there once, in the order in which they were
 * given, without a '/' at its end. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SERVERS_MAX 8

struct edl_error;

struct server_list { /* owned */
    char *urls[SERVERS_MAX];
    size_t n;
};

/* server_list_parse - at least one; -EINVAL with a remedy: an empty one, one that is no address of
 * a server (http_base_parse), or too many */
int server_list_parse(const char *text, struct server_list *ret, struct edl_error *error);

/* server_list_read - an array of addresses, as an answer or a file has it; one that is no address
 * is left out, and so is plain HTTP to another machine, and all beyond SERVERS_MAX */
void server_list_read(const json_t *array, struct server_list *ret);

/* server_list_add - 0; -EEXIST: it is there; -EINVAL as above */
int server_list_add(struct server_list *list, const char *url, struct edl_error *error);

/* server_list_find - its index; n: it is not there */
size_t server_list_find(const struct server_list *list, const char *url);

/* server_list_meets - do the two have an address in common? */
bool server_list_meets(const struct server_list *a, const struct server_list *b);

/* server_list_equal - the same ones, in the same order */
bool server_list_equal(const struct server_list *a, const struct server_list *b);

/* server_list_told - of an answer that says how a cluster is reached, the caller's text: "servers",
 * of which one leads, with commas; where it lists none "server"; "": neither is there */
char *server_list_told(const json_t *answer);

/* server_list_text - with commas, the caller's; "" for none. server_list_json - new reference */
char *server_list_text(const struct server_list *list);
json_t *server_list_json(const struct server_list *list);

void server_list_clear(struct server_list *list);
