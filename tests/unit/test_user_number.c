/* SPDX-License-Identifier: Apache-2.0 */
/* test_user_number.c - a number for each person without an account: always the same, never shared
 */
#include <errno.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/layout.h"
#include "agent/machine/user_number.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define FIRST 2010000000U
#define PEOPLE 40
#define TOGETHER 8
#define NAME_SIZE 24

struct fixture {
    char root[64];
    char *folder; /* owned; not there yet */
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->root, sizeof f->root, "/tmp/edl-test-user-number-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    f->folder = text_format("%s/users", f->root);
    *state = f;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(nftw(f->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    free(f->folder);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static uid_t number_of(const struct fixture *f, const struct user_range *range, const char *name)
{
    struct edl_error error = { 0 };
    uid_t number = 0;

    if (user_number_find(f->folder, range, name, &number, &error) < 0)
        fail_msg("%s: %s", name, error.text);
    assert_in_range(number, range->first, range->last);
    return number;
}

static void name_of(unsigned i, char ret[NAME_SIZE])
{
    (void)snprintf(ret, NAME_SIZE, "person-%u", i);
}

/* a range as full as it can be: whoever comes to another's number takes the next one */
TEST(test_each_has_one_and_keeps_it)
{
    const struct user_range range = { FIRST, FIRST + PEOPLE - 1 };
    const struct fixture *f = *state;
    uid_t numbers[PEOPLE];
    char name[NAME_SIZE];

    for (unsigned i = 0; i < PEOPLE; i++) {
        name_of(i, name);
        numbers[i] = number_of(f, &range, name);
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(numbers[i], numbers[j]);
    }
    for (unsigned i = PEOPLE; i-- > 0;) {
        name_of(i, name);
        assert_int_equal(number_of(f, &range, name), numbers[i]);
    }
}

TEST(test_a_full_range_gives_nobody_anothers)
{
    const struct user_range range = { FIRST, FIRST + 1 };
    const struct fixture *f = *state;
    struct edl_error error = { 0 };
    uid_t number;

    assert_int_not_equal(number_of(f, &range, "ann"), number_of(f, &range, "bob"));
    assert_int_equal(user_number_find(f->folder, &range, "carol", &number, &error), -EACCES);
    assert_non_null(strstr(error.text, "is left for carol"));
    assert_non_null(strstr(error.remedy, "user-range"));
    assert_in_range(number_of(f, &(struct user_range){ FIRST, FIRST + 2 }, "carol"), FIRST,
                    FIRST + 2);
}

/* on another node, which has other people as well */
TEST(test_nodes_agree)
{
    const struct user_range range = { FIRST, FIRST + 89999999 };
    struct fixture *f = *state;
    _cleanup_free_ char *there = text_format("%s/there", f->root);
    struct fixture other = { .folder = there };

    (void)number_of(f, &range, "carol");
    (void)number_of(&other, &range, "dave");
    assert_int_equal(number_of(f, &range, "ann"), number_of(&other, &range, "ann"));
    assert_int_equal(number_of(f, &range, "ann"), user_number_first(&range, "ann"));
    assert_int_not_equal(number_of(f, &range, "ann"), number_of(f, &range, "bob"));
}

TEST(test_no_account_is_anybody_else)
{
    const struct fixture *f = *state;
    const struct passwd *account = getpwnam("nobody");
    struct user_range range;
    struct edl_error error = { 0 };
    uid_t number;

    assert_non_null(account);
    range = (struct user_range){ account->pw_uid, account->pw_uid };
    assert_int_equal(user_number_find(f->folder, &range, "ann", &number, &error), -EACCES);
    assert_non_null(strstr(error.text, "is left for ann"));
}

/* an account that came after its number was given away */
TEST(test_an_account_that_comes_later)
{
    const struct fixture *f = *state;
    const struct passwd *account = getpwnam("nobody");
    struct user_range range;
    struct edl_error error = { 0 };
    _cleanup_free_ char *link = NULL;
    uid_t number;

    assert_non_null(account);
    range = (struct user_range){ account->pw_uid, account->pw_uid };
    assert_int_equal(user_number_find(f->folder, &range, "ann", &number, &error), -EACCES);
    link = text_format("%s/%lu", f->folder, (unsigned long)account->pw_uid);
    assert_int_equal(symlink("ann", link), 0);
    assert_int_equal(user_number_find(f->folder, &range, "ann", &number, &error), -EACCES);
    assert_non_null(strstr(error.text, "has by now"));
}

TEST(test_a_name_is_no_path)
{
    static const char *const names[] = { "", "..", "../ann", "/etc/shadow", "a:b", "a\nb" };
    const struct user_range range = { FIRST, FIRST + 9 };
    const struct fixture *f = *state;
    uid_t number;

    for (size_t i = 0; i < ELEMENTS(names); i++) {
        struct edl_error error = { 0 };

        assert_int_equal(user_number_find(f->folder, &range, names[i], &number, &error), -EINVAL);
    }
}

/* child - all of them, from another one on; whether each number is the one that was told before */
static int take_all(const struct fixture *f, const struct user_range *range, unsigned from)
{
    for (unsigned i = 0; i < PEOPLE; i++) {
        struct edl_error error = { 0 };
        char name[NAME_SIZE];
        uid_t number, again;

        name_of((from + i) % PEOPLE, name);
        if (user_number_find(f->folder, range, name, &number, &error) < 0 ||
            user_number_find(f->folder, range, name, &again, &error) < 0 || number != again)
            return 1;
    }
    return 0;
}

TEST(test_supervisors_at_once)
{
    const struct user_range range = { FIRST, FIRST + PEOPLE - 1 };
    const struct fixture *f = *state;
    pid_t pids[TOGETHER];

    for (unsigned i = 0; i < TOGETHER; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            _exit(take_all(f, &range, i * PEOPLE / TOGETHER));
    }
    for (unsigned i = 0; i < TOGETHER; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    test_each_has_one_and_keeps_it(state);
}
