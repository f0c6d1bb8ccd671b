/* SPDX-License-Identifier: Apache-2.0 */
/* test_scheduler_options.c - the scheduler's command line: where it listens, defaults, refusals */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/options.h"
#include "shared/error.h"
#include "shared/macro.h"

static void test_listen_addresses(void **state)
{
    static const struct {
        const char *text, *address; /* NULL: refused */
        uint16_t port, mode;
        bool tls;
    } cases[] = {
        { "127.0.0.1:7010", "127.0.0.1", 7010, 0, false },
        { "127.8.8.8:0", "127.8.8.8", 0, 0, false },
        { "localhost:1", "127.0.0.1", 1, 0, false },
        { "[::1]:65535", "::1", 65535, 0, false },
        { "http://127.0.0.1:80", "127.0.0.1", 80, 0, false },
        /* beyond loopback: TLS, whatever is said */
        { "0.0.0.0:7010", "0.0.0.0", 7010, 0, true },
        { "10.0.0.1:7010", "10.0.0.1", 7010, 0, true },
        { "[::]:7010", "::", 7010, 0, true },
        { "[::ffff:127.0.0.1]:7010", "::ffff:127.0.0.1", 7010, 0, true },
        { "https://127.0.0.1:7010", "127.0.0.1", 7010, 0, true },
        { "http://0.0.0.0:7010", NULL, 0, 0, false },
        { "http://10.0.0.1:7010", NULL, 0, 0, false },
        { "unix:/run/s", "/run/s", 0, 0660, false },
        { "unix:/run/s,mode=0666", "/run/s", 0, 0666, false },
        { "unix:/run/s,mode=9", NULL, 0, 0, false },
        { "unix:/run/s,mode=7777", NULL, 0, 0, false },
        { "unix:/run/s,owner=me", NULL, 0, 0, false },
        { "unix:run/s", NULL, 0, 0, false },
        { "127.0.0.1", NULL, 0, 0, false },
        { "127.0.0.1:65536", NULL, 0, 0, false },
        { "127.0.0.1:-1", NULL, 0, 0, false },
        { "example.org:80", NULL, 0, 0, false },
        { "", NULL, 0, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct listen_spec spec = { 0 };
        struct edl_error error = { 0 };
        int r = listen_spec_parse(cases[i].text, &spec, &error);

        if (cases[i].address == NULL) {
            assert_int_equal(r, -EINVAL);
            assert_true(error.remedy[0] != '\0');
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(spec.address, cases[i].address);
        assert_int_equal(spec.port, cases[i].port);
        assert_int_equal(spec.mode, cases[i].mode);
        assert_int_equal(spec.tls, cases[i].tls);
    }
}

static void test_options_defaults_and_errors(void **state)
{
    char *good[] = { (char *)"x",   (char *)"--state-dir", (char *)"/s", (char *)"--max-load",
                     (char *)"0.9", (char *)"--lease",     (char *)"5s", NULL };
    char *none[] = { (char *)"x", NULL };
    char *load[] = { (char *)"x",          (char *)"--state-dir", (char *)"/s",
                     (char *)"--max-load", (char *)"1.5",         NULL };
    char *policy[] = { (char *)"x",        (char *)"--state-dir", (char *)"/s",
                       (char *)"--policy", (char *)"luck",        NULL };
    char *socket[] = { (char *)"x",      (char *)"--state-dir",
                       (char *)"/s",     (char *)"--socket-role",
                       (char *)"viewer", NULL };
    char *above[] = { (char *)"x",        (char *)"--state-dir",
                      (char *)"/s",       (char *)"--socket-role",
                      (char *)"operator", NULL };
    struct scheduler_options options;
    struct edl_error error = { 0 };
    bool done;

    (void)state;
    assert_int_equal(options_parse(7, good, &options, &done, &error), 0);
    assert_string_equal(options.port_file, "/s/address");
    assert_int_equal(options.max_load_permille, 900);
    assert_int_equal(options.lease_us, 5000000);
    assert_int_equal(options.n_listen, 1);
    assert_int_equal(options.listen[0].port, 7010);
    assert_false(options.listen[0].tls);
    assert_int_equal(options.socket_role, USER_USER);
    assert_int_equal(options_parse(5, socket, &options, &done, &error), 0);
    assert_int_equal(options.socket_role, USER_VIEWER);
    assert_int_equal(options_parse(5, above, &options, &done, &error), -EINVAL);
    assert_int_equal(options_parse(1, none, &options, &done, &error), -EINVAL);
    assert_int_equal(options_parse(5, load, &options, &done, &error), -EINVAL);
    assert_int_equal(options_parse(5, policy, &options, &done, &error), -EINVAL);
}

static void test_limits(void **state)
{
    char *given[] = { (char *)"x", (char *)"--state-dir", (char *)"/s", (char *)"--max-user-jobs",
                      (char *)"7", (char *)"--max-jobs",  (char *)"0",  NULL };
    char *bad[] = { (char *)"x",          (char *)"--state-dir", (char *)"/s",
                    (char *)"--max-jobs", (char *)"many",        NULL };
    struct scheduler_options options;
    struct edl_error error = { 0 };
    bool done;

    (void)state;
    assert_int_equal(options_parse(7, given, &options, &done, &error), 0);
    assert_int_equal(options.limits.user[HOLDING_JOBS], 7);
    assert_int_equal(options.limits.all[HOLDING_JOBS], 0);
    assert_int_equal(options.limits.user[HOLDING_INSTANCES], 1000000);
    assert_int_equal(options.limits.all[HOLDING_INSTANCES], 4000000);
    assert_int_equal(options_parse(5, bad, &options, &done, &error), -EINVAL);
    assert_string_equal(error.remedy, "0: any number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listen_addresses),
        cmocka_unit_test(test_options_defaults_and_errors),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
