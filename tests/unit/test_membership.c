/* SPDX-License-Identifier: Apache-2.0 */
/* test_membership.c - which schedulers a node asks, from its options and its member.json */
#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/link/membership.h"
#include "agent/options.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "shared/whole_file.h"
#include "tests/unit/test.h"

#define PIN_DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct node {
    char folder[40];
    char *member, *credential; /* owned; paths */
    struct agent_options options;
    struct membership got;
    struct edl_error error;
};

static void set_up(struct node *n)
{
    *n = (struct node){ .folder = "/tmp/edl-test-membership-XXXXXX" };
    assert_non_null(mkdtemp(n->folder));
    n->member = text_format("%s/member.json", n->folder);
    n->credential = text_format("%s/credential", n->folder);
    n->options.node = "n1";
    n->options.address = "127.0.0.1";
    (void)snprintf(n->options.token, sizeof n->options.token, "t");
}

static void tear_down(struct node *n)
{
    (void)unlink(n->member);
    (void)unlink(n->credential);
    assert_int_equal(rmdir(n->folder), 0);
    free(n->member);
    free(n->credential);
    membership_done(&n->got);
}

static int open_it(struct node *n)
{
    membership_done(&n->got);
    n->error = (struct edl_error){ 0 };
    return membership_open(&n->options, n->folder, &n->got, &n->error);
}

static void assert_servers(const struct node *n, const char *text)
{
    _cleanup_free_ char *found = server_list_text(&n->got.servers);

    assert_string_equal(found, text);
    assert_string_equal(n->got.server, n->got.servers.urls[0]);
}

/* joined - it has, by this list */
static void joined(struct node *n, const char *servers)
{
    n->options.join = servers;
    if (open_it(n) < 0)
        fail_msg("%s", n->error.text);
    assert_int_equal(whole_file_write(n->credential, "c", 0600, NULL), 0);
    n->options.join = NULL;
    n->options.token[0] = '\0';
}

TEST(test_a_join_line_names_several)
{
    struct node n;
    json_t *json;

    set_up(&n);
    joined(&n, "http://127.0.0.1:1,http://127.0.0.1:2");
    assert_servers(&n, "http://127.0.0.1:1,http://127.0.0.1:2");
    json = json_load_file(n.member, 0, NULL);
    /* the release before reads that one */
    assert_string_equal(json_string_value(json_object_get(json, "server")), "http://127.0.0.1:1");
    json_decref(json);
    assert_int_equal(open_it(&n), 0);
    assert_servers(&n, "http://127.0.0.1:1,http://127.0.0.1:2");
    n.options.scheduler = "http://127.0.0.1:9,http://127.0.0.1:8";
    assert_int_equal(open_it(&n), 0);
    assert_servers(&n, "http://127.0.0.1:9,http://127.0.0.1:8");
    n.options.scheduler = NULL;
    membership_move(&n.got, n.folder, "127.0.0.7");
    assert_int_equal(open_it(&n), 0);
    assert_servers(&n, "http://127.0.0.1:1,http://127.0.0.1:2");
    tear_down(&n);
}

TEST(test_a_member_of_the_release_before)
{
    static const char old[] = "{\"server\": \"http://127.0.0.1:1\", \"node\": \"n1\", \"address\": "
                              "\"127.0.0.1\", \"address_given\": false}";
    struct node n;

    set_up(&n);
    assert_int_equal(whole_file_write(n.member, old, 0600, NULL), 0);
    assert_int_equal(whole_file_write(n.credential, "c", 0600, NULL), 0);
    assert_int_equal(open_it(&n), 0);
    assert_servers(&n, "http://127.0.0.1:1");
    n.options.join = "http://127.0.0.1:2,http://127.0.0.1:1"; /* the same line, of today */
    assert_int_equal(open_it(&n), 0);
    n.options.join = NULL;
    assert_int_equal(open_it(&n), 0);
    assert_servers(&n, "http://127.0.0.1:2,http://127.0.0.1:1");
    tear_down(&n);
}

TEST(test_another_cluster_has_no_address_in_common)
{
    struct node n;

    set_up(&n);
    joined(&n, "http://127.0.0.1:1,http://127.0.0.1:2");
    n.options.join = "http://127.0.0.1:3,http://127.0.0.1:4";
    assert_int_equal(open_it(&n), EDL_ECONFIG);
    assert_non_null(strstr(n.error.text, "belongs to node n1"));
    n.options.join = "http://127.0.0.1:3,http://127.0.0.1:2/";
    assert_int_equal(open_it(&n), 0);
    n.options.node = "n2";
    assert_int_equal(open_it(&n), EDL_ECONFIG);
    tear_down(&n);
}

TEST(test_what_is_no_list_is_refused)
{
    struct node n;

    set_up(&n);
    n.options.join = "http://127.0.0.1:1,";
    assert_int_equal(open_it(&n), -EINVAL);
    assert_non_null(strstr(n.error.text, "--join: "));
    assert_true(n.error.remedy[0] != '\0');
    n.options.join = NULL;
    n.options.scheduler = "127.0.0.1:1";
    assert_int_equal(open_it(&n), -EINVAL);
    assert_non_null(strstr(n.error.text, "--scheduler: "));
    tear_down(&n);
}

/* The agent on the machine of a scheduler: others are https, and it learns of them. */
TEST(test_an_authority_for_others)
{
    struct node n;
    _cleanup_free_ char *ca = NULL;
    bool is_joined;

    set_up(&n);
    ca = text_format("%s/given.pem", n.folder);
    n.options.scheduler = "unix:/run/x";
    n.options.ca = ca;
    assert_int_equal(open_it(&n), 0);
    assert_null(n.got.ca_path); /* of a scheduler without TLS */
    assert_int_equal(whole_file_write(ca, "the authority", 0600, NULL), 0);
    assert_int_equal(open_it(&n), 0);
    assert_string_equal(n.got.ca_path, ca);
    membership_done(&n.got);
    assert_int_equal(membership_look(&n.options, n.folder, &n.got, &is_joined, NULL), 0);
    assert_string_equal(n.got.ca_path, ca);
    assert_int_equal(unlink(ca), 0);
    membership_done(&n.got);
    assert_int_equal(membership_look(&n.options, n.folder, &n.got, &is_joined, NULL), 0);
    assert_null(n.got.ca_path);
    tear_down(&n);
}

/* listen_here - *ret_port: where */
static int listen_here(unsigned *ret_port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof to;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&to, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&to, &size), 0);
    *ret_port = ntohs(to.sin_port);
    return fd;
}

/* stand_still - each says nothing until its caller has left, and then ends each connection */
static _Noreturn void stand_still(const int listen_fd[2], int asked_fd)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)alarm(240);
    for (unsigned i = 0;; i++) {
        int fd = accept(listen_fd[i % 2], NULL, NULL);
        char text[512];

        if (fd == -1 || write(asked_fd, i % 2 == 0 ? "a" : "b", 1) != 1)
            _exit(1);
        while (i < 2 && read(fd, text, sizeof text) > 0)
            continue;
        (void)safe_close(fd);
    }
}

TEST(test_one_that_stands_still_is_left_soon_at_the_first_join)
{
    _cleanup_free_ char *join = NULL;
    unsigned port[2];
    int listen_fd[2], asked[2];
    char who[8] = "";
    struct node n;
    pid_t child;

    set_up(&n);
    for (int i = 0; i < 2; i++)
        listen_fd[i] = listen_here(&port[i]);
    assert_int_equal(pipe(asked), 0);
    child = fork();
    if (child == 0)
        stand_still(listen_fd, asked[1]);
    join = text_format("https://127.0.0.1:%u,https://127.0.0.1:%u", port[0], port[1]);
    n.options.join = join;
    n.options.ca_pin = "sha256:" PIN_DIGITS;
    assert_int_equal(open_it(&n), EDL_EUNREACHABLE);
    assert_non_null(strstr(n.error.text, join + strcspn(join, ",") + 1));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(read(asked[0], who, sizeof who - 1), 4);
    assert_string_equal(who, "abab");
    for (int i = 0; i < 2; i++) {
        (void)safe_close(listen_fd[i]);
        (void)safe_close(asked[i]);
    }
    tear_down(&n);
}
