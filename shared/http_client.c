/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.c - blocking HTTP calls: over one kept connection, or without libcurl if they can */
#include "shared/http_client.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_exchange.h"
#include "shared/http_plain.h"
#include "shared/macro.h"

struct http_client {
    struct http_base base;
    bool quick;
    CURL
        *easy; /* owned, NULL until it is needed; reset between calls, which keeps the connection */
};

static int start_curl(struct http_client *client, struct edl_error *error)
{
    if (client->easy != NULL)
        return 0;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* counted; undone in http_client_free */
    client->easy = curl_easy_init();
    if (client->easy != NULL)
        return 0;
    curl_global_cleanup();
    return edl_error_set(error, -ENOMEM, "cannot start the HTTP client");
}

int http_client_new_quick(const char *base, struct http_client **ret, struct edl_error *error)
{
    struct http_base parsed;
    int r = http_base_parse(base, &parsed, error);

    if (r < 0)
        return r;
    *ret = xcalloc(1, sizeof **ret);
    **ret = (struct http_client){ .base = parsed, .quick = true };
    return 0;
}

int http_client_new(const char *base, struct http_client **ret, struct edl_error *error)
{
    struct http_client *client;
    int r = http_client_new_quick(base, &client, error);

    if (r < 0)
        return r;
    client->quick = false;
    r = start_curl(client, error);
    if (r < 0)
        (void)http_client_free(client);
    else
        *ret = client;
    return r;
}

struct http_client *http_client_free(struct http_client *client)
{
    if (client == NULL)
        return NULL;
    if (client->easy != NULL) {
        curl_easy_cleanup(client->easy);
        curl_global_cleanup();
    }
    http_base_clear(&client->base);
    free(client);
    return NULL;
}

void http_client_trust(struct http_client *client, const char *ca_path)
{
    http_base_trust(&client->base, ca_path);
}

int http_client_call(struct http_client *client, const struct http_call *call,
                     struct http_answer *ret_answer)
{
    struct http_exchange exchange;
    struct edl_error error = { 0 };
    int r;

    if (client->quick && http_plain_call(&client->base, call, NULL, ret_answer))
        return ret_answer->failure;
    r = start_curl(client, &error);
    if (r == 0)
        r = http_exchange_init(&exchange, &client->base, client->easy, call, &error);
    if (r < 0) {
        http_answer_refuse(ret_answer, &error);
        return r;
    }
    http_exchange_finish(&exchange, curl_easy_perform(client->easy), ret_answer);
    curl_easy_reset(client->easy); /* forgets pointers into exchange */
    http_exchange_clear(&exchange);
    return ret_answer->failure;
}
