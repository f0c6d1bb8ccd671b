/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_listing.c - lists of files: a written one is read, and nothing else is believed */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/file_listing.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" /* of "abc" */

TEST(paths_stay_below_and_can_be_shown)
{
    static const char *const good[] = { "a",   "output/pass-00000/w", "..a",
                                        "a..", "with blank",          "ä/€" };
    static const char *const bad[] = {
        "",
        "/a",
        "a/",
        "a//b",
        ".",
        "..",
        "a/../b",
        "./a",
        "a/.",
        "a/..",
        "a\nb",
        "a\033[31m",
        "a\x7f",
        "a\xff",
        "a\xc0\xaf",
        "\xc2\x9b"
        "31m",
    };
    char part[300], whole[FILE_PATH_MAX + 2];

    for (size_t i = 0; i < ELEMENTS(good); i++)
        assert_true(file_path_allowed(good[i]));
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        assert_false(file_path_allowed(bad[i]));
    memset(part, 'x', sizeof part);
    part[256] = '\0';
    assert_false(file_path_allowed(part));
    part[255] = '\0';
    assert_true(file_path_allowed(part));
    for (size_t i = 0; i < sizeof whole - 1; i++)
        whole[i] = i % 2 == 0 ? 'x' : '/';
    whole[sizeof whole - 1] = '\0';
    assert_false(file_path_allowed(whole)); /* 4001 bytes */
    whole[sizeof whole - 3] = '\0';
    assert_true(file_path_allowed(whole));
}

static int parse(const char *line, struct file_entry *entry, struct file_sums *sums)
{
    struct edl_error error = { 0 };
    int r = file_listing_parse(line, strlen(line), entry, sums, &error);

    assert_true(r >= 0 || (r == -EINVAL && error.text[0] != '\0'));
    return r;
}

TEST(what_is_written_is_read)
{
    struct file_entry entry = {
        .path = "a \"b\"/ä", .bytes = UINT64_C(1) << 40, .mtime_us = 7, .mode = 0755, .sha256 = SHA
    };
    struct file_sums sums = { .files = 1, .bytes = 2, .links = 3, .unnamed = 4, .unreadable = 5 };
    struct file_entry back;
    struct file_sums sums_back;
    json_t *json = file_entry_json(&entry);
    char *line = json_dumps(json, JSON_COMPACT);

    assert_int_equal(parse(line, &back, &sums_back), 0);
    assert_string_equal(back.path, entry.path);
    assert_true(back.bytes == entry.bytes && back.mtime_us == 7 && back.mode == 0755);
    assert_string_equal(back.sha256, SHA);
    free(line);
    json_decref(json);
    entry.sha256[0] = '\0'; /* not asked */
    json = file_entry_json(&entry);
    line = json_dumps(json, JSON_COMPACT);
    assert_null(strstr(line, "sha256"));
    assert_int_equal(parse(line, &back, &sums_back), 0);
    assert_string_equal(back.sha256, "");
    free(line);
    json_decref(json);
    json = file_sums_json(&sums);
    line = json_dumps(json, JSON_COMPACT);
    assert_int_equal(parse(line, &back, &sums_back), 1);
    assert_memory_equal(&sums_back, &sums, sizeof sums);
    free(line);
    json_decref(json);
    (void)snprintf(entry.path, sizeof entry.path, "../a");
    assert_null(file_entry_json(&entry));
}

#define FILE_LINE(path, bytes, sha256)                                                             \
    "{\"path\":" path ",\"bytes\":" bytes ",\"mtime_us\":1,\"mode\":420,\"sha256\":" sha256 "}"

TEST(nothing_else_is_believed)
{
    static const char *const lines[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"end\":true}",
        "{\"end\":true,\"files\":-1,\"bytes\":0,\"links\":0,\"unnamed\":0,\"unreadable\":0}",
        FILE_LINE("\"../a\"", "1", "\"" SHA "\""),
        FILE_LINE("\"/etc/passwd\"", "1", "\"" SHA "\""),
        FILE_LINE("\"a\\u0000b\"", "1", "\"" SHA "\""),
        FILE_LINE("\"a\\u001b\"", "1", "\"" SHA "\""),
        FILE_LINE("7", "1", "\"" SHA "\""),
        FILE_LINE("\"a\"", "-1", "\"" SHA "\""),
        FILE_LINE("\"a\"", "1.5", "\"" SHA "\""),
        FILE_LINE("\"a\"", "1", "\"\""),
        FILE_LINE("\"a\"", "1", "\"BA7816\""),
        FILE_LINE("\"a\"", "1", "\"" SHA "0\""),
        FILE_LINE("\"a\"", "1,\"bytes\":2", "\"" SHA "\""),
    };
    static char large[FILE_LISTING_LINE_BYTES + 2];
    struct file_entry entry = { .path = "untouched" };
    struct file_sums sums;

    for (size_t i = 0; i < ELEMENTS(lines); i++)
        assert_int_equal(parse(lines[i], &entry, &sums), -EINVAL);
    memset(large, ' ', sizeof large - 1);
    assert_int_equal(parse(large, &entry, &sums), -EINVAL);
    assert_string_equal(entry.path, "untouched");
    assert_int_equal(parse(FILE_LINE("\"a\"", "1", "\"" SHA "\""), &entry, &sums), 0);
}
