/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_head.c - heads that two readers read differently are refused, and end the connection
 *
 * Each case hides a second request (GET /hello) where somebody else sees a body, or another host.
 */
#include "tests/unit/http_fixture.h"

#include "shared/cleanup.h"
#include "tests/unit/test.h"

#define NEXT "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define POST "POST /small HTTP/1.1\r\nHost: x\r\n"
#define NO_CHUNK "0\r\n\r\n"

struct bytes {
    const char *text;
    size_t size;
};
#define BYTES(literal)                                                                             \
    {                                                                                              \
        (literal), sizeof(literal "") - 1,                                                         \
    }

static const struct bytes refused[] = {
    /* how long the body is: said in a way that is overlooked */
    BYTES(POST "Content-Length : 51\r\n\r\n" NEXT),
    BYTES(POST "Content-Length\t: 51\r\n\r\n" NEXT),
    BYTES(POST "Transfer-Encoding : chunked\r\n\r\n" NO_CHUNK NEXT),
    BYTES("POST /small HTTP/1.1\r\n Content-Length: 51\r\nHost: x\r\n\r\n" NEXT),
    BYTES(POST "X: a\r\n Content-Length: 51\r\n\r\n" NEXT),
    BYTES(POST "Content-Length:\r\n 51\r\n\r\n" NEXT),
    BYTES(POST "Content-: a\r\n Length: 51\r\n\r\n" NEXT),
    BYTES(POST "X: a\rContent-Length: 51\r\n\r\n" NEXT),
    BYTES(POST "X: a\nContent-Length: 51\r\n\r\n" NEXT),
    BYTES(POST "X: a\r\r\n\r\n" NEXT),
    BYTES(POST "X: a\0\r\nY: b\r\n\r\n" NEXT),
    BYTES(POST "Content-Length\0: 51\r\n\r\n" NEXT),
    BYTES(POST ": 51\r\n\r\n" NEXT),
    BYTES(POST "Content-Length(: 51\r\n\r\n" NEXT),
    BYTES(POST "Content-Length: +51\r\n\r\n" NEXT),
    BYTES(POST "Content-Length: 0x33\r\n\r\n" NEXT),
    BYTES(POST "Content-Length: 51, 51\r\n\r\n" NEXT),
    BYTES(POST "Content-Length: -1\r\n\r\n" NEXT),
    BYTES(POST "Content-Length:\r\n\r\n" NEXT),
    /* said twice */
    BYTES(POST "Content-Length: 2\r\nContent-Length: 51\r\n\r\n{}" NEXT),
    BYTES(POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" NEXT),
    BYTES(POST "Content-Length: 51\r\nTransfer-Encoding: chunked\r\n\r\n" NO_CHUNK NEXT),
    BYTES(POST "Transfer-Encoding: chunked\r\nContent-Length: 51\r\n\r\n" NO_CHUNK NEXT),
    BYTES(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" NO_CHUNK NEXT),
    BYTES(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" NO_CHUNK NEXT),
    /* codings that nobody here knows: where such a body ends, only its decoder can say */
    BYTES(POST "Transfer-Encoding: gzip\r\n\r\n" NO_CHUNK NEXT),
    BYTES(POST "Transfer-Encoding: gzip, chunked\r\n\r\n" NO_CHUNK NEXT),
    BYTES(POST "Transfer-Encoding: xchunked\r\n\r\n" NO_CHUNK NEXT),
    BYTES(POST "Transfer-Encoding: chunked, chunked\r\n\r\n" NO_CHUNK NEXT),
    BYTES(POST "Transfer-Encoding:\r\n\r\n" NO_CHUNK NEXT),
    BYTES("POST /small HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: "
          "chunked\r\n\r\n" NO_CHUNK NEXT),
    /* whom it is for */
    BYTES("GET /hello HTTP/1.1\r\n\r\n"),
    BYTES("GET /hello HTTP/1.2\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"),
    BYTES("GET /hello HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost : x\r\nHost: y\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost: x y\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost: x@y\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost: x/y\r\n\r\n"),
    /* what it asks for */
    BYTES("GET /hello\0/x HTTP/1.1\r\nHost: x\r\n\r\n"),
    BYTES("GET /hello\0 HTTP/1.1\r\nHost: x\nX: y\r\n\r\n"), /* what is there for nothing, and what
                                                                is missing */
    BYTES("GET\0 /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\0\r\nHost: x\r\n\r\n"),
    BYTES("GET /items/a b HTTP/1.1\r\nHost: x\r\n\r\n"),
    BYTES("GET /items/a\tb HTTP/1.1\r\nHost: x\r\n\r\n"),
    BYTES("GET  /hello HTTP/1.1\r\nHost: x\r\n\r\n"),
    BYTES("GET /hello  HTTP/1.1\r\nHost: x\r\n\r\n"),
    BYTES("GET /items/a\x01 HTTP/1.1\r\nHost: x\r\n\r\n"),
    BYTES("GET /items/a\x7f HTTP/1.1\r\nHost: x\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\nHost: x\r\n\r\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost: x\n\r\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost: x\r\n\n"),
    BYTES("GET /hello HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n"),
};

TEST_EACH(fixture_setup, fixture_teardown);

TEST(test_refused)
{
    for (size_t i = 0; i < ELEMENTS(refused); i++) {
        struct raw raw;

        raw_send_bytes(*state, &raw, refused[i].text, refused[i].size);
        raw_collect(*state, &raw); /* it ends: the server has closed the connection */
        if (strncmp(raw.text, "HTTP/1.1 400 ", 13) != 0 ||
            strstr(raw.text, "HTTP/1.1 200 ") != NULL)
            fail_msg("case %zu: %s\nis answered with: %s", i, refused[i].text, raw.text);
    }
}

TEST_AGAIN(test_refused, unix, .setup = fixture_setup_unix, .teardown = fixture_teardown);

static const struct bytes taken[] = {
    BYTES(POST "Content-Length: 51\r\n\r\n" NEXT NEXT),
    BYTES(POST "content-length:51\r\n\r\n" NEXT NEXT),
    BYTES(POST "Content-Length: \t 2\r\nX: \t\r\nX:\r\nX: a\tb \r\n\r\n{}" NEXT),
    BYTES(POST "TRANSFER-ENCODING: Chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\nX: y\r\n\r\n" NEXT),
    BYTES("\r\nPOST /small HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n" NEXT),
    BYTES("POST /small HTTP/1.1\r\nHost:\r\n\r\n" NEXT),
    BYTES("GET /items/%20%41\xc3\xa4/parts/7?q=%0a+%26 HTTP/1.1\r\nHost: a.b-c_d:1\r\nCookie: a=b; "
          "c=\"d\"\r\n\r\n" NEXT),
    BYTES("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" NEXT),
};

TEST(test_taken)
{
    for (size_t i = 0; i < ELEMENTS(taken); i++) {
        struct raw raw;
        const char *first;

        raw_send_bytes(*state, &raw, taken[i].text, taken[i].size);
        raw_collect(*state, &raw);
        first = strstr(raw.text, " 200 OK");
        if (first == NULL || strstr(first + 1, "HTTP/1.1 200 OK") == NULL)
            fail_msg("case %zu: %s\nis answered with: %s", i, taken[i].text, raw.text);
    }
}

TEST_AGAIN(test_taken, unix, .setup = fixture_setup_unix, .teardown = fixture_teardown);
