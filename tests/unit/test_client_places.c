/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_places.c - which scheduler the command `edl` means, and what is advised when none is
 * known
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/dev_file.h"
#include "client/dev_state.h"
#include "client/login.h"
#include "client/options.h"
#include "client/server.h"
#include "client/server_several.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static char *make_folder(void)
{
    char *path = xstrdup("/tmp/edl-test-places-XXXXXX");

    assert_non_null(mkdtemp(path));
    return path;
}

/* --- which scheduler is meant --- */

static void write_file(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = text_format("%s/%s", folder, name);
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    (void)fclose(file);
}

static void make_below(const char *root, const char *folder)
{
    _cleanup_free_ char *path = text_format("%s/%s", root, folder);

    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
        *at = '\0';
        (void)mkdir(path, 0700);
    }
    assert_int_equal(mkdir(path, 0700), 0);
}

/* A machine of its own below a folder, with a person's HOME in it. */
static char *make_machine(void)
{
    char *root = make_folder();
    _cleanup_free_ char *home = text_format("%s/home", root);

    make_below(root, "home");
    make_below(root, "run/edl");
    make_below(root, "etc/edl");
    make_below(root, "config/edl");
    assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", home, 1), 0);
    for (size_t i = 0; i < 5; i++)
        (void)unsetenv((const char *[]){ "EDL_SERVER", "EDL_TOKEN", "EDL_TOKEN_FILE", "EDL_CA",
                                         "XDG_CONFIG_HOME" }[i]);
    return root;
}

static void assert_located(const char *root, const struct common_options *options, const char *base,
                           const char *token, const char *ca)
{
    struct server server = { 0 };
    struct edl_error error = { 0 };

    if (server_locate_below(root, options, &server, &error) < 0)
        fail_msg("%s", error.text);
    assert_string_equal(server.base, base);
    assert_string_equal(server.token != NULL ? server.token : "", token);
    assert_string_equal(server.ca != NULL ? server.ca : "", ca);
    server_clear(&server);
}

static void assert_unknown(const char *root, const char *text, const char *remedy)
{
    struct common_options none = { .server = NULL };
    struct server server = { 0 };
    struct edl_error error = { 0 };

    assert_int_equal(server_locate_below(root, &none, &server, &error), -ENOENT);
    assert_non_null(strstr(error.text, text));
    assert_non_null(strstr(error.remedy, remedy));
    if (!streq(remedy, "edl dev"))
        assert_null(strstr(error.remedy, "edl dev"));
}

TEST(test_what_is_advised_follows_what_the_machine_has)
{
    _cleanup_free_ char *root = make_machine();

    assert_unknown(root, "no server is known", "edl dev");
    make_below(root, "usr/bin");
    write_file(root, "usr/bin/edl", "");
    assert_unknown(root, "no server is known", "edl user add NAME");
    write_file(root, "etc/edl/agent.conf", "");
    assert_unknown(root, "has not joined a cluster", "edl user add NAME");
    make_below(root, "usr/lib/systemd/system");
    write_file(root, "usr/lib/systemd/system/edl-scheduler.service", "");
    assert_unknown(root, "the scheduler of this machine does not run",
                   "systemctl start edl-scheduler");
    assert_int_equal(dev_state_remove_tree(root), 0);
}

TEST(test_the_nearest_server_is_meant_and_a_token_stays_with_its_own)
{
    struct common_options none = { .server = NULL };
    struct common_options other = { .server = "https://other:7010" };
    struct common_options mine = { .server = "https://mine:7010" };
    _cleanup_free_ char *root = make_machine();
    _cleanup_free_ char *config = text_format("%s/config", root);
    _cleanup_free_ char *socket = text_format("unix:%s/run/edl/scheduler.sock", root);
    _cleanup_free_ char *own = text_format("server: https://mine:7010\nca: %s/config/edl/ca.pem\n"
                                           "token-file: %s/config/edl/token\n",
                                           root, root);
    _cleanup_free_ char *ca = text_format("%s/config/edl/ca.pem", root);

    write_file(root, "etc/edl/client.conf", "server: https://ours:7010\nca: /etc/edl/ca.pem\n");
    assert_located(root, &none, "https://ours:7010", "", "/etc/edl/ca.pem");
    write_file(root, "run/edl/scheduler.sock", "");
    assert_located(root, &none, socket, "", "");
    assert_int_equal(setenv("XDG_CONFIG_HOME", config, 1), 0);
    write_file(root, "config/edl/client.conf", own);
    write_file(root, "config/edl/token", "secret\n");
    assert_located(root, &none, "https://mine:7010", "secret", ca);
    assert_located(root, &mine, "https://mine:7010", "secret", ca);
    assert_located(root, &other, "https://other:7010", "", "");
    other.server = "https://ours:7010";
    assert_located(root, &other, "https://ours:7010", "", "/etc/edl/ca.pem");
    assert_int_equal(setenv("EDL_TOKEN", "given", 1), 0);
    assert_located(root, &mine, "https://mine:7010", "given", ca);
    assert_int_equal(unsetenv("EDL_TOKEN"), 0);
    assert_int_equal(setenv("EDL_SERVER", "http://127.0.0.1:9", 1), 0);
    assert_located(root, &none, "http://127.0.0.1:9", "", "");
    assert_int_equal(unsetenv("EDL_SERVER"), 0);
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
    assert_int_equal(dev_state_remove_tree(root), 0);
}

/* A credential that is given beside its address is for other servers. */
TEST(test_the_token_of_edl_dev_goes_to_its_address_alone)
{
    struct common_options given = { .server = "http://127.0.0.1:9" };
    _cleanup_free_ char *root = make_machine();
    _cleanup_free_ char *token = text_format("%s/token", root);
    json_t *document =
        json_pack("{s:s,s:s,s:i}", "server", given.server, "token_file", token, "pid", 1);
    int lock_fd = -1;

    write_file(root, "token", "secret\n");
    assert_int_equal(dev_file_claim(&lock_fd, NULL), 0);
    assert_int_equal(dev_file_write(document, NULL), 0);
    assert_located(root, &given, "http://127.0.0.1:9", "secret", "");
    given.server = "http://127.0.0.1:9,http://127.0.0.1:8";
    assert_located(root, &given, "http://127.0.0.1:9", "", "");
    json_decref(document);
    (void)safe_close(lock_fd);
    assert_int_equal(dev_state_remove_tree(root), 0);
}

TEST(test_a_file_of_a_client_is_refused_with_its_key)
{
    static const struct {
        const char *text, *said;
    } files[] = {
        { "sever: https://ours:7010\n", "sever: there is no such key" },
        { "ca: /etc/edl/ca.pem\n", "names no server" },
        { "server: https://ours:7010\nca: ca.pem\n", "\"ca.pem\" is not a path" },
    };
    struct common_options none = { .server = NULL };
    struct common_options given = { .server = "https://given:7010" };
    _cleanup_free_ char *root = make_machine();

    for (size_t i = 0; i < ELEMENTS(files); i++) {
        struct server server = { 0 };
        struct edl_error error = { 0 };

        write_file(root, "etc/edl/client.conf", files[i].text);
        assert_int_equal(server_locate_below(root, &none, &server, &error), -EINVAL);
        assert_non_null(strstr(error.text, files[i].said));
        assert_located(root, &given, "https://given:7010", "", "");
    }
    assert_int_equal(dev_state_remove_tree(root), 0);
}

TEST(test_an_address_to_log_in_at)
{
    static const struct {
        const char *given, *kept; /* NULL: refused */
    } addresses[] = {
        { "sched:7010", "https://sched:7010" },
        { "https://sched:7010/", "https://sched:7010" },
        { "http://127.0.0.1:7010", "http://127.0.0.1:7010" },
        { "http://localhost:7010", "http://localhost:7010" },
        { "http://localhost.example.com:7010", NULL },
        { "http://10.0.0.1:7010", NULL },
        { "unix:/run/edl/scheduler.sock", NULL },
        { "https://", NULL },
        { "ftp://sched", NULL },
        { "https://a\" b", NULL },
    };

    for (size_t i = 0; i < ELEMENTS(addresses); i++) {
        _cleanup_free_ char *kept = NULL;
        struct edl_error error = { 0 };
        int r = login_address(addresses[i].given, &kept, &error);

        assert_int_equal(r, addresses[i].kept != NULL ? 0 : -EINVAL);
        if (r == 0)
            assert_string_equal(kept, addresses[i].kept);
    }
}

TEST(test_addresses_that_make_no_sense_are_refused)
{
    static const char *const given[] = { "http://a:1,", ",http://a:1", "http://a:1,,http://b:1",
                                         "http://a:1,ftp://b" };

    for (size_t i = 0; i < ELEMENTS(given); i++) {
        struct edl_error error = { 0 };
        struct server server = { 0 };

        assert_int_equal(server_several_take(given[i], &server, &error), -EINVAL);
        assert_true(error.remedy[0] != '\0');
    }
}

TEST(test_token_of_a_file_goes_to_its_addresses_alone)
{
    struct server server = { 0 };

    assert_int_equal(server_several_take("https://a:1,https://b:1", &server, NULL), 0);
    assert_true(server_several_covers("https://b:1,https://a:1,https://c:1", &server));
    assert_false(server_several_covers("https://a:1", &server));
    assert_false(server_several_covers("https://a:1,https://c:1", &server));
    server_clear(&server);
    assert_int_equal(server_several_take("https://a:1", &server, NULL), 0);
    assert_true(server_several_covers("https://a:1,https://b:1", &server));
    assert_false(server_several_covers("https://b:1", &server));
    server_clear(&server);
}
