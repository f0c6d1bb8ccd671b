/* SPDX-License-Identifier: Apache-2.0 */
/* test_account_name.c - the one rule for names of accounts
 */
#include <stdlib.h>
#include <string.h>

#include "shared/account_name.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_whom_a_directory_knows_can_be_named)
{
    static const char *const names[] = { "ann",       "DOM\\alice",    "alice@corp.example.com",
                                         "Bob.Smith", "m\xc3\xbcller", "CORP\\domain user",
                                         "x-",        "_svc$",         "\xf0\x9f\x98\x80" };

    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (!account_name_valid(names[i]))
            fail_msg("%s is refused", names[i]);
}

TEST(test_what_would_be_something_else_is_no_name)
{
    static const char *const names[] = {
        "",
        "-l",
        ".",
        "..",
        "a/b",
        "a:b",
        "a\nb",
        "a\x1b[2J",
        "a\x7f",
        "a\xc2\x85",
        "a\xe2\x80\xae",
        "a\xff",
        "\xc3",
        "\xc0\xaf",
        "\xe0\x80\xaf",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xf9\x80\x80\x80",
        "\xfc\x80\x80\x80",
    };

    for (size_t i = 0; i < ELEMENTS(names); i++)
        if (account_name_valid(names[i]))
            fail_msg("name %zu goes through", i);
}

TEST(test_a_name_has_a_longest)
{
    char name[ACCOUNT_NAME_MAX + 2];

    memset(name, 'a', sizeof name);
    name[ACCOUNT_NAME_MAX + 1] = '\0';
    assert_false(account_name_valid(name));
    name[ACCOUNT_NAME_MAX] = '\0';
    assert_true(account_name_valid(name));
}
