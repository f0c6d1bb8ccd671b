/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_request.c - what orders ask of files: which folder is meant, and the refusals */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/file_request.h"
#include "agent/layout.h"
#include "agent/logs/log_file.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define HEX "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static struct layout layout = { .copies_dir = (char *)"/s/copies",
                                .work_dir = (char *)"/s/work",
                                .output_dir = (char *)"/s/output" };

static json_t *entry(const char *what, const char *workspace, const char *folder, const char *name)
{
    return json_pack("{s:i,s:s,s:s,s:i,s:s,s:i,s:i,s:s,s:s,s:s,s:i}", "read", 9, "what", what,
                     "job", "j", "job_id", 7, "role", "trainer", "index", 1, "incarnation", 3,
                     "workspace", workspace, "folder", folder, "name", name, "since_us", 11);
}

static int parse(json_t *take_entry, struct file_request *ret)
{
    struct edl_error error = { 0 };
    int r = file_request_parse(take_entry, &layout, ret, &error);

    assert_true(r == 0 || error.text[0] != '\0');
    json_decref(take_entry);
    return r;
}

static void check_root(const char *workspace, const char *folder, const char *root, bool copy,
                       bool given)
{
    struct file_request request;

    assert_int_equal(parse(entry("list", workspace, folder, "out*"), &request), 0);
    assert_string_equal(request.root, root);
    assert_true(request.copy == copy && request.given == given);
    assert_true(request.id == 9 && request.since_us == 11 && request.bytes == UINT64_MAX);
    assert_true(request.sums_bytes == UINT64_MAX); /* an older scheduler says nothing of it */
    assert_string_equal(request.name, "out*");
    assert_string_equal(request.user, "");
    file_request_clear(&request);
}

TEST(a_list_says_for_whom_it_is_and_which_checksums_it_has)
{
    json_t *list = entry("list", "", "workspace", "");
    struct file_request request;

    (void)json_object_set_new(list, "sums_bytes", json_integer(0));
    (void)json_object_set_new(list, "user", json_string("ann"));
    assert_int_equal(parse(list, &request), 0);
    assert_true(request.sums_bytes == 0);
    assert_string_equal(request.user, "ann");
    file_request_clear(&request);
}

TEST(the_folder_is_the_one_that_the_process_had)
{
    struct file_request request;
    json_t *unpacked;

    check_root("sha256:" HEX, "workspace", "/s/copies/7.trainer.1.3", true, false);
    check_root("", "workspace", "/s/work/7-trainer-1", false, false);
    check_root("/data/x", "workspace", "/data/x", false, true);
    check_root("/data/x", "output", "/s/output/j-7", false, false);
    unpacked = entry("list", "/home/ann/JOB", "workspace", "");
    (void)json_object_set_new(unpacked, "unpacked", json_true());
    assert_int_equal(parse(unpacked, &request), 0);
    assert_true(request.given && request.unpacked && !request.copy);
    file_request_clear(&request);
}

TEST(a_log_has_no_folder)
{
    struct file_request request;

    assert_int_equal(parse(json_pack("{s:i,s:s,s:i,s:s,s:i,s:i}", "read", 1, "what", "log",
                                     "job_id", 7, "role", "trainer", "index", 0, "incarnation", 1),
                           &request),
                     0);
    assert_null(request.root);
    file_request_clear(&request);
}

TEST(what_no_scheduler_sends_is_refused)
{
    char name[FILE_NAME_MAX + 2];
    struct file_request request;
    json_t *odd;

    assert_int_equal(parse(entry("remove", "", "workspace", "a"), &request), -EOPNOTSUPP);
    assert_int_equal(parse(entry("list", "", "etc", "a"), &request), -EINVAL);
    assert_int_equal(parse(entry("list", "relative", "workspace", "a"), &request), -EINVAL);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(parse(entry("send", "", "workspace", name), &request), -EINVAL);
    odd = entry("list", "", "output", "");
    (void)json_object_set_new(odd, "job", json_string("../../etc"));
    assert_int_equal(parse(odd, &request), -EINVAL);
    odd = entry("list", "", "workspace", "");
    (void)json_object_set_new(odd, "role", json_string("../x"));
    assert_int_equal(parse(odd, &request), -EINVAL);
    assert_int_equal(parse(json_object(), &request), -EOPNOTSUPP);
    assert_int_equal(file_request_id(NULL), 0);
}

/* owner - what is chosen; "": nothing ran; "denied" */
static const char *owner(bool given, const struct stat *log, const struct stat *folder,
                         bool allow_root)
{
    const struct file_request request = { .given = given };
    static char ret[FILE_OWNER_SIZE];
    struct edl_error error = { 0 };
    int r = file_request_owner(&request, log, folder, allow_root, ret, &error);

    assert_true(r == 0 || error.text[0] != '\0');
    return r == 0 ? ret : r == -EPERM ? "denied" : "";
}

TEST(root_is_nobodys_account)
{
    const struct stat ann = { .st_uid = 1000, .st_gid = 100, .st_mode = S_IFREG | LOG_MODE_RUNS };
    const struct stat refused = { .st_mode = S_IFREG | LOG_MODE_BEGUN };
    const struct stat ran = { .st_mode = S_IFREG | LOG_MODE_RUNS };
    const struct stat folder = { .st_uid = 2000, .st_gid = 2000, .st_mode = S_IFDIR | 0700 };

    assert_string_equal(owner(true, &ann, &folder, false), "1000:100");
    assert_string_equal(owner(false, NULL, &folder, false), "2000:2000");
    assert_string_equal(owner(true, NULL, &folder, true), ""); /* anybody may name a folder */
    for (int given = 0; given < 2; given++) {
        assert_string_equal(owner(given, &refused, NULL, false), "");
        assert_string_equal(owner(given, &refused, &ran, true), "");
        assert_string_equal(owner(given, NULL, &ran, true), "");
        assert_string_equal(owner(given, &ran, NULL, false), "denied");
        assert_string_equal(owner(given, &ran, NULL, true), "-");
    }
}
