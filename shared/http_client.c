/* SPDX-License-Identifier: Apache-2.0 */
/* http_client.c - blocking HTTP calls over one kept connection, and answers turned into errors */
#include "shared/http_client.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_exchange.h"
#include "shared/macro.h"

struct http_client {
    struct http_base base;
    CURL *easy; /* owned; reset between calls, which keeps the connection */
};

void http_answer_clear(struct http_answer *answer)
{
    json_decref(answer->json);
    free(answer->body);
    *answer = (struct http_answer){ 0 };
}

/* What a status means when only the status is known; the reverse of error_code_http_status. */
static int status_code(unsigned status)
{
    static const struct {
        unsigned status;
        int code;
    } map[] = {
        { 400, -EINVAL },     { 401, EDL_EUNAUTHENTICATED },
        { 403, -EACCES },     { 404, -ENOENT },
        { 405, -EOPNOTSUPP }, { 409, -EEXIST },
        { 413, -E2BIG },      { 422, EDL_EBADSPEC },
        { 503, -EAGAIN },     { 504, -ETIMEDOUT },
        { 507, -ENOSPC },
    };

    for (size_t i = 0; i < ELEMENTS(map); i++)
        if (map[i].status == status)
            return map[i].code;
    return EDL_EHTTP;
}

int http_answer_error(const struct http_answer *answer, struct edl_error *error)
{
    const char *detail;
    const char *pointer;
    const char *remedy;
    int code;

    if (answer->failure != 0) {
        (void)edl_error_set(error, answer->failure, "%s", answer->text);
        if (answer->remedy[0] != '\0')
            (void)edl_error_remedy(error, "%s", answer->remedy);
        return answer->failure;
    }
    if (answer->status < 300)
        return 0;
    code = status_code(answer->status);
    detail = json_string_value(json_object_get(answer->json, "detail"));
    remedy = json_string_value(json_object_get(answer->json, "remedy"));
    pointer = json_string_value(
        json_object_get(json_array_get(json_object_get(answer->json, "errors"), 0), "pointer"));
    if (detail == NULL)
        return edl_error_set(error, code, "the server answered with status %u", answer->status);
    (void)edl_error_at(error, code, pointer, "%s", detail);
    if (remedy != NULL)
        (void)edl_error_remedy(error, "%s", remedy);
    return code;
}

int http_client_new(const char *base, struct http_client **ret, struct edl_error *error)
{
    struct http_client *client;
    struct http_base parsed;
    int r = http_base_parse(base, &parsed, error);

    if (r < 0)
        return r;
    client = xcalloc(1, sizeof *client);
    client->base = parsed;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* counted; undone in http_client_free */
    client->easy = curl_easy_init();
    if (client->easy == NULL) {
        (void)http_client_free(client);
        return edl_error_set(error, -ENOMEM, "cannot start the HTTP client");
    }
    *ret = client;
    return 0;
}

struct http_client *http_client_free(struct http_client *client)
{
    if (client == NULL)
        return NULL;
    curl_easy_cleanup(client->easy);
    curl_global_cleanup();
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

    *ret_answer = (struct http_answer){ 0 };
    r = http_exchange_init(&exchange, &client->base, client->easy, call, &error);
    if (r < 0) {
        ret_answer->failure = r;
        (void)snprintf(ret_answer->text, sizeof ret_answer->text, "%.*s",
                       (int)sizeof ret_answer->text - 1, error.text);
        (void)snprintf(ret_answer->remedy, sizeof ret_answer->remedy, "%.*s",
                       (int)sizeof ret_answer->remedy - 1, error.remedy);
        return r;
    }
    http_exchange_finish(&exchange, curl_easy_perform(client->easy), ret_answer);
    curl_easy_reset(client->easy); /* forgets pointers into exchange */
    http_exchange_clear(&exchange);
    return ret_answer->failure;
}
