/* SPDX-License-Identifier: Apache-2.0 */
/* test_keeper_record.c - what the state folder says of the last keeper, and when that is believed
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "scheduler/keeper_record.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

static char dir[64], record[80], path[80], other[80];

static void bind_at(const char *at)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    (void)unlink(at);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", at);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
}

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)snprintf(dir, sizeof dir, "%.40s/record.XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    (void)snprintf(record, sizeof record, "%s/record", dir);
    (void)snprintf(path, sizeof path, "%s/socket", dir);
    (void)snprintf(other, sizeof other, "%s/other", dir);
    bind_at(path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(record);
    (void)unlink(path);
    (void)unlink(other);
    return rmdir(dir);
}

static void write_it(void)
{
    struct edl_error error = { 0 };

    if (keeper_record_write(record, path, &error) < 0)
        fail_msg("%s", error.text);
}

static void test_it_holds_of_the_same_socket_only(void **state)
{
    (void)state;
    assert_false(keeper_record_holds(record, path));
    write_it();
    assert_true(keeper_record_holds(record, path));
    write_it();
    assert_true(keeper_record_holds(record, path));
    bind_at(other);
    assert_false(keeper_record_holds(record, other));
    bind_at(path); /* made anew, as in another boot */
    assert_false(keeper_record_holds(record, path));
    write_it();
    assert_true(keeper_record_holds(record, path));
}

static void copy(const char *from, const char *to)
{
    _cleanup_fclose_ FILE *in = fopen(from, "re");
    _cleanup_fclose_ FILE *out = fopen(to, "we");
    char line[8192];

    while (fgets(line, sizeof line, in) != NULL)
        assert_true(fputs(line, out) >= 0);
}

/* A copy of the folder, or one that came back from a backup of its files. */
static void test_a_copy_of_it_holds_of_nothing(void **state)
{
    (void)state;
    write_it();
    copy(record, other);
    assert_false(keeper_record_holds(other, path));
    assert_true(keeper_record_holds(record, path));
}

static void test_what_is_half_written_holds_of_nothing(void **state)
{
    (void)state;
    write_it();
    assert_int_equal(truncate(record, 40), 0);
    assert_false(keeper_record_holds(record, path));
    assert_int_equal(truncate(record, 0), 0);
    assert_false(keeper_record_holds(record, path));
}

static void test_a_removed_one_holds_of_nothing(void **state)
{
    struct edl_error error = { 0 };

    (void)state;
    write_it();
    assert_int_equal(keeper_record_remove(record, &error), 0);
    assert_int_equal(keeper_record_remove(record, &error), 0);
    assert_false(keeper_record_holds(record, path));
}

static void test_without_a_socket_there_is_none(void **state)
{
    struct edl_error error = { 0 };

    (void)state;
    assert_int_equal(keeper_record_write(record, other, &error), -ENOTSOCK);
    assert_false(keeper_record_holds(record, other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_holds_of_the_same_socket_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_copy_of_it_holds_of_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_half_written_holds_of_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_removed_one_holds_of_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_socket_there_is_none, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
