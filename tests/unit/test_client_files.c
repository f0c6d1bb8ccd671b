/* SPDX-License-Identifier: Apache-2.0 */
/* test_client_files.c - what a joined node leaves for the accounts of its machine
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/link/client_files.h"
#include "agent/link/membership.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "shared/whole_file.h"
#include "tests/unit/test.h"

struct machine {
    char folder[40];
    char *conf, *ca, *state_ca; /* owned */
    struct agent_options options;
    struct membership member;
};

static void set_server(struct machine *m, const char *servers)
{
    server_list_clear(&m->member.servers);
    assert_int_equal(server_list_parse(servers, &m->member.servers, NULL), 0);
    m->member.server = m->member.servers.urls[0];
}

static void set_up(struct machine *m)
{
    *m = (struct machine){ .folder = "/tmp/edl-test-client-files-XXXXXX" };
    assert_non_null(mkdtemp(m->folder));
    m->conf = text_format("%s/client.conf", m->folder);
    m->ca = text_format("%s/ca.pem", m->folder);
    m->state_ca = text_format("%s/state-ca.pem", m->folder);
    m->options.client_conf = m->conf;
    m->member.ca_path = xstrdup(m->state_ca);
    set_server(m, "https://10.77.0.1:7010");
    assert_int_equal(whole_file_write(m->state_ca, "the authority\n", 0600, NULL), 0);
}

static void tear_down(struct machine *m)
{
    const char *const paths[] = { m->conf, m->ca, m->state_ca };

    for (size_t i = 0; i < ELEMENTS(paths); i++)
        (void)unlink(paths[i]);
    assert_int_equal(rmdir(m->folder), 0);
    membership_done(&m->member);
    free(m->conf);
    free(m->ca);
    free(m->state_ca);
}

static int keep(struct machine *m)
{
    struct edl_error error = { 0 };
    int r = client_files_keep(&m->options, &m->member, &error);

    if (r < 0)
        fail_msg("%s", error.text);
    return r;
}

static void assert_holds(const char *path, const char *part)
{
    _cleanup_free_ char *text = NULL;
    struct stat st;

    assert_int_equal(whole_file_read(path, false, &text, NULL), 0);
    assert_non_null(strstr(text, part));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
}

TEST(test_a_joined_node_tells_everybody_where_the_scheduler_is)
{
    struct machine m;

    set_up(&m);
    assert_int_equal(keep(&m), 1);
    assert_holds(m.conf, "server: \"https://10.77.0.1:7010\"\n");
    assert_holds(m.conf, m.ca);
    assert_holds(m.ca, "the authority\n");
    assert_int_equal(keep(&m), 0);
    set_server(&m, "https://10.77.0.2:7010");
    assert_int_equal(keep(&m), 1);
    assert_holds(m.conf, "server: \"https://10.77.0.2:7010\"\n");
    set_server(&m, "https://10.77.0.2:7010,https://10.77.0.3:7010");
    assert_int_equal(keep(&m), 1);
    assert_holds(m.conf, "server: \"https://10.77.0.2:7010,https://10.77.0.3:7010\"\n");
    tear_down(&m);
}

TEST(test_the_administrators_file_stays)
{
    _cleanup_free_ char *text = NULL;
    struct machine m;

    set_up(&m);
    assert_int_equal(whole_file_write(m.conf, "server: https://own:7010\n", 0644, NULL), 0);
    assert_int_equal(keep(&m), 0);
    assert_int_equal(access(m.ca, F_OK), -1);
    assert_int_equal(whole_file_read(m.conf, false, &text, NULL), 0);
    assert_string_equal(text, "server: https://own:7010\n");
    assert_int_equal(unlink(m.conf), 0);
    assert_int_equal(whole_file_write(m.ca, "another authority\n", 0644, NULL), 0);
    assert_int_equal(keep(&m), 0);
    assert_int_equal(access(m.conf, F_OK), -1);
    tear_down(&m);
}

TEST(test_nothing_is_told_of_a_scheduler_that_only_this_machine_reaches)
{
    static const char *const servers[] = { "unix:/run/edl/scheduler.sock", "http://127.0.0.1:7010",
                                           "https://127.0.0.1:7010", "https://localhost:7010",
                                           "https://[::1]:7010" };
    struct machine m;

    set_up(&m);
    for (size_t i = 0; i < ELEMENTS(servers); i++) {
        set_server(&m, servers[i]);
        assert_int_equal(keep(&m), 0);
    }
    set_server(&m, "https://10.77.0.1:7010");
    m.options.client_conf = "";
    assert_int_equal(keep(&m), 0);
    m.options.client_conf = NULL; /* and it has a state folder of its own */
    m.options.state_dir = m.folder;
    assert_int_equal(keep(&m), 0);
    assert_int_equal(access(m.conf, F_OK), -1);
    tear_down(&m);
}
