/* SPDX-License-Identifier: Apache-2.0 */
/* collection.c - see collection.h */
#include "client/collection.h"

#include "client/action.h"
#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/text.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

/* change - one call; prints the answer */
static int change(const struct invocation *invocation, struct server *server, const char *method,
                  const char *path, const json_t *body)
{
    const struct collection *collection = invocation->verb->collection;
    _cleanup_json_ json_t *answer = NULL;
    int status = server_request(server, method, path, body, &answer);

    if (status != STATUS_OK)
        return status;
    if (streq(method, "POST") && collection->print_added != NULL)
        collection->print_added(invocation, server, answer);
    else if (invocation->common->json)
        json_print(answer);
    else
        collection->print(answer);
    return STATUS_OK;
}

static int add(const struct invocation *invocation, struct server *server)
{
    const struct collection *collection = invocation->verb->collection;
    _cleanup_json_ json_t *body = collection->body(invocation);
    _cleanup_free_ char *path = text_format("/%s", collection->name);

    if (body == NULL)
        return STATUS_BAD_INPUT;
    (void)json_object_set_new(body, "name", json_string(invocation->arguments.args[1]));
    return change(invocation, server, "POST", path, body);
}

/* path_of - of the one that is named, with the query */
static char *path_of(const struct invocation *invocation, const char *query)
{
    _cleanup_free_ char *segment = text_url_segment(invocation->arguments.args[1]);

    return text_format("/%s/%s%s", invocation->verb->collection->name, segment, query);
}

static int set(const struct invocation *invocation, struct server *server)
{
    _cleanup_json_ json_t *body = invocation->verb->collection->body(invocation);
    _cleanup_free_ char *path = path_of(invocation, "");

    return body == NULL ? STATUS_BAD_INPUT : change(invocation, server, "PATCH", path, body);
}

static int take_away(const struct invocation *invocation, struct server *server)
{
    const struct collection *collection = invocation->verb->collection;
    const char *query = collection->query != NULL ? collection->query(invocation) : "";
    _cleanup_free_ char *path = path_of(invocation, query);

    return change(invocation, server, "DELETE", path, NULL);
}

static int list(const struct invocation *invocation, struct server *server)
{
    const struct collection *collection = invocation->verb->collection;
    _cleanup_free_ char *path = text_format("/%s?limit=1000", collection->name);
    _cleanup_json_ json_t *answer = NULL;
    int status = server_list(server, path, collection->name, &answer);
    size_t i;
    json_t *item;

    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }

    _cleanup_(cleanup_tablep) struct table *table =
        table_new(collection->headers, collection->right);

    json_array_foreach(json_object_get(answer, collection->name), i, item)
        collection->add_row(table, item);
    table_print(table, stdout);
    return STATUS_OK;
}

int collection_run(const struct invocation *invocation)
{
    static const struct action actions[] = {
        { .name = "add", .n_args = 1, .run = add },
        { .name = "set", .n_args = 1, .run = set },
        { .name = "remove", .n_args = 1, .run = take_away },
        { .name = "list", .run = list },
    };

    return action_run(invocation, actions, ELEMENTS(actions));
}
