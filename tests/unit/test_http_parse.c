/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_parse.c - answers in pieces of every size, and texts that are no answer */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/http_call.h"
#include "shared/http_parse.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKS OK "Transfer-Encoding: chunked\r\n\r\n"

/* feed - in pieces of this size, then the end of the connection */
static int feed(struct http_parse *parse, const char *text, size_t piece)
{
    size_t size = strlen(text);
    int r = 0;

    for (size_t at = 0; r == 0 && at < size; at += piece)
        r = http_parse_feed(parse, text + at, MIN_OF(piece, size - at));
    return r == 0 ? http_parse_end(parse) : r;
}

TEST(test_answers)
{
    static const struct {
        const char *text, *body;
        unsigned status;
        bool no_body, is_json;
    } cases[] = {
        { OK "Content-Length: 2\r\n\r\nhi", "hi", 200, false, false },
        { OK "content-length:  2 \r\n\r\nhi", "hi", 200, false, false },
        { OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", "hi", 200, false, false },
        { OK "Content-Length: 2\r\n\r\nhi and more", "hi", 200, false, false },
        { OK "Content-Length: 0\r\n\r\n", NULL, 200, false, false },
        { OK "Content-Type: application/problem+json\r\n\r\n{}", "{}", 200, false, true },
        { "HTTP/1.0 404\r\n\r\nno", "no", 404, false, false },
        { "HTTP/1.1 204 None\r\n\r\n", NULL, 204, false, false },
        { OK "Content-Length: 7\r\n\r\n", NULL, 200, true, false },
        { CHUNKS "2\r\nhi\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n", "hi0123456789", 200,
          false, false },
        { CHUNKS "0\r\n\r\n", NULL, 200, false, false },
        { "HTTP/1.1 100 Continue\r\nContent-Length: 9\r\n\r\n" OK "Content-Length: 1\r\n\r\nx", "x",
          200, false, false },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
            struct http_parse parse;

            http_parse_init(&parse, cases[i].no_body);
            if (feed(&parse, cases[i].text, piece) != 1)
                fail_msg("case %zu in pieces of %zu: no answer", i, piece);
            assert_int_equal(parse.status, cases[i].status);
            assert_int_equal(parse.is_json, cases[i].is_json);
            if (cases[i].body == NULL)
                assert_int_equal(parse.body_size, 0);
            else
                assert_string_equal(parse.body, cases[i].body);
            http_parse_clear(&parse);
        }
}

/* What could not be asked is nobody's address. */
TEST(test_who_leads)
{
    static const struct {
        const char *text, *leader;
    } cases[] = {
        { OK "EDL-Leader: https://b:7010\r\nContent-Length: 0\r\n\r\n", "https://b:7010" },
        { OK "edl-leader:https://b:7010 \r\nContent-Length: 0\r\n\r\n", "https://b:7010" },
        { OK "EDL-Leader:\r\nContent-Length: 0\r\n\r\n", "" },
        { OK "EDL-Leader: https://b evil\r\nContent-Length: 0\r\n\r\n", "" },
        { OK "EDL-Leader: https://\033[31m\r\nContent-Length: 0\r\n\r\n", "" },
        { "HTTP/1.1 100 Continue\r\nEDL-Leader: https://b\r\n\r\n" OK "\r\n", "" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct http_parse parse;

        http_parse_init(&parse, false);
        assert_int_equal(feed(&parse, cases[i].text, 7), 1);
        assert_string_equal(parse.leader, cases[i].leader);
        http_parse_clear(&parse);
    }
}

TEST(test_an_address_of_a_leader_is_bounded)
{
    char value[HTTP_LEADER_MAX + 1], leader[HTTP_LEADER_MAX];

    (void)memset(value, 'x', sizeof value);
    http_call_leader(value, HTTP_LEADER_MAX, leader);
    assert_string_equal(leader, "");
    http_call_leader(value, HTTP_LEADER_MAX - 1, leader);
    assert_int_equal(strlen(leader), HTTP_LEADER_MAX - 1);
}

TEST(test_refused)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        { "", -ENOMSG },
        { "SSH-2.0-OpenSSH\r\n", -EPROTO },
        { "HTTP/2 200\r\n\r\n", -EPROTO },
        { "HTTP/1.1 099 x\r\n\r\n", -EPROTO },
        { "HTTP/1.1 200", -EBADMSG },
        { OK, -EBADMSG },
        { "HTTP/1.1 101 Switching\r\n\r\n", -EPROTO },
        { OK "Content-Length: 5\r\n\r\nhi", -ENODATA },
        { OK "Content-Length: 5", -EBADMSG },
        { OK "Content-Length: -5\r\n\r\n", -EPROTO },
        { OK "Content-Length: 1\r\nContent-Length: 2\r\n\r\nhi", -EPROTO },
        { OK "Content-Length: 99999999999\r\n\r\n", -E2BIG },
        { OK "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nhi", -EPROTO },
        { OK "Transfer-Encoding: gzip, chunked\r\n\r\n", -EPROTO },
        { OK "no colon\r\n\r\n", -EPROTO },
        { OK "A: b\r\n folded: c\r\n\r\n", -EPROTO },
        { OK "Content-Length : 2\r\n\r\nhi", -EPROTO },
        { OK ": empty\r\n\r\n", -EPROTO },
        { CHUNKS "2\r\nhi", -ENODATA },
        { CHUNKS "2\r\nhi!\r\n", -EPROTO },
        { CHUNKS "x\r\n", -EPROTO },
        { CHUNKS "ffffffffffffffff1\r\n", -E2BIG },
        { CHUNKS "0\r\n", -ENODATA },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        for (size_t piece = 1; piece <= strlen(cases[i].text) + 1; piece++) {
            struct http_parse parse;

            http_parse_init(&parse, false);
            if (feed(&parse, cases[i].text, piece) != cases[i].code)
                fail_msg("case %zu in pieces of %zu is not refused like that", i, piece);
            http_parse_clear(&parse);
        }
}

TEST(test_bounds)
{
    _cleanup_free_ char *line = xcalloc(1, HTTP_PARSE_LINE_BYTES + 1);
    struct http_parse parse;
    int r = 0;

    (void)memset(line, 'x', HTTP_PARSE_LINE_BYTES);
    http_parse_init(&parse, false);
    assert_int_equal(http_parse_feed(&parse, line, HTTP_PARSE_LINE_BYTES), -E2BIG);
    http_parse_clear(&parse);
    http_parse_init(&parse, false);
    assert_int_equal(http_parse_feed(&parse, OK, strlen(OK)), 0);
    for (int i = 0; r == 0 && i <= HTTP_PARSE_HEADERS_MAX; i++)
        r = http_parse_feed(&parse, "A: b\r\n", 6);
    assert_int_equal(r, -EPROTO);
    http_parse_clear(&parse);
    http_parse_init(&parse, false);
    r = 0;
    for (int i = 0; r == 0 && i <= HTTP_PARSE_HEADERS_MAX; i++)
        r = http_parse_feed(&parse, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    assert_int_equal(r, -EPROTO);
    http_parse_clear(&parse);
}
