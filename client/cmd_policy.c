/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_policy.c - `edl policy`: the policy by which the cluster is shared, and the scarce resources
 * in it */
#include "client/json_read.h"
#include "client/server.h"
#include "client/table_print.h"
#include "client/verb.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

static const char *summary_of(const json_t *answer)
{
    const char *name = json_text(answer, "policy");
    size_t i;
    json_t *known;

    json_array_foreach(json_object_get(answer, "known"), i, known)
    {
        if (streq(json_text(known, "name"), name))
            return json_text(known, "summary");
    }
    return "";
}

static void add_price(struct table *table, const json_t *item)
{
    const json_t *price = json_object_get(item, "price");

    table_add(table, "%s", json_text(item, "resource"));
    if (json_is_number(price))
        table_add(table, "%.3g", json_number_value(price));
    else
        table_add(table, "-");
    table_add(table, "%s", json_text(item, "per"));
    if (!json_is_number(price))
        table_add(table, "all in use are minima, or needed for deadlines");
    else
        table_add(table, "%s", json_number_value(price) > 0 ? "" : "some is free, or of no use");
}

static void print_prices(const json_t *prices)
{
    static const char *const headers[] = { "RESOURCE", "PRICE", "PER", "", NULL };
    size_t i;
    json_t *item;

    if (!json_is_array(prices)) /* this policy knows none, or the server is older */
        return;

    _cleanup_(cleanup_tablep) struct table *table = table_new(headers, 1U << 1);

    json_array_foreach(prices, i, item) add_price(table, item);
    table_print(table, stdout);
}

static int run(const struct invocation *invocation)
{
    _cleanup_json_ json_t *answer = NULL;
    struct server server;
    int status = server_open(invocation->common, &server);

    if (status != STATUS_OK)
        return status;
    status = server_get(&server, &answer, "/policy");
    server_clear(&server);
    if (status != STATUS_OK)
        return status;
    if (invocation->common->json) {
        json_print(answer);
        return STATUS_OK;
    }
    (void)printf("%s: %s\ncores are granted up to a load of %.1f%%\n", json_text(answer, "policy"),
                 summary_of(answer), 100 * json_number_value(json_object_get(answer, "max_load")));
    print_prices(json_object_get(answer, "prices"));
    return STATUS_OK;
}

const struct verb verb_policy = {
    .name = "policy",
    .usage = "",
    .summary = "The allocation policy, and the price of cores, memory and GPUs",
    .details = "The price is by how many seconds all jobs together are over sooner. It is for each "
               "second that\n"
               "the cheapest core, GiB or GPU in use is held.",
    .run = run,
};
