/* SPDX-License-Identifier: Apache-2.0 */
/* test_renewal.c - a scheduler whose certificate is due while it runs */
#include "tests/unit/live_scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "tests/unit/test.h"

#define DEADLINE_US (120 * USEC_PER_SEC)

static char *path_of(const struct live *live, const char *name)
{
    char *path;

    assert_true(asprintf(&path, "%s/%s", live->folder, name) > 0);
    return path;
}

static char *read_one(const struct live *live, const char *name)
{
    _cleanup_free_ char *path = path_of(live, name);
    struct edl_error error = { 0 };
    char *text;

    if (whole_file_read(path, false, &text, &error) < 0)
        fail_msg("%s", error.text);
    return text;
}

static void write_one(const struct live *live, const char *name, const char *text)
{
    _cleanup_free_ char *path = path_of(live, name);
    struct edl_error error = { 0 };

    assert_int_equal(whole_file_write(path, text, 0600, &error), 0);
}

/* The scheduler again, with TLS, and a client who knows its authority. */
static void start_tls(struct live *live)
{
    struct scheduler_options options = { .listen = { { .address = "127.0.0.1", .tls = true } },
                                         .n_listen = 1,
                                         .policy = &policy_fulfilment,
                                         .max_load_permille = 1000,
                                         .lease_us = 20 * USEC_PER_SEC };
    _cleanup_free_ char *ca = path_of(live, "ca.pem");
    struct edl_error error = { 0 };
    char base[64];

    (void)snprintf(options.state_dir, sizeof options.state_dir, "%s", live->folder);
    (void)snprintf(options.port_file, sizeof options.port_file, "%s/address", live->folder);
    if (scheduler_new(&options, &live->scheduler, &error) < 0)
        fail_msg("%s", error.text);
    (void)snprintf(base, sizeof base, "https://127.0.0.1:%u",
                   live->scheduler->listeners.specs[0].port);
    assert_int_equal(http_async_new(live->scheduler->event, base, &live->async, &error), 0);
    http_async_trust(live->async, ca);
}

/* One whose last year begins in a second or two; it is for whatever the first one was for. When it
 * ends is returned. */
static uint64_t let_it_come_due(struct live *live)
{
    static const char *const names[] = { "127.0.0.1", "localhost", "::1" };
    char host[64] = "";
    const char *all[] = { names[0], names[1], names[2], host };
    struct certificate_pair ca = { read_one(live, "ca.pem"), read_one(live, "ca.key") };
    struct certificate_pair made = { 0 };
    struct edl_error error = { 0 };
    uint64_t now_s = clock_read_us(CLOCK_REALTIME) / USEC_PER_SEC;

    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    if (certificate_make_server(&ca, all, ELEMENTS(all),
                                now_s + CERTIFICATE_RENEW_S - CERTIFICATE_SERVER_S + 1, &made,
                                &error) < 0)
        fail_msg("%s", error.text);
    write_one(live, "server.key", made.key);
    write_one(live, "server.pem", made.certificate);
    certificate_pair_clear(&made);
    certificate_pair_clear(&ca);
    return now_s + CERTIFICATE_RENEW_S + 1;
}

static uint64_t end_of(const struct live *live)
{
    return live->scheduler->listeners.tls.server_end_s;
}

/* The timer rests until run_until_due. */
static void begin(struct live *live)
{
    unsigned tries = 0;
    uint64_t end_s;

    live_stop(live);
    start_tls(live); /* makes the authority */
    do {             /* again when the machine was so slow that it was due before the start */
        assert_true(tries++ < 10);
        live_stop(live);
        end_s = let_it_come_due(live);
        start_tls(live);
    } while (end_of(live) != end_s);
    assert_int_equal(sd_event_source_set_enabled(live->scheduler->listeners.renewal, SD_EVENT_OFF),
                     0);
}

static unsigned ask(struct live *live)
{
    struct reply reply = { 0 };
    unsigned status = live_ask(live, "GET", "/jobs", NULL, NULL, &reply);

    reply_clear(&reply);
    return status;
}

static uint64_t metric(struct live *live)
{
    static const char name[] = "\nedl_tls_certificate_end_seconds ";
    struct reply reply = { 0 };
    unsigned long long value;
    const char *at;

    assert_int_equal(live_ask(live, "GET", "/metrics", NULL, NULL, &reply), 200);
    at = strstr(reply.body, name);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(name), "%llu", &value), 1);
    reply_clear(&reply);
    return value;
}

static void run_until_due(struct live *live)
{
    uint64_t end_us = clock_read_us(CLOCK_BOOTTIME) + DEADLINE_US;
    uint64_t before_us = 0;

    assert_int_equal(sd_event_source_set_enabled(live->scheduler->listeners.renewal,
                                                 SD_EVENT_ONESHOT),
                     0);
    assert_int_equal(sd_event_source_get_time(live->scheduler->listeners.renewal, &before_us), 0);
    for (uint64_t time_us = before_us; time_us == before_us;) {
        assert_true(clock_read_us(CLOCK_BOOTTIME) < end_us);
        assert_true(sd_event_run(live->scheduler->event, USEC_PER_SEC) >= 0);
        assert_int_equal(sd_event_source_get_time(live->scheduler->listeners.renewal, &time_us), 0);
    }
}

TEST_EACH(live_setup, live_teardown);

TEST(test_it_is_made_anew_in_time)
{
    struct live *live = *state;
    char pin[CERTIFICATE_PIN_MAX];
    struct edl_error error = { 0 };
    uint64_t before_s, due_us;

    begin(live);
    before_s = end_of(live);
    (void)snprintf(pin, sizeof pin, "%s", live->scheduler->listeners.tls.pin);
    assert_int_equal(ask(live), 200);
    assert_int_equal(metric(live), before_s);
    run_until_due(live);
    assert_true(end_of(live) > before_s + CERTIFICATE_RENEW_S - 60);
    assert_string_equal(live->scheduler->listeners.tls.pin, pin);
    assert_int_equal(metric(live), end_of(live)); /* over the connection that was there */
    assert_int_equal(sd_event_source_get_time(live->scheduler->listeners.renewal, &due_us), 0);
    assert_int_equal(due_us / USEC_PER_SEC, end_of(live) - CERTIFICATE_RENEW_S + 1);
    { /* and a new one is shown what is on disk: it believes that very certificate alone */
        static const char end[] = "-----END CERTIFICATE-----\n";
        _cleanup_free_ char *leaf = path_of(live, "leaf.pem");
        _cleanup_free_ char *shown = read_one(live, "server.pem");
        char base[64];

        assert_int_equal(certificate_end_s(shown), end_of(live));
        strstr(shown, end)[strlen(end)] = '\0';
        write_one(live, "leaf.pem", shown);
        live->async = http_async_free(live->async);
        (void)snprintf(base, sizeof base, "https://127.0.0.1:%u",
                       live->scheduler->listeners.specs[0].port);
        assert_int_equal(http_async_new(live->scheduler->event, base, &live->async, &error), 0);
        http_async_trust(live->async, leaf);
        assert_int_equal(ask(live), 200);
    }
}

/* The disk is full, or the authority is another one: what there is stays, and it is tried again. */
TEST(test_what_fails_is_tried_again)
{
    struct live *live = *state;
    struct edl_error error = { 0 };
    struct certificate_pair other = { 0 };
    uint64_t before_s, now_us = clock_read_us(CLOCK_REALTIME), again_us;

    begin(live);
    before_s = end_of(live);
    assert_int_equal(ask(live), 200);
    live_disk_full(true);
    run_until_due(live);
    live_disk_full(false);
    assert_int_equal(end_of(live), before_s);
    assert_int_equal(sd_event_source_get_time(live->scheduler->listeners.renewal, &again_us), 0);
    assert_in_range(again_us - now_us, 3600 * USEC_PER_SEC, 3700 * USEC_PER_SEC);
    assert_int_equal(certificate_make_ca(NULL, now_us / USEC_PER_SEC, &other, &error), 0);
    {
        _cleanup_free_ char *ca = read_one(live, "ca.pem");
        _cleanup_free_ char *key = read_one(live, "ca.key");

        write_one(live, "ca.pem", other.certificate);
        write_one(live, "ca.key", other.key);
        assert_int_equal(listeners_renew(live->scheduler, &error), -EINVAL);
        assert_true(error.remedy[0] != '\0');
        assert_int_equal(end_of(live), before_s);
        write_one(live, "ca.pem", ca);
        write_one(live, "ca.key", key);
    }
    assert_int_equal(sd_event_source_set_time(live->scheduler->listeners.renewal, 0), 0);
    run_until_due(live);
    assert_true(end_of(live) > before_s);
    assert_int_equal(ask(live), 200);
    certificate_pair_clear(&other);
}

TEST(test_without_tls_there_is_none)
{
    struct live *live = *state;

    assert_null(live->scheduler->listeners.renewal);
    assert_int_equal(metric(live), 0);
}
