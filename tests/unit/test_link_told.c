/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_told.c - the words of schedulers about themselves, and the memory of the next agent */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/link/link_told.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"
#include "shared/whole_file.h"
#include "tests/unit/test.h"

struct node {
    char folder[40];
    struct link_told told;
};

static void open_it(struct node *n, const char *servers)
{
    struct server_list given;

    link_told_close(&n->told);
    assert_int_equal(server_list_parse(servers, &given, NULL), 0);
    link_told_open(n->folder, &given, &n->told);
    server_list_clear(&given);
}

static void set_up(struct node *n)
{
    *n = (struct node){ .folder = "/tmp/edl-test-link-told-XXXXXX" };
    assert_non_null(mkdtemp(n->folder));
    open_it(n, "https://a");
}

static void tear_down(struct node *n)
{
    (void)unlink(n->told.path);
    link_told_close(&n->told);
    assert_int_equal(rmdir(n->folder), 0);
}

static int term(struct node *n, const char *answer)
{
    json_t *json = json_loads(answer, 0, NULL);
    int r = link_told_term(&n->told, json, NULL);

    assert_non_null(json);
    json_decref(json);
    return r;
}

static bool servers(struct node *n, const char *answer)
{
    json_t *json = json_loads(answer, 0, NULL);
    bool r = link_told_servers(&n->told, json);

    json_decref(json);
    return r;
}

static void assert_knows(const struct node *n, uint64_t term, const char *servers)
{
    _cleanup_free_ char *text = server_list_text(&n->told.servers);

    assert_int_equal(n->told.term, term);
    assert_string_equal(text, servers);
}

TEST(test_lower_terms_do_not_count)
{
    struct node n;

    set_up(&n);
    assert_int_equal(term(&n, "{\"term\": 0}"), 0);
    assert_int_equal(term(&n, "{}"), 0); /* a cluster on one machine */
    assert_int_equal(access(n.told.path, F_OK), -1);
    assert_int_equal(term(&n, "{\"term\": 7}"), 0);
    assert_int_equal(term(&n, "{\"term\": 7}"), 0);
    assert_int_equal(term(&n, "{\"term\": 6}"), EDL_ESTALE);
    open_it(&n, "https://a"); /* the next agent */
    assert_int_equal(term(&n, "{\"term\": 6}"), EDL_ESTALE);
    assert_int_equal(term(&n, "{\"term\": 8}"), 0);
    assert_int_equal(term(&n, "{\"term\": 7}"), EDL_ESTALE);
    tear_down(&n);
}

TEST(test_what_is_no_term)
{
    static const char *const bad[] = { "{\"term\": -1}", "{\"term\": \"9\"}", "{\"term\": 9.5}",
                                       "{\"term\": null}", "{\"term\": true}" };
    struct node n;

    set_up(&n);
    assert_int_equal(term(&n, "{\"term\": 7}"), 0);
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        assert_int_equal(term(&n, bad[i]), -EINVAL);
    assert_knows(&n, 7, "");
    tear_down(&n);
}

/* A cluster that goes back to one machine has no terms; the numbers begin anew if it ever returns.
 */
TEST(test_a_cluster_without_terms_again)
{
    json_t *none = json_object(), *some = json_pack("{s:i}", "term", 7);
    struct node n;

    set_up(&n);
    assert_int_equal(term(&n, "{\"term\": 7}"), 0);
    link_told_ends(&n.told, some);
    assert_knows(&n, 7, "");
    link_told_ends(&n.told, none);
    open_it(&n, "https://a");
    assert_int_equal(term(&n, "{\"term\": 1}"), 0);
    json_decref(none);
    json_decref(some);
    tear_down(&n);
}

TEST(test_other_schedulers_are_learnt)
{
    struct node n;

    set_up(&n);
    assert_false(servers(&n, "{}"));
    assert_false(servers(&n, "{\"servers\": \"https://b\"}"));
    assert_true(servers(&n, "{\"servers\": [\"https://a\", \"https://b\"]}"));
    assert_false(servers(&n, "{\"servers\": [\"https://a\", \"https://b/\"]}"));
    assert_int_equal(term(&n, "{\"term\": 3}"), 0);
    open_it(&n, "https://a");
    assert_knows(&n, 3, "https://a,https://b");
    open_it(&n, "https://b"); /* one of them */
    assert_knows(&n, 3, "https://a,https://b");
    open_it(&n, "unix:/run/x");
    assert_knows(&n, 0, ""); /* those of another cluster, or of one that moved */
    tear_down(&n);
}

TEST(test_a_node_that_was_given_another_way_to_them)
{
    struct node n;

    set_up(&n);
    open_it(&n, "unix:/run/x");
    assert_true(servers(&n, "{\"servers\": [\"https://a\", \"https://b\"]}"));
    open_it(&n, "unix:/run/x");
    assert_knows(&n, 0, "https://a,https://b");
    tear_down(&n);
}

TEST(test_damaged_files)
{
    static const char *const bad[] = { "", "{", "[]", "{\"term\": \"x\", \"servers\": 3}",
                                       "{\"given\": [\"https://a\"], \"term\": -9}" };
    struct node n;

    set_up(&n);
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        assert_int_equal(whole_file_write(n.told.path, bad[i], 0600, NULL), 0);
        open_it(&n, "https://a");
        assert_knows(&n, 0, "");
    }
    assert_int_equal(term(&n, "{\"term\": 3}"), 0);
    tear_down(&n);
}
