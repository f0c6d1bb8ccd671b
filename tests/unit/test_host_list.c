/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_list.c - a conf.py is read as literals, and an error in it is named with its place */
#include "shared/host_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/literals.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static int parse(const char *text, struct host_list *list, struct edl_error *error)
{
    *error = (struct edl_error){ 0 };
    return host_list_parse("conf.py", text, strlen(text), list, error);
}

TEST(test_the_file_of_seed_004)
{
    static const char text[] =
        "HOSTS = [\n        \"root@192.168.129.79\",\n        \"root@192.168.129.80\",\n"
        "        \"root@192.168.223.157\",\n        \"root@192.168.223.158\"\n        ]\n\n"
        "'''\nworkspace configuration\n'''\n#root dir for workspace\nROOT_DIR = "
        "\"/home/paddle\"\n\n"
        "'''\nnetwork configuration\n'''\n#pserver nics\nPADDLE_NIC = \"eth0\"\n#pserver port\n"
        "PADDLE_PORT = 7164\nPADDLE_PORTS_NUM = 2\nPADDLE_PORTS_NUM_FOR_SPARSE = 2\n\n"
        "LD_LIBRARY_PATH=\"/usr/local/cuda/lib64:/usr/lib64\"\n";
    struct edl_error error;
    struct host_list list;

    assert_int_equal(parse(text, &list, &error), 0);
    assert_int_equal(list.n_hosts, 4);
    assert_string_equal(list.hosts[2].text, "root@192.168.223.157");
    assert_string_equal(list.hosts[2].user, "root");
    assert_string_equal(list.hosts[2].name, "192.168.223.157");
    assert_int_equal(list.hosts[2].port, 0);
    assert_int_equal(list.hosts[2].line, 4);
    assert_int_equal(list.hosts[2].column, 9);
    assert_string_equal(list.root_dir, "/home/paddle");
    assert_string_equal(list.nic, "eth0");
    assert_int_equal(list.port, 7164);
    assert_int_equal(list.ports_num, 2);
    assert_int_equal(list.ports_num_for_sparse, 2);
    assert_string_equal(list.ld_library_path, "/usr/local/cuda/lib64:/usr/lib64");
    assert_false(list.use_gpu);
    host_list_clear(&list);
}

TEST(test_defaults)
{
    struct edl_error error;
    struct host_list list;

    assert_int_equal(parse("HOSTS = 'n1',\n", &list, &error), -EINVAL); /* no bare tuples */
    host_list_clear(&list);
    assert_int_equal(parse("HOSTS = ('n1',)", &list, &error), 0);
    assert_int_equal(list.n_hosts, 1);
    assert_null(list.hosts[0].user);
    assert_null(list.root_dir);
    assert_null(list.nic);
    assert_null(list.ld_library_path);
    assert_int_equal(list.port, 7164);
    assert_int_equal(list.ports_num, 1);
    assert_int_equal(list.ports_num_for_sparse, 0);
    host_list_clear(&list);
}

/* ROOT_DIR is what the string literal says */
TEST(test_strings)
{
    static const struct {
        const char *literal, *value;
    } rows[] = {
        { "'/a'", "/a" },
        { "\"/a'b\"", "/a'b" },
        { "'''/a'b''c'''", "/a'b''c" },
        { "\"\"\"/a\"b\"\"\"", "/a\"b" },
        { "r'/a\\b'", "/a\\b" },
        { "R\"/a\\\"b\"", "/a\\\"b" },
        { "u'/a'", "/a" },
        { "'/a' \"b\" 'c'", "/abc" },
        { "('/a'\n  # between\n  'b')", "/ab" },
        { "((('/a')))", "/a" },
        { "'/a\\\nb'", "/ab" },
        { "'/\\x41\\u00e9\\U0001F600\\101'", "/A\303\251\360\237\230\200A" },
        { "'/\\q\\\\\\''", "/\\q\\'" },
        { "'/a#b'", "/a#b" },
        { "\\\n  '/a'", "/a" },
        { "'/\\u0000'", NULL },
        { "'/\\0'", NULL },
        { "'/\\ud800'", NULL },
        { "'/\\x4'", NULL },
        { "'/a\nb'", NULL },
        { "'/a\\nb'", NULL }, /* a control character */
        { "'/a", NULL },
        { "'''/a''", NULL },
        { "b'/a'", NULL },
        { "f'/a'", NULL },
    };
    struct edl_error error;
    struct host_list list;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_free_ char *text = NULL;
        int r;

        assert_true(asprintf(&text, "HOSTS = ['n1']\nROOT_DIR = %s\n", rows[i].literal) > 0);
        r = parse(text, &list, &error);
        if ((r == 0) != (rows[i].value != NULL) ||
            (r == 0 && strcmp(list.root_dir, rows[i].value) != 0))
            fail_msg("%s: %d %s %s", rows[i].literal, r, r == 0 ? list.root_dir : "", error.text);
        host_list_clear(&list);
    }
}

TEST(test_hosts)
{
    static const struct {
        const char *text, *user, *name; /* name NULL: refused */
        uint16_t port;
    } rows[] = {
        { "n1", NULL, "n1", 0 },
        { "root@n1", "root", "n1", 0 },
        { "root@n1:2222", "root", "n1", 2222 },
        { "10.0.0.1:65535", NULL, "10.0.0.1", 65535 },
        { "::1", NULL, "::1", 0 },
        { "a@[::1]:22", "a", "::1", 22 },
        { "[fe80::1%eth0]", NULL, "fe80::1%eth0", 0 },
        { "", NULL, NULL, 0 },
        { "n1:0", NULL, NULL, 0 },
        { "n1:65536", NULL, NULL, 0 },
        { "n1:", NULL, NULL, 0 },
        { "n1:ssh", NULL, NULL, 0 },
        { "@n1", NULL, NULL, 0 },
        { "-oProxyCommand=x", NULL, NULL, 0 },
        { "-l@n1", NULL, NULL, 0 },
        { "root@-n1", NULL, NULL, 0 },
        { "Root@n1", "Root", "n1", 0 },
        { "a b@n1", "a b", "n1", 0 },
        { "n1;id", NULL, NULL, 0 },
        { "n1:22:33", NULL, NULL, 0 },
        { "[::1", NULL, NULL, 0 },
        { "$(id)", NULL, NULL, 0 },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct edl_error error = { 0 };
        struct host host = { 0 };
        int r = host_parse(rows[i].text, &host, &error);

        if ((r == 0) != (rows[i].name != NULL) ||
            (r == 0 && (strcmp(host.name, rows[i].name) != 0 || host.port != rows[i].port ||
                        (host.user == NULL) != (rows[i].user == NULL) ||
                        (host.user != NULL && strcmp(host.user, rows[i].user) != 0))) ||
            (r < 0 && (error.text[0] == '\0' || error.remedy[0] == '\0')))
            fail_msg("\"%s\": %d %s %s", rows[i].text, r, host.name, error.text);
        host_clear(&host);
    }
}

TEST(test_what_is_refused)
{
    static const struct {
        const char *text, *said, *remedy;
    } rows[] = {
        { "", "conf.py has no HOSTS", "add a line: HOSTS = [" },
        { "import os\n", "conf.py:1:1: this is no assignment", "no code" },
        { "HOSTS = open('x')\n", "conf.py:1:9: this is code", "write the value itself" },
        { "HOSTS = ['n1']\nPADDLE_PORT = 7000 + 164\n", "conf.py:2:20: this is code",
          "one assignment" },
        { "HOSTS = ['n1'] + ['n2']\n", "conf.py:1:16: this is code", "one assignment" },
        { "HOSTS = ['n%d' % i for i in (1, 2)]\n", "conf.py:1:16: a comma is missing", "comma" },
        { "HOSTS.append('n1')\n", "conf.py:1:1: this is no assignment", "no code" },
        { "if True:\n  HOSTS = ['n1']\n", "conf.py:1:1: this is no assignment", "no code" },
        { "  HOSTS = ['n1']\n", "conf.py:1:3: this line is indented", "left" },
        { "HOSTS = []\n", "conf.py:1:9: HOSTS has 0 hosts", "HOSTS = [" },
        { "HOSTS = 'n1'\n", "conf.py:1:9: HOSTS is a string, and has to be a list", "HOSTS = [" },
        { "HOSTS = ['n1',\n 5]\n", "conf.py:2:2: HOSTS holds a whole number", "user@host" },
        { "HOSTS = ['n1'", "conf.py:1:9: this bracket is not closed", "add ]" },
        { "HOSTS = ['n1' 'n2'\n, 'n3' n4]", "conf.py:2:8: a comma is missing", "comma" },
        { "HOSTS = ['root@n1',\n  'ann@N1:22']\n",
          "conf.py:2:3: the host ann@N1:22 stands in HOSTS twice, first in line 1", "take one" },
        { "HOSTS = ['n1']\nHOSTS = ['n2']\n", "conf.py:2:1: HOSTS is given twice", "take one" },
        { "HOSTS = ['n1:70000']\n", "conf.py:1:10: \"n1:70000\" is no host: a port is",
          "user@host:port" },
        { "PADDLE_PORT = 65536\n", "conf.py:1:15: PADDLE_PORT is 65536", "from 1 to 65535" },
        { "HOSTS = ['n1']\nPADDLE_PORT = 65535\nPADDLE_PORTS_NUM = 2\n", "end beyond 65535",
          "7164" },
        { "PADDLE_USE_GPU = 7\n", "PADDLE_USE_GPU is neither", "True" },
        { "PADDLE_PORT = 0\n", "PADDLE_PORT is 0", "from 1" },
        { "PADDLE_PORT = '7164'\n", "PADDLE_PORT is a string, and has to be a whole number",
          "PADDLE_PORT = 7164" },
        { "PADDLE_PORT = 07164\n", "this is no number", "7164" },
        { "PADDLE_PORT = 99999999999999999999\n", "this is no number", "7164" },
        { "PADDLE_PORTS_NUM = 0\n", "PADDLE_PORTS_NUM is 0", "from 1 to 1024" },
        { "PADDLE_PORTS_NUM_FOR_SPARSE = -1\n", "PADDLE_PORTS_NUM_FOR_SPARSE is -1", "from 0" },
        { "PADDLE_PORTS = 2\n", "conf.py:1:1: PADDLE_PORTS is no name that is known",
          "write PADDLE_PORT" },
        { "ROOT_DIR = 'output'\n", "ROOT_DIR is no absolute path", "/home/paddle" },
        { "ROOT_DIR = '/a/../b'\n", "ROOT_DIR is no absolute path", "/home/paddle" },
        { "PADDLE_NIC = ''\n", "PADDLE_NIC is empty", "leave the line out" },
        { "PADDLE_USE_GPU = 'maybe'\n", "PADDLE_USE_GPU is neither", "\"True\"" },
        { "PADDLE_USE_GPU = None\n", "PADDLE_USE_GPU is neither", "\"True\"" },
    };
    struct edl_error error;
    struct host_list list;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        int r = parse(rows[i].text, &list, &error);

        if (r != -EINVAL || strstr(error.text, rows[i].said) == NULL ||
            strstr(error.remedy, rows[i].remedy) == NULL)
            fail_msg("%s: %d %s: %s", rows[i].text, r, error.text, error.remedy);
        host_list_clear(&list);
    }
}

TEST(test_use_gpu)
{
    static const struct {
        const char *value;
        bool used;
    } rows[] = { { "True", true },   { "'True'", true },     { "1", true },  { "'1'", true },
                 { "False", false }, { "\"False\"", false }, { "0", false }, { "'false'", false } };
    struct edl_error error;
    struct host_list list;

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_free_ char *text = NULL;

        assert_true(asprintf(&text, "HOSTS=['n1']\nPADDLE_USE_GPU=%s", rows[i].value) > 0);
        assert_int_equal(parse(text, &list, &error), 0);
        if (list.use_gpu != rows[i].used)
            fail_msg("%s", rows[i].value);
        host_list_clear(&list);
    }
}

TEST(test_bounds)
{
    struct edl_error error = { 0 };
    struct host_list list;
    size_t size = LITERALS_BYTES_MAX + 1;
    _cleanup_free_ char *text = xcalloc(size + 1, 1);

    memset(text, '#', size);
    assert_int_equal(host_list_parse("conf.py", text, size, &list, &error), -E2BIG);
    host_list_clear(&list);
    memset(text, '(', size);
    memcpy(text, "HOSTS =", 7);
    assert_int_equal(host_list_parse("conf.py", text, size - 1, &list, &error), -EINVAL);
    assert_non_null(strstr(error.text, "too deep"));
    host_list_clear(&list);
    for (size_t i = 0; i + 2 <= size; i += 2)
        memcpy(text + i, "0,", 2);
    memcpy(text, "HOSTS =[", 8);
    assert_int_equal(host_list_parse("conf.py", text, size - 1, &list, &error), -E2BIG);
    host_list_clear(&list);
    assert_int_equal(host_list_parse("conf.py", "HOSTS=['n\0']", 12, &list, &error), -EINVAL);
    assert_non_null(strstr(error.text, "byte 9 is NUL"));
    host_list_clear(&list);
}

TEST(test_files)
{
    struct edl_error error = { 0 };
    struct host_list list;
    char path[] = "/tmp/host-list-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0 && write(fd, "HOSTS = ['n1']\n", 15) == 15);
    (void)safe_close(fd);
    assert_int_equal(host_list_load(path, &list, &error), 0);
    assert_string_equal(list.hosts[0].name, "n1");
    host_list_clear(&list);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(host_list_load(path, &list, &error), -ENOENT);
    assert_non_null(strstr(error.remedy, "--conf FILE"));
    host_list_clear(&list);
    assert_int_equal(host_list_load("/tmp", &list, &error), -EINVAL);
    host_list_clear(&list);
}
