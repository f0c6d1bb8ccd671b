/* SPDX-License-Identifier: Apache-2.0 */
/* test_ssh_known_files.c - a key that is added is known afterwards, and nothing else changes */
#include <stdint.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/ssh/ssh_known_files.h"
#include "client/ssh/ssh_session.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "tests/unit/test.h"

static const uint8_t key[] = "\0\0\0\x0bssh-ed25519\0\0\0\x04"
                             "abcd";
#define KEY_LINE "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAABGFiY2Q=\n"

struct fixture {
    char dir[40], folder[60], user[80], global[80];
    struct ssh_config config;
};

static int setup(void **state)
{
    static const struct ssh_target target = { .host = "n7" };
    struct fixture *f = xcalloc(1, sizeof *f);
    struct ssh_place place = { f->dir, "me", NULL };
    char text[300];

    (void)snprintf(f->dir, sizeof f->dir, "/tmp/edl-test-known.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->folder, sizeof f->folder, "%s/.ssh", f->dir);
    (void)snprintf(f->user, sizeof f->user, "%s/known_hosts", f->folder);
    (void)snprintf(f->global, sizeof f->global, "%s/global", f->dir);
    (void)snprintf(text, sizeof text, "userknownhostsfile %s /dev/null\nglobalknownhostsfile %s\n",
                   f->user, f->global);
    ssh_config_parse(text, &target, &place, &f->config);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    (void)unlink(f->user);
    (void)unlink(f->global);
    (void)rmdir(f->folder);
    (void)rmdir(f->dir);
    ssh_config_clear(&f->config);
    free(f);
    return 0;
}

TEST_EACH(setup, teardown);

static void add(struct fixture *f, const char *name)
{
    assert_int_equal(ssh_known_files_add(&f->config, name, key, sizeof key - 1, NULL), 0);
}

static enum ssh_known verdict(struct fixture *f, const char *name, struct ssh_known_hosts *known)
{
    assert_int_equal(ssh_known_files_judge(&f->config, name, key, sizeof key - 1, known, NULL), 0);
    return ssh_known_hosts_verdict(known);
}

TEST(test_added)
{
    struct fixture *f = *state;
    struct ssh_known_hosts known;
    _cleanup_free_ char *text = NULL;
    struct stat st;

    assert_int_equal(verdict(f, "n7", &known), SSH_KNOWN_NEW);
    add(f, "n7"); /* which makes folder and file */
    assert_int_equal(verdict(f, "n7", &known), SSH_KNOWN_SAME);
    assert_int_equal(verdict(f, "n8", &known), SSH_KNOWN_NEW);
    assert_int_equal(stat(f->user, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(f->folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    add(f, "[n8]:22");
    assert_int_equal(whole_file_read(f->user, true, &text, NULL), 0);
    assert_string_equal(text, "n7 " KEY_LINE "[n8]:22 " KEY_LINE);
}

TEST(test_hashed)
{
    struct fixture *f = *state;
    struct ssh_known_hosts known;
    _cleanup_free_ char *text = NULL;

    f->config.hash_known_hosts = true;
    add(f, "n7");
    add(f, "n8");
    assert_int_equal(whole_file_read(f->user, true, &text, NULL), 0);
    assert_null(strstr(text, "n7 "));
    assert_int_equal(verdict(f, "n8", &known), SSH_KNOWN_SAME);
    assert_int_equal(known.line, 2);
}

/* a last line without its end stays a line of its own */
TEST(test_no_newline)
{
    struct fixture *f = *state;
    struct ssh_known_hosts known;

    assert_int_equal(mkdir(f->folder, 0700), 0);
    assert_int_equal(whole_file_write(f->user, "# mine", 0600, NULL), 0);
    add(f, "n7");
    assert_int_equal(verdict(f, "n7", &known), SSH_KNOWN_SAME);
    assert_int_equal(known.line, 2);
}

TEST(test_global)
{
    struct fixture *f = *state;
    struct ssh_known_hosts known;

    add(f, "n7");
    assert_int_equal(whole_file_write(f->global, "\n@revoked * " KEY_LINE, 0600, NULL), 0);
    assert_int_equal(verdict(f, "n7", &known), SSH_KNOWN_REVOKED);
    assert_string_equal(known.file, f->global);
    assert_int_equal(known.line, 2);
}

/* what cannot be read may revoke the key: it is an error, and not a file without lines */
TEST(test_unreadable)
{
    struct fixture *f = *state;
    struct ssh_known_hosts known;
    struct edl_error error = { 0 };

    assert_int_equal(symlink("global", f->global), 0);
    assert_int_equal(ssh_known_files_judge(&f->config, "n7", key, sizeof key - 1, &known, &error),
                     -ELOOP);
    assert_non_null(strstr(error.text, f->global));
}
