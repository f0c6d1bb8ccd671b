/* SPDX-License-Identifier: Apache-2.0 */
/* test.h - TEST() writes a unit test and registers it
 *
 *     TEST(test_sums_are_kept)
 *     {
 *         assert_int_equal(sum(1, 2), 3);
 *     }
 *
 * Tests run in the order of the file. The body sees cmocka's `void **state`. This header has
 * main(): the program takes names of tests as arguments, or patterns ('test_sums*'), and runs only
 * those. A link takes longer than most tests, so several files of tests are one program: its first
 * argument may be the name of a file (test_sums), and only the tests of that file run. A program
 * with a main() of its own defines TEST_OWN_MAIN before it includes this header, and calls
 * tests_main(). */
#pragma once

#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct test_entry {
    const char *name;
    CMUnitTestFunction run; /* NULL: what TEST_EACH() says */
    CMFixtureFunction setup, teardown;
    void *initial_state;
    bool plain; /* without the fixture of TEST_EACH() */
    int order;  /* in the file */
    struct test_entry *next;
};

struct test_file {
    const char *path;
    struct test_entry **first;
    CMFixtureFunction *setup, *teardown; /* of all tests */
    struct test_file *next;
};

static struct test_entry *tests_first;
static CMFixtureFunction tests_setup, tests_teardown;

/* of all files of the program: each object has it, and the linker keeps one */
__attribute__((weak)) struct test_file *tests_files;

__attribute__((constructor)) static void tests_add_file(void)
{
    static struct test_file file = { .path = __BASE_FILE__,
                                     .first = &tests_first,
                                     .setup = &tests_setup,
                                     .teardown = &tests_teardown };

    file.next = tests_files;
    tests_files = &file;
}

/* tests_add - by its place in the file: the linker may call constructors in any order */
static inline void tests_add(struct test_entry *test)
{
    struct test_entry **place = &tests_first;

    while (*place != NULL && (*place)->order < test->order)
        place = &(*place)->next;
    test->next = *place;
    *place = test;
}

#define TEST_ADDED(id, ...)                                                                        \
    __attribute__((constructor)) static void tests_add_##id(void)                                  \
    {                                                                                              \
        static struct test_entry test = { .order = __COUNTER__, __VA_ARGS__ };                     \
                                                                                                   \
        tests_add(&test);                                                                          \
    }

/* TEST_WITH - a test with members of struct test_entry: .setup, .teardown, .initial_state */
#define TEST_WITH(function, ...)                                                                   \
    static void function(void **state);                                                            \
    TEST_ADDED(function, .name = #function, .run = function, __VA_ARGS__)                          \
    static void function(void **state __attribute__((unused)))

#define TEST(function) TEST_WITH(function, .plain = false)

/* TEST_PLAIN - a test without the fixture of TEST_EACH() */
#define TEST_PLAIN(function) TEST_WITH(function, .plain = true)

/* TEST_AGAIN - a test above, once more with other members; its name ends in that word */
#define TEST_AGAIN(function, word, ...)                                                            \
    TEST_ADDED(function##_##word, .name = #function "_" #word, .run = function, __VA_ARGS__)       \
    struct test_entry

/* TEST_EACH - the tests below this line begin with setup_ and end with teardown_ */
#define TEST_EACH(setup_, teardown_)                                                               \
    TEST_ADDED(each_##setup_, .setup = setup_, .teardown = teardown_)                              \
    struct test_entry

/* TEST_ALL - before the first of all tests, and after the last of them */
#define TEST_ALL(setup_, teardown_)                                                                \
    __attribute__((constructor)) static void tests_add_fixture_of_all(void)                        \
    {                                                                                              \
        tests_setup = setup_;                                                                      \
        tests_teardown = teardown_;                                                                \
    }                                                                                              \
    struct test_entry

static inline bool tests_is_wanted(const char *name, int n, char **patterns)
{
    bool wanted = n == 0;

    for (int i = 0; i < n && !wanted; i++)
        wanted = fnmatch(patterns[i], name, 0) == 0;
    return wanted;
}

/* tests_wanted - those whose names fit one of the patterns, or all; their number is in *n_ret */
static inline struct CMUnitTest *tests_wanted(const struct test_entry *first, int n,
                                              char **patterns, size_t *n_ret)
{
    const struct test_entry *each = NULL;
    struct CMUnitTest *ret;
    size_t n_all = 0;

    *n_ret = 0;
    for (const struct test_entry *test = first; test != NULL; test = test->next)
        n_all++;
    ret = calloc(n_all + 1, sizeof *ret);
    for (const struct test_entry *test = first; ret != NULL && test != NULL; test = test->next) {
        bool own = test->setup != NULL || test->teardown != NULL || test->plain || each == NULL;
        const struct test_entry *fixture = own ? test : each;

        if (test->run == NULL)
            each = test;
        else if (tests_is_wanted(test->name, n, patterns))
            ret[(*n_ret)++] = (struct CMUnitTest){ .name = test->name,
                                                   .test_func = test->run,
                                                   .setup_func = fixture->setup,
                                                   .teardown_func = fixture->teardown,
                                                   .initial_state = test->initial_state };
    }
    return ret;
}

/* tests_file_is - NAME of .../NAME.c */
static inline bool tests_file_is(const struct test_file *file, const char *name)
{
    const char *slash = strrchr(file->path, '/');
    const char *base = slash != NULL ? slash + 1 : file->path;
    size_t n = strlen(name);

    return strncmp(base, name, n) == 0 && strcmp(base + n, ".c") == 0;
}

/* tests_run_file - adds to *n_ret how many were wanted; returns how many of them failed */
static inline int tests_run_file(const struct test_file *file, int n, char **patterns,
                                 size_t *n_ret)
{
    size_t n_wanted;
    struct CMUnitTest *tests = tests_wanted(*file->first, n, patterns, &n_wanted);
    int failed = 0;

    if (n_wanted > 0)
        failed =
            _cmocka_run_group_tests(file->path, tests, n_wanted, *file->setup, *file->teardown);
    *n_ret += n_wanted;
    free(tests);
    return failed;
}

/* tests_main - runs the tests that the arguments name, or all. Returns main()'s status: 0 when all
 * passed, 1 when one failed (as many as failed could be 77, a skip, or 256), 2 for an unknown name.
 */
static inline int tests_main(int argc, char **argv)
{
    const struct test_file *only = NULL;
    int failed = 0, n = argc > 1 ? argc - 1 : 0;
    size_t n_wanted = 0;

    for (const struct test_file *file = tests_files; n > 0 && file != NULL; file = file->next)
        if (tests_files->next != NULL && tests_file_is(file, argv[1]))
            only = file;
    if (only != NULL) {
        n--;
        argv++;
    }
    for (const struct test_file *file = tests_files; file != NULL; file = file->next)
        if (only == NULL || file == only)
            failed |= tests_run_file(file, n, argv + 1, &n_wanted);
    if (n_wanted > 0)
        return failed != 0;
    (void)fprintf(stderr, "no test has such a name; the names are:\n");
    for (const struct test_file *file = tests_files; file != NULL; file = file->next)
        for (const struct test_entry *test = *file->first; test != NULL; test = test->next)
            if (test->run != NULL && (only == NULL || file == only))
                (void)fprintf(stderr, "  %s (%s)\n", test->name, file->path);
    return 2;
}

#ifndef TEST_OWN_MAIN
__attribute__((weak)) int main(int argc, char **argv)
{
    return tests_main(argc, argv);
}
#endif
