/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_groups.c - what /proc/PID/cgroup says, in the order in which it is entered */
#include "tests/unit/test.h"

#include "agent/session/session_groups.h"
#include "shared/macro.h"

TEST(test_both_versions_beside_each_other)
{
    struct session_groups groups;

    session_groups_parse(
        "12:cpu,cpuacct:/a\n4:memory:/m/x\n3:cpuset:/s\n1:name=systemd:/u.service\n"
        "0::/u.service\n",
        &groups);
    assert_int_equal(groups.n, 5);
    assert_string_equal(groups.list[0].hierarchy, "memory");
    assert_string_equal(groups.list[0].path, "/m/x");
    assert_string_equal(groups.list[1].hierarchy, "cpuset");
    assert_string_equal(groups.list[2].hierarchy, "name=systemd");
    assert_string_equal(groups.list[3].hierarchy, "");
    assert_string_equal(groups.list[4].hierarchy, "cpu,cpuacct"); /* the last: see rank_of */
    assert_int_equal(groups.list[4].fd, -1);
}

TEST(test_version_2_alone)
{
    struct session_groups groups;

    session_groups_parse("0::/edl.slice/edl-1.slice/a:b.service/program\n", &groups);
    assert_int_equal(groups.n, 1);
    assert_string_equal(groups.list[0].path, "/edl.slice/edl-1.slice/a:b.service/program");
}

TEST(test_what_is_no_line_is_left_out)
{
    char text[4096] = "7:memory:relative\n8:../../etc:/x\n9:memory:/a/../b\nnonsense\n:\n";
    struct session_groups groups;
    size_t n = strlen(text);

    memset(text + n, 'x', 1500);
    memcpy(text + n, "4:pids:/", 8);
    session_groups_parse(text, &groups);
    assert_int_equal(groups.n, 0);
}

TEST(test_no_more_than_there_is_room_for)
{
    static const char line[] = "1:memory:/a\n";
    char text[4096] = "";
    struct session_groups groups;

    for (size_t i = 0; i < 3 * (size_t)SESSION_GROUPS_MAX; i++)
        memcpy(text + i * (sizeof line - 1), line, sizeof line);
    session_groups_parse(text, &groups);
    assert_int_equal(groups.n, SESSION_GROUPS_MAX);
}
