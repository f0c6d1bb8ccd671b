/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_rights.c - who is lowered or removed gets no more of a backup, while it is made and
 * while it is sent, nor of an archive */
#include "tests/unit/live_scheduler.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/accounts/users.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/content_hash.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

enum { JOBS = 160, ENV_BYTES = 60 * 1024, SMALL_BUFFER = 4096, ARCHIVE_BYTES = 8 << 20 };

static void ask(struct live *live, unsigned wanted, const char *method, const char *path,
                const char *body, struct reply *reply)
{
    if (live_ask(live, method, path, NULL, body, reply) != wanted)
        fail_msg("%s %s: %u %s", method, path, reply->status, reply->body);
}

/* ann is an admin; the database is larger than any buffer between it and her. */
static void begin(struct live *live, char ret_token[65])
{
    struct reply reply = { 0 };
    char *body = xcalloc(ENV_BYTES + 400, 1);
    char *fill = xcalloc(ENV_BYTES + 1, 1);

    memset(fill, 'x', ENV_BYTES);
    ask(live, 201, "POST", "/users", "{\"name\":\"ann\",\"role\":\"admin\"}", &reply);
    ask(live, 201, "POST", "/tokens", "{\"user\":\"ann\"}", &reply);
    (void)snprintf(ret_token, 65, "%s", json_string_value(json_object_get(reply.json, "token")));
    for (int i = 0; i < JOBS; i++) {
        (void)snprintf(body, ENV_BYTES + 400,
                       "{\"name\":\"j%d\",\"fault_tolerant\":true,\"env\":{\"FILL\":\"%s\"},"
                       "\"trainer\":{\"entrypoint\":\"true\",\"min-instance\":1,"
                       "\"max-instance\":2}}",
                       i, fill);
        ask(live, 201, "POST", "/jobs", body, &reply);
    }
    reply_clear(&reply);
    free(body);
    free(fill);
}

static void step(struct live *live, uint64_t end_us)
{
    assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
    assert_true(sd_event_run(live->scheduler->event, 20 * USEC_PER_MSEC) >= 0);
}

TEST_EACH(live_setup, live_teardown);

TEST(none_is_made_for_who_may_no_more)
{
    struct live *live = *state;
    uint64_t end_us;
    struct reply reply = { 0 };
    char ann[65], path[100];

    begin(live, ann);
    end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;
    live_send_as(live, ann, "GET", "/backup", NULL, NULL, &reply);
    while (live->scheduler->backup == NULL)
        step(live, end_us);
    tokens_by_id(live->scheduler->users, 1)->expires_wall_us = 1;
    live_wait(live, &reply);
    assert_int_equal(reply.status, 401);
    assert_null(live->scheduler->backup);
    (void)snprintf(path, sizeof path, "%s/backup.new", live->folder);
    assert_int_equal(access(path, F_OK), -1);
    ask(live, 200, "GET", "/backup", NULL, &reply); /* others are not held up */
    reply_clear(&reply);
}

/* A reader that is slow: what it got so far; *ret_size what was announced. */
static size_t read_some(struct live *live, int fd, uint64_t *ret_size)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;
    char text[SMALL_BUFFER + 1] = "";
    const char *length, *body;
    size_t n = 0;

    while (strstr(text, "\r\n\r\n") == NULL) {
        ssize_t got = recv(fd, text + n, sizeof text - 1 - n, MSG_DONTWAIT);

        n += got > 0 ? (size_t)got : 0;
        text[n] = '\0';
        step(live, end_us);
    }
    length = strstr(text, "Content-Length: ");
    body = strstr(text, "\r\n\r\n");
    assert_non_null(length);
    *ret_size = strtoull(length + strlen("Content-Length: "), NULL, 10);
    return n - (size_t)(body + 4 - text);
}

static size_t read_rest(struct live *live, int fd)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + 120 * USEC_PER_SEC;
    char piece[65536];
    size_t n = 0;

    for (;;) {
        ssize_t got = recv(fd, piece, sizeof piece, MSG_DONTWAIT);

        if (got == 0 || (got == -1 && errno == ECONNRESET))
            return n;
        if (got > 0)
            n += (size_t)got;
        else
            step(live, end_us);
    }
}

/* read_file - how much comes of it when ann's role becomes another after the first piece */
static size_t read_file(struct live *live, const char *path, const char *token, const char *role,
                        uint64_t *ret_size)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(live->scheduler->listeners.specs[0].port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int small = SMALL_BUFFER;
    struct reply reply = { 0 };
    char text[300];
    size_t n;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    (void)snprintf(text, sizeof text,
                   "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                   "Authorization: Bearer %s\r\n\r\n",
                   path, token);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    n = read_some(live, fd, ret_size);
    (void)snprintf(text, sizeof text, "{\"role\":\"%s\"}", role);
    ask(live, 200, "PATCH", "/users/ann", text, &reply);
    n += read_rest(live, fd);
    (void)safe_close(fd);
    reply_clear(&reply);
    return n;
}

TEST(no_more_is_sent_to_who_may_no_more)
{
    struct live *live = *state;
    char ann[65];
    uint64_t size = 0;
    size_t n;

    begin(live, ann);
    n = read_file(live, "/backup", ann, "admin", &size); /* as she was */
    assert_int_equal(n, size);
    assert_true(size > (uint64_t)JOBS * ENV_BYTES);
    n = read_file(live, "/backup", ann, "operator", &size);
    assert_true(size > (uint64_t)JOBS * ENV_BYTES);
    assert_true(n < size);
}

TEST(no_more_of_an_archive_is_sent_to_who_may_no_more)
{
    struct live *live = *state;
    char *data = xcalloc(ARCHIVE_BYTES + 1, 1);
    char hex[WORKSPACE_HEX + 1], path[100], ann[65];
    struct content_hash *hash = NULL;
    struct reply reply = { 0 };
    uint64_t size = 0;

    begin(live, ann);
    live->scheduler->workspaces.limits =
        (struct workspace_limits){ .max_bytes = 2 * ARCHIVE_BYTES };
    memset(data, 'x', ARCHIVE_BYTES);
    assert_int_equal(content_hash_new(&hash, NULL), 0);
    content_hash_add(hash, data, ARCHIVE_BYTES);
    content_hash_end(hash, hex);
    (void)content_hash_free(hash);
    (void)snprintf(path, sizeof path, "/workspaces/%s", hex);
    live->token = ann; /* it is hers: as a user she may still have it */
    ask(live, 200, "PUT", path, data, &reply);
    live->token = NULL;
    assert_int_equal(read_file(live, path, ann, "user", &size), ARCHIVE_BYTES); /* enough for it */
    assert_true(read_file(live, path, ann, "viewer", &size) < ARCHIVE_BYTES);
    assert_int_equal(size, ARCHIVE_BYTES);
    reply_clear(&reply);
    free(data);
}
