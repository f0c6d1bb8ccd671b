/* SPDX-License-Identifier: Apache-2.0 */
/* http_parse.h - an HTTP/1.1 answer, as it comes in (RFC 9112)
 *
 * Pure, bounded (HTTP_ANSWER_MAX_BYTES of body, and below), fed with pieces of any size. Takes
 * Content-Length, chunked and until-close bodies; an ambiguous message (two lengths, a length
 * beside chunks, folded lines) is refused. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/http_client.h"

#define HTTP_PARSE_LINE_BYTES 8192
#define HTTP_PARSE_HEADERS_MAX 100

/* In the order of an answer. */
enum http_parse_state {
    HTTP_PARSE_STATUS,
    HTTP_PARSE_HEADER,
    HTTP_PARSE_LENGTH,
    HTTP_PARSE_UNTIL_CLOSE,
    HTTP_PARSE_CHUNK_SIZE,
    HTTP_PARSE_CHUNK,
    HTTP_PARSE_CHUNK_END,
    HTTP_PARSE_TRAILER,
    HTTP_PARSE_DONE,
};

struct http_parse {
    enum http_parse_state state;
    bool no_body; /* the request was HEAD */
    unsigned status;
    bool is_json;                 /* Content-Type says so */
    unsigned retry_after_s;       /* as Retry-After says; 0: it does not */
    char leader[HTTP_LEADER_MAX]; /* as EDL-Leader says; "": it does not */
    bool has_length, chunked;
    uint64_t left; /* bytes of the body or of the chunk */
    unsigned n_headers;
    size_t line_size;
    char line[HTTP_PARSE_LINE_BYTES];
    char *body; /* owned, NUL-terminated; NULL: none */
    size_t body_size, body_room;
};

void http_parse_init(struct http_parse *parse, bool no_body);
void http_parse_clear(struct http_parse *parse);

/* http_parse_feed - 1: the answer is whole, 0: go on; -EPROTO: it is no HTTP, -E2BIG: too large
 * What follows behind the answer is not looked at. */
int http_parse_feed(struct http_parse *parse, const char *data, size_t size);

/* http_parse_end - the connection was closed: 1 when the answer is whole by that; -ENOMSG: nothing
 * had come, -EBADMSG, -ENODATA: it was cut off before or behind the end of its headers */
int http_parse_end(struct http_parse *parse);
