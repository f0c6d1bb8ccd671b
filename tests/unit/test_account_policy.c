/* SPDX-License-Identifier: Apache-2.0 */
/* test_account_policy.c - as whom processes of a root agent may run */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "agent/core/account_policy.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const char *const nobody_named[] = { NULL };
static const char *const ann_and_root[] = { "ann", "root", NULL };
static const char *const staff[] = { "staff", NULL };

#define POLICY(fallback_, allow_root_)                                                             \
    (&(const struct account_policy){                                                               \
        nobody_named, nobody_named, fallback_, allow_root_, { 0, 0 }, NULL })

static void assert_candidates(const struct account_policy *policy, const char *user,
                              const char *submitter, const char *first, const char *second)
{
    const char *names[2] = { "", "" };
    size_t n = account_candidates(policy, user, submitter, names);

    assert_int_equal(n, (*first != '\0') + (*second != '\0'));
    assert_string_equal(names[0], first);
    assert_string_equal(names[1], second);
}

TEST(test_candidates)
{
    assert_candidates(POLICY("", false), "", "ann", "ann", "");
    assert_candidates(POLICY("", false), "bob", "ann", "bob", "");
    assert_candidates(POLICY("jobs", false), "", "ann", "ann", "jobs");
    assert_candidates(POLICY("jobs", false), "bob", "ann", "bob", ""); /* he, or nobody */
    assert_candidates(POLICY("jobs", false), "", "", "jobs", "");
    assert_candidates(POLICY("", false), "", "", "", "");
    assert_candidates(POLICY("", true), "", "ann", "root", "");
    assert_candidates(POLICY("", true), "bob", "ann", "bob", "");
}

TEST(test_who_has_a_number)
{
    static const struct {
        const char *user, *submitter, *fallback;
        bool allow_root, numbered;
    } cases[] = {
        { "", "ann", "", false, true }, { "bob", "ann", "", false, false },
        { "", "", "", false, false },   { "", "ann", "jobs", false, false },
        { "", "ann", "", true, false },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct account_policy policy = { .fallback = cases[i].fallback,
                                         .allow_root = cases[i].allow_root,
                                         .range = { 70000, 70009 } };

        assert_int_equal(account_is_numbered(&policy, cases[i].user, cases[i].submitter,
                                             ACCOUNT_UID_UNKNOWN),
                         cases[i].numbered);
        policy.range.last = policy.range.first = 0;
        assert_false(
            account_is_numbered(&policy, cases[i].user, cases[i].submitter, ACCOUNT_UID_UNKNOWN));
    }
}

TEST(test_who_is_allowed)
{
    static const struct {
        const char *const *users, *const *groups;
        const char *fallback, *name;
        uint32_t uid;
        bool allow_root, is_in_group;
        const char *wrong; /* NULL: allowed */
    } cases[] = {
        { nobody_named, nobody_named, "", "ann", 1000, .wrong = NULL },
        { nobody_named, nobody_named, "", "ann", UINT32_C(1500000000), .wrong = NULL },
        { nobody_named, nobody_named, "", "root", 0, .wrong = "it is root" },
        { nobody_named, nobody_named, "", "www", 999, .wrong = "account of the system" },
        { nobody_named, nobody_named, "", "nobody", 65534, .wrong = "account of the system" },
        { nobody_named, nobody_named, "", "old", 65535, .wrong = "account of the system" },
        { nobody_named, nobody_named, "", "none", UINT32_MAX, .wrong = "account of the system" },
        { nobody_named, nobody_named, "", "root", 0, .allow_root = true },
        { nobody_named, nobody_named, "", "www", 33, .allow_root = true, .wrong = "system" },
        { nobody_named, nobody_named, "www", "www", 33, .wrong = NULL },
        { ann_and_root, nobody_named, "", "root", 0, .wrong = NULL },
        { ann_and_root, nobody_named, "", "toor", 0, .wrong = "it is root" },
        { ann_and_root, nobody_named, "", "ann", 1000, .wrong = NULL },
        { ann_and_root, nobody_named, "", "bob", 1001, .wrong = "not one of those allowed" },
        { ann_and_root, staff, "", "bob", 1001, .is_in_group = true },
        { ann_and_root, staff, "", "bob", 1001, .wrong = "not one of those allowed" },
        { nobody_named, staff, "", "www", 33, .is_in_group = true, .wrong = "system" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        const struct account_policy *policy =
            &(const struct account_policy){ cases[i].users,      cases[i].groups, cases[i].fallback,
                                            cases[i].allow_root, { 0, 0 },        NULL };
        struct edl_error error = { 0 };
        int r = account_check(policy, cases[i].name, cases[i].uid, cases[i].is_in_group, &error);

        assert_int_equal(r, cases[i].wrong != NULL ? -EACCES : 0);
        if (cases[i].wrong == NULL)
            continue;
        assert_non_null(strstr(error.text, cases[i].wrong));
        assert_non_null(strstr(error.text, cases[i].name));
        assert_non_null(strstr(error.remedy, "allow-user"));
    }
}

/* Who is an account elsewhere in the cluster gets no other number. */
TEST(test_who_has_an_account_gets_no_number)
{
    const struct account_policy policy = { .fallback = "", .range = { 70000, 70009 } };

    assert_false(account_is_numbered(&policy, "", "ann", 1000));
    assert_false(account_is_numbered(&policy, "", "ann", 0));
    assert_true(account_is_numbered(&policy, "", "ann", ACCOUNT_UID_UNKNOWN));
}

TEST(test_another_number_is_another_person)
{
    struct edl_error error = { 0 };

    assert_int_equal(account_check_number("ann", ACCOUNT_UID_UNKNOWN, 1000, NULL), 0);
    assert_int_equal(account_check_number("ann", 1000, 1000, NULL), 0);
    assert_int_equal(account_check_number("ann", 1000, 1001, &error), -EEXIST);
    assert_string_equal(error.text, "ann is number 1001 here and 1000 on the scheduler's machine");
    assert_non_null(strstr(error.remedy, "map-user: ann"));
    assert_int_equal(account_check_number("ann", 0, 1001, NULL), -EEXIST);
    assert_int_equal(account_check_number("ann", UINT32_C(4294967294), UINT32_C(4294967294), NULL),
                     0);
}

TEST(test_the_owner_says_who_is_who)
{
    static const char *const maps[] = { "ann", "bob=robert", "bo=b", NULL };
    static const char *const all[] = { "bob=robert", "*", NULL };
    struct account_policy policy = { .maps = maps };

    assert_string_equal(account_mapped(&policy, "ann"), "ann");
    assert_string_equal(account_mapped(&policy, "bob"), "robert");
    assert_string_equal(account_mapped(&policy, "bo"), "b");
    assert_null(account_mapped(&policy, "an"));
    assert_null(account_mapped(&policy, "anna"));
    assert_null(account_mapped(&policy, ""));
    policy.maps = all;
    assert_string_equal(account_mapped(&policy, "bob"), "robert");
    assert_string_equal(account_mapped(&policy, "carol"), "carol");
    policy.maps = NULL;
    assert_null(account_mapped(&policy, "ann"));
}
