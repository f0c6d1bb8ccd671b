/* SPDX-License-Identifier: Apache-2.0 */
/* http_probe.c - see http_probe.h */
#include "shared/http_probe.h"

#include <stdio.h>

#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_exchange.h"
#include "shared/macro.h"

static bool has_passed(CURL *easy, CURLINFO what)
{
    curl_off_t us = 0;

    return curl_easy_getinfo(easy, what, &us) == CURLE_OK && us > 0;
}

/* What went wrong tells where, but for time that ran out: then how far it got does. */
static enum http_stage stage_of(CURL *easy, CURLcode result)
{
    static const struct {
        CURLcode result;
        enum http_stage stage;
    } stages[] = {
        { CURLE_COULDNT_RESOLVE_HOST, HTTP_STAGE_NAME },
        { CURLE_COULDNT_CONNECT, HTTP_STAGE_CONNECTION },
        { CURLE_PEER_FAILED_VERIFICATION, HTTP_STAGE_TLS },
        { CURLE_SSL_CONNECT_ERROR, HTTP_STAGE_TLS },
        { CURLE_SSL_CACERT_BADFILE, HTTP_STAGE_TLS },
        { CURLE_SSL_CERTPROBLEM, HTTP_STAGE_TLS },
    };

    for (size_t i = 0; i < ELEMENTS(stages); i++)
        if (stages[i].result == result)
            return stages[i].stage;
    if (result != CURLE_OPERATION_TIMEDOUT || has_passed(easy, CURLINFO_PRETRANSFER_TIME_T))
        return HTTP_STAGE_ANSWER;
    if (!has_passed(easy, CURLINFO_NAMELOOKUP_TIME_T))
        return HTTP_STAGE_NAME;
    return has_passed(easy, CURLINFO_CONNECT_TIME_T) ? HTTP_STAGE_TLS : HTTP_STAGE_CONNECTION;
}

static uint64_t date_of(CURL *easy)
{
    struct curl_header *header;
    time_t date;

    if (curl_easy_header(easy, "Date", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return 0;
    date = curl_getdate(header->value, NULL);
    return date > 0 ? (uint64_t)date * USEC_PER_SEC : 0;
}

static void perform(CURL *easy, struct http_exchange *exchange, struct http_probe *ret)
{
    uint64_t begin_us = clock_read_us(CLOCK_BOOTTIME);
    uint64_t begin_wall_us = clock_read_us(CLOCK_REALTIME);
    const char *peer = NULL;
    CURLcode result = curl_easy_perform(easy);

    ret->took_us = clock_read_us(CLOCK_BOOTTIME) - begin_us;
    ret->middle_us = begin_wall_us + ret->took_us / 2;
    ret->stage = result == CURLE_OK ? HTTP_STAGE_DONE : stage_of(easy, result);
    if (curl_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &peer) == CURLE_OK && peer != NULL)
        (void)snprintf(ret->peer, sizeof ret->peer, "%s", peer);
    if (result == CURLE_OK)
        ret->date_us = date_of(easy);
    http_exchange_finish(exchange, result, &ret->answer);
}

void http_probe(const char *base_text, const char *ca_path, const struct http_call *call,
                struct http_probe *ret)
{
    struct http_exchange exchange = { 0 };
    struct edl_error error = { 0 };
    struct http_base base;
    CURL *easy;
    int r = http_base_parse(base_text, &base, &error);

    *ret = (struct http_probe){ .stage = HTTP_STAGE_NAME };
    if (r < 0) {
        http_answer_refuse(&ret->answer, &error);
        return;
    }
    if (ca_path != NULL)
        http_base_trust(&base, ca_path);
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    easy = curl_easy_init();
    if (easy == NULL)
        abort();
    r = http_exchange_init(&exchange, &base, easy, call, &error);
    if (r == 0)
        perform(easy, &exchange, ret);
    else
        http_answer_refuse(&ret->answer, &error);
    http_exchange_clear(&exchange);
    curl_easy_cleanup(easy);
    curl_global_cleanup();
    http_base_clear(&base);
}

void http_probe_clear(struct http_probe *probe)
{
    http_answer_clear(&probe->answer);
}
