/* SPDX-License-Identifier: Apache-2.0 */
/* http_exchange.h - one call through libcurl; for http_client.c, http_async.c and http_duplex.c
 *
 * http_exchange_init copies what the call lends, http_exchange_finish turns libcurl's verdict into
 * an answer. The easy handle belongs to the caller. */
#pragma once

#include "shared/http_call.h"

#include <curl/curl.h>
#include <stdbool.h>

/* The server closes idle connections after 60 s; an old one is not worth the race. */
#define HTTP_CONNECTION_AGE_S 30

struct http_exchange {
    const struct http_base *base; /* borrowed */
    CURL *easy;                   /* borrowed */
    struct curl_slist *headers;   /* owned */
    char *url;                    /* owned */
    char *request_body;           /* owned; NULL when there is none */
    char *body;                   /* owned: the answer, NUL-terminated */
    FILE *send;                   /* borrowed; what goes as the body, or NULL */
    void (*on_sent)(void *userdata, uint64_t bytes);
    void *sent_userdata;
    FILE *save;    /* borrowed; where a success goes instead, or NULL */
    size_t *saved; /* borrowed; counts it, or NULL */
    size_t body_size;
    size_t body_room;
    bool too_large;
    bool headers_whole;
    char leader[HTTP_LEADER_MAX]; /* as EDL-Leader says; "": it does not */
    char text[CURL_ERROR_SIZE];
};

/* http_exchange_init - prepares easy for the call; exchange must not move until it is cleared */
int http_exchange_init(struct http_exchange *exchange, const struct http_base *base, CURL *easy,
                       const struct http_call *call, struct edl_error *error);
/* http_exchange_take - libcurl's CURLOPT_WRITEFUNCTION: a piece of the answer */
size_t http_exchange_take(char *data, size_t one, size_t size, void *userdata);
void http_exchange_finish(struct http_exchange *exchange, CURLcode result,
                          struct http_answer *ret_answer);
void http_exchange_clear(struct http_exchange *exchange);
