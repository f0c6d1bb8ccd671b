/* SPDX-License-Identifier: Apache-2.0 */
/* test_options_table.c - what the rows of a table say comes true: sources, bounds, lists, --help */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/option_kinds.h"
#include "tests/unit/test.h"

#define ARGUMENTS_MAX 12
#define NAMES_MAX 4

struct settings {
    const char *name;
    char path[8];
    bool quiet;
    uint64_t count, size_bytes, wait_us, keep_us;
    const char *names[NAMES_MAX];
    size_t n_names;
};

static const char *direct; /* a field that is no member */

static int add_name(const struct option_value *value, struct edl_error *error)
{
    struct settings *settings = value->options;

    if (value->first)
        settings->n_names = 0;
    if (settings->n_names == NAMES_MAX)
        return edl_error_set(error, -E2BIG, "there are %d already", NAMES_MAX);
    settings->names[settings->n_names++] = value->text;
    return 0;
}

#define AT(member) OPTION_FIELD(struct settings, member)

static const struct option_row rows[] = {
    { "name", "NAME", "what it is called (default {})", option_text, OPTION_AT_START, AT(name),
      .fallback = "none", .environment = "EDL_TEST_NAME" },
    { "path", "FILE", "where it lies", option_path, OPTION_LIVE, AT(path) },
    { "quiet", NULL, "says nothing,\nand does much", option_flag, OPTION_LIVE, AT(quiet) },
    { "count", "N", "of them", option_u64, OPTION_LIVE, AT(count), .fallback = "3", .least = "2",
      .most = "9" },
    { "a-rather-long-name", "BYTES", "of memory", option_bytes, OPTION_LIVE, AT(size_bytes),
      .least = "1Ki" },
    { "wait", "TIME", "at most", option_time, OPTION_LIVE, AT(wait_us), .most = "1m" },
    { "keep", "N", "days", option_days, OPTION_LIVE, AT(keep_us), .wrong = "is no number of days",
      .remedy = "0 keeps all" },
    { "also", "NAME", "another name", add_name, OPTION_AT_START, AT(names), .count = OPTION_LIST },
    { "once", "NAME", "of a command only", option_text, OPTION_ONCE, .text = &direct },
    { "shown", NULL, "in this text alone", .use = OPTION_ONCE },
};

static const struct options_table table = {
    .program = "edl-test",
    .page = "edl-test(8)",
    .usage = "Usage: edl-test\n\n",
    .ending = "  --help\n",
    .column = 16,
    .rows = rows,
    .n_rows = ELEMENTS(rows),
};

static int parse(const char *const *arguments, struct settings *ret, struct options_given *given,
                 struct edl_error *error)
{
    char *argv[ARGUMENTS_MAX] = { (char[]){ "edl-test" } };
    int argc = 1;

    for (; *arguments != NULL; arguments++)
        argv[argc++] = (char *)(uintptr_t)*arguments;
    *ret = (struct settings){ .size_bytes = 7 };
    *given = (struct options_given){ .now = 0 };
    *error = (struct edl_error){ 0 };
    return options_read(&table, argc, argv, ret, given, error);
}

#define PARSE(...) parse((const char *const[]){ __VA_ARGS__, NULL }, &settings, &given, &error)

TEST(test_what_comes_later_wins)
{
    struct settings settings;
    struct options_given given;
    struct edl_error error;

    assert_int_equal(unsetenv("EDL_TEST_NAME"), 0);
    assert_int_equal(PARSE("--quiet"), OPTIONS_RUN);
    assert_string_equal(settings.name, "none");
    assert_int_equal(settings.count, 3);
    assert_int_equal(settings.size_bytes, 7); /* no fallback */
    assert_true(settings.quiet);
    assert_true(options_on_command_line(&table, &given, "quiet"));
    assert_false(options_on_command_line(&table, &given, "name"));
    assert_int_equal(setenv("EDL_TEST_NAME", "outside", 1), 0);
    assert_int_equal(PARSE("--count=4"), OPTIONS_RUN);
    assert_string_equal(settings.name, "outside");
    assert_int_equal(PARSE("--name", "given", "--keep", "2", "--wait=2s", "--once", "o"),
                     OPTIONS_RUN);
    assert_string_equal(settings.name, "given");
    assert_string_equal(direct, "o");
    assert_int_equal(settings.keep_us, 2 * 24 * 3600 * USEC_PER_SEC);
    assert_int_equal(settings.wait_us, 2 * USEC_PER_SEC);
    assert_int_equal(unsetenv("EDL_TEST_NAME"), 0);
    options_given_done(&given);
}

TEST(test_refused)
{
    static const struct {
        const char *arguments[2], *text, *remedy;
    } cases[] = {
        { { "--count=1" }, "--count: '1' does not lie between 2 and 9", "edl-test(8) says" },
        { { "--count=many" }, "--count: 'many' is not a number", "what --count takes" },
        { { "--a-rather-long-name=1" },
          "--a-rather-long-name: '1' is too little: 1Ki at least",
          "edl-test(8)" },
        { { "--wait=2m" }, "--wait: '2m' is more than 1m", "edl-test(8)" },
        { { "--keep=x" }, "--keep: x is no number of days", "0 keeps all" },
        { { "--keep=18446744073709551615" },
          "--keep: 18446744073709551615 is no number of days",
          "0 keeps all" },
        { { "--path=12345678" }, "--path: the path is empty or too long", "edl-test(8)" },
        { { "--quiet=no" }, "--quiet takes no value", "edl-test --help" },
        { { "--cuont=1" }, "there is no option --cuont", "--count" },
        { { "--shown" }, "there is no option --shown", "edl-test --help" },
        { { "--count" }, "--count needs a value: N", "edl-test --help" },
        { { "more" }, "unexpected argument \"more\"", "edl-test --help" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct settings settings;
        struct options_given given;
        struct edl_error error;

        assert_int_equal(PARSE(cases[i].arguments[0], cases[i].arguments[1]), -EINVAL);
        assert_string_equal(error.text, cases[i].text);
        if (cases[i].remedy != NULL && strstr(error.remedy, cases[i].remedy) == NULL)
            fail_msg("%s, not: %s", error.remedy, cases[i].remedy);
    }
}

TEST(test_a_list_and_what_differs)
{
    struct option_change changes[OPTIONS_MAX];
    struct settings settings;
    struct options_given given, first;
    struct edl_error error;

    assert_int_equal(PARSE("--also=a", "--also=b", "--count=5"), OPTIONS_RUN);
    assert_int_equal(settings.n_names, 2);
    assert_string_equal(given.text[7], "a, b");
    first = given;
    assert_int_equal(PARSE("--also=a", "--also=b", "--count=5", "--once=x"), OPTIONS_RUN);
    assert_int_equal(options_differ(&table, &first, &first, &given, changes), 0);
    options_given_done(&given);
    assert_int_equal(PARSE("--also=a", "--path=/p"), OPTIONS_RUN);
    assert_int_equal(options_differ(&table, &first, &first, &given, changes), 3);
    assert_string_equal(changes[0].name, "path");
    assert_true(changes[0].taken);
    assert_string_equal(changes[1].name, "count");
    assert_null(changes[1].text); /* its default again */
    assert_string_equal(changes[2].text, "a");
    assert_false(changes[2].taken);
    options_given_done(&given);
    options_given_done(&first);
}

TEST(test_help)
{
    static const char expected[] = "Usage: edl-test\n\n"
                                   "  --name NAME   what it is called (default none)"
                                   " [EDL_TEST_NAME]\n"
                                   "  --path FILE   where it lies\n"
                                   "  --quiet       says nothing,\n"
                                   "                and does much\n"
                                   "  --count N     of them (3)\n"
                                   "  --a-rather-long-name BYTES\n"
                                   "                of memory\n";
    _cleanup_close_ int file = memfd_create("help", MFD_CLOEXEC);
    int before = dup(STDOUT_FILENO);
    char text[2048] = "";
    struct settings settings;
    struct options_given given;
    struct edl_error error;

    (void)fflush(stdout);
    assert_int_equal(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(PARSE("--help"), OPTIONS_HELP);
    (void)fflush(stdout);
    assert_int_equal(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
    (void)safe_close(before);
    assert_true(pread(file, text, sizeof text - 1, 0) > 0);
    assert_non_null(strstr(text, "in this text alone"));
    text[strlen(expected)] = '\0';
    assert_string_equal(text, expected);
}
