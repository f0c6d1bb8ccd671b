/* SPDX-License-Identifier: Apache-2.0 */
/* http_parse.c - an HTTP/1.1 answer, as it comes in */
#include "shared/http_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/http_call.h"
#include "shared/macro.h"
#include "shared/parse.h"

void http_parse_init(struct http_parse *parse, bool no_body)
{
    (void)memset(parse, 0, sizeof *parse);
    parse->no_body = no_body;
}

void http_parse_clear(struct http_parse *parse)
{
    free(parse->body);
    http_parse_init(parse, false);
}

static int take_body(struct http_parse *parse, const char *data, size_t size)
{
    if (size > HTTP_ANSWER_MAX_BYTES - parse->body_size)
        return -E2BIG;
    if (parse->body_size + size + 1 > parse->body_room) {
        parse->body_room = MAX_OF(parse->body_room * 2, parse->body_size + size + 1);
        parse->body = xreallocarray(parse->body, parse->body_room, 1);
    }
    (void)memcpy(parse->body + parse->body_size, data, size);
    parse->body_size += size;
    parse->body[parse->body_size] = '\0';
    return 0;
}

/* ---- lines ---- */

static int take_status(struct http_parse *parse)
{
    const char *line = parse->line;

    if (strncmp(line, "HTTP/1.", 7) != 0 || !isdigit((unsigned char)line[7]) || line[8] != ' ' ||
        !isdigit((unsigned char)line[9]) || !isdigit((unsigned char)line[10]) ||
        !isdigit((unsigned char)line[11]) || (line[12] != ' ' && line[12] != '\0'))
        return -EPROTO;
    parse->status = (unsigned)strtoul(line + 9, NULL, 10);
    if (parse->status < 100)
        return -EPROTO;
    parse->state = HTTP_PARSE_HEADER;
    return 0;
}

/* begin_body - the headers are over */
static int begin_body(struct http_parse *parse)
{
    if (parse->status < 200) { /* another answer follows */
        if (parse->status == 101 || ++parse->n_headers > HTTP_PARSE_HEADERS_MAX)
            return -EPROTO;
        parse->has_length = parse->chunked = parse->is_json = false;
        parse->leader[0] = '\0';
        parse->state = HTTP_PARSE_STATUS;
    } else if (parse->no_body || parse->status == 204 || parse->status == 304) {
        parse->state = HTTP_PARSE_DONE;
    } else if (parse->chunked) {
        if (parse->has_length)
            return -EPROTO;
        parse->state = HTTP_PARSE_CHUNK_SIZE;
    } else if (parse->has_length) {
        parse->state = parse->left > 0 ? HTTP_PARSE_LENGTH : HTTP_PARSE_DONE;
    } else {
        parse->state = HTTP_PARSE_UNTIL_CLOSE;
    }
    return 0;
}

static int take_length(struct http_parse *parse, const char *value)
{
    uint64_t length;

    if (parse_u64(value, &length) < 0 || (parse->has_length && length != parse->left))
        return -EPROTO;
    if (length > HTTP_ANSWER_MAX_BYTES)
        return -E2BIG;
    parse->has_length = true;
    parse->left = length;
    return 0;
}

/* A date is no number of seconds: then it does not say. */
static void take_retry_after(struct http_parse *parse, const char *value)
{
    uint64_t seconds;

    if (parse_u64(value, &seconds) == 0)
        parse->retry_after_s = (unsigned)MIN_OF(seconds, (uint64_t)HTTP_RETRY_AFTER_MAX_S);
}

static int take_header(struct http_parse *parse)
{
    char *colon = strchr(parse->line, ':');
    char *value, *end;

    if (parse->line[0] == '\0')
        return begin_body(parse);
    if (colon == NULL || ++parse->n_headers > HTTP_PARSE_HEADERS_MAX)
        return -EPROTO;
    *colon = '\0';
    if (parse->line[0] == '\0' || strpbrk(parse->line, " \t") != NULL) /* also a folded line */
        return -EPROTO;
    value = colon + 1 + strspn(colon + 1, " \t");
    for (end = value + strlen(value); end > value && (end[-1] == ' ' || end[-1] == '\t'); end--)
        ;
    *end = '\0';
    if (strcasecmp(parse->line, "Content-Length") == 0)
        return take_length(parse, value);
    if (strcasecmp(parse->line, "Transfer-Encoding") == 0) {
        if (strcasecmp(value, "chunked") != 0 || parse->chunked)
            return -EPROTO;
        parse->chunked = true;
    } else if (strcasecmp(parse->line, "Content-Type") == 0) {
        parse->is_json = strcasestr(value, "json") != NULL;
    } else if (strcasecmp(parse->line, "Retry-After") == 0) {
        take_retry_after(parse, value);
    } else if (strcasecmp(parse->line, "EDL-Leader") == 0) {
        http_call_leader(value, strlen(value), parse->leader);
    }
    return 0;
}

static int take_chunk_size(struct http_parse *parse)
{
    uint64_t size = 0;
    const char *p = parse->line;

    for (; isxdigit((unsigned char)*p); p++) {
        int digit = isdigit((unsigned char)*p) ? *p - '0' : tolower((unsigned char)*p) - 'a' + 10;

        size = size * 16 + (uint64_t)digit;
        if (size > HTTP_ANSWER_MAX_BYTES)
            return -E2BIG;
    }
    if (p == parse->line || (*p != '\0' && *p != ';' && *p != ' ' && *p != '\t'))
        return -EPROTO;
    parse->left = size;
    parse->state = size > 0 ? HTTP_PARSE_CHUNK : HTTP_PARSE_TRAILER;
    return 0;
}

static int take_line(struct http_parse *parse)
{
    switch (parse->state) {
    case HTTP_PARSE_STATUS:
        return take_status(parse);
    case HTTP_PARSE_HEADER:
        return take_header(parse);
    case HTTP_PARSE_CHUNK_SIZE:
        return take_chunk_size(parse);
    case HTTP_PARSE_CHUNK_END:
        parse->state = HTTP_PARSE_CHUNK_SIZE;
        return parse->line[0] == '\0' ? 0 : -EPROTO;
    case HTTP_PARSE_TRAILER:
        if (parse->line[0] == '\0')
            parse->state = HTTP_PARSE_DONE;
        return ++parse->n_headers > HTTP_PARSE_HEADERS_MAX ? -EPROTO : 0;
    case HTTP_PARSE_LENGTH:
    case HTTP_PARSE_UNTIL_CLOSE:
    case HTTP_PARSE_CHUNK:
    case HTTP_PARSE_DONE:
        break;
    }
    return -EPROTO;
}

/* feed_line - how much of data belongs to the line, or negative */
static ssize_t feed_line(struct http_parse *parse, const char *data, size_t size)
{
    const char *newline = memchr(data, '\n', size);
    size_t n = newline != NULL ? (size_t)(newline - data) : size;
    int r;

    if (n >= sizeof parse->line - parse->line_size)
        return -E2BIG;
    (void)memcpy(parse->line + parse->line_size, data, n);
    parse->line_size += n;
    if (newline == NULL)
        return (ssize_t)n;
    if (parse->line_size > 0 && parse->line[parse->line_size - 1] == '\r')
        parse->line_size--;
    parse->line[parse->line_size] = '\0';
    if (strlen(parse->line) != parse->line_size) /* a NUL hides what is behind it */
        return -EPROTO;
    parse->line_size = 0;
    r = take_line(parse);
    return r < 0 ? r : (ssize_t)n + 1;
}

/* feed_counted - of a body or chunk whose length is known */
static ssize_t feed_counted(struct http_parse *parse, const char *data, size_t size)
{
    size_t n = (size_t)MIN_OF((uint64_t)size, parse->left);
    int r = take_body(parse, data, n);

    if (r < 0)
        return r;
    parse->left -= n;
    if (parse->left == 0)
        parse->state = parse->state == HTTP_PARSE_CHUNK ? HTTP_PARSE_CHUNK_END : HTTP_PARSE_DONE;
    return (ssize_t)n;
}

int http_parse_feed(struct http_parse *parse, const char *data, size_t size)
{
    while (size > 0 && parse->state != HTTP_PARSE_DONE) {
        ssize_t n;

        if (parse->state == HTTP_PARSE_LENGTH || parse->state == HTTP_PARSE_CHUNK) {
            n = feed_counted(parse, data, size);
        } else if (parse->state == HTTP_PARSE_UNTIL_CLOSE) {
            int r = take_body(parse, data, size);

            n = r < 0 ? r : (ssize_t)size;
        } else {
            n = feed_line(parse, data, size);
        }
        if (n < 0)
            return (int)n;
        data += n;
        size -= (size_t)n;
    }
    return parse->state == HTTP_PARSE_DONE;
}

int http_parse_end(struct http_parse *parse)
{
    if (parse->state == HTTP_PARSE_UNTIL_CLOSE)
        parse->state = HTTP_PARSE_DONE;
    if (parse->state == HTTP_PARSE_DONE)
        return 1;
    if (parse->state > HTTP_PARSE_HEADER)
        return -ENODATA;
    return parse->status == 0 && parse->line_size == 0 ? -ENOMSG : -EBADMSG;
}
