/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_folder.c - what becomes of the folder in which a command was submitted */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/job_folder.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_a_folder_is_sent_where_others_lack_it)
{
    static const struct {
        struct folder_facts facts;
        enum folder_use use;
    } cases[] = {
        /* this machine is the only node */
        { { .own = true }, FOLDER_THERE },
        { { .own = true, .home = true }, FOLDER_THERE },
        /* a laptop and a cluster */
        { { .elsewhere = true, .own = true }, FOLDER_SENT },
        { { .elsewhere = true, .own = true, .home = true }, FOLDER_PRIVATE },
        /* homes on a network file system */
        { { .elsewhere = true, .own = true, .shared = true }, FOLDER_THERE },
        { { .elsewhere = true, .own = true, .home = true, .shared = true }, FOLDER_THERE },
        /* /, /home, /tmp */
        { { .elsewhere = true, .system = true, .own = true }, FOLDER_THERE },
        { { .elsewhere = true }, FOLDER_THERE },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++)
        if (job_folder_use(&cases[i].facts) != cases[i].use)
            fail_msg("case %zu: %d", i, job_folder_use(&cases[i].facts));
}

TEST(test_what_this_machine_exports_others_have)
{
    static const char text[] = "/srv/data\t10.0.0.0/24(ro,sync)\n"
                               "/home\t*(rw,sync,root_squash)\n"
                               "/lab\\040work\tn1(rw)\n"
                               "\n";
    static const struct {
        const char *folder;
        bool exported;
    } cases[] = {
        { "/home", true },          { "/home/ann/project", true },
        { "/homes/ann", false },    { "/srv", false },
        { "/srv/data/x", true },    { "/lab work/x", true },
        { "/lab\\040work", false }, { "/", false },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        _cleanup_fclose_ FILE *etab = fmemopen((void *)text, strlen(text), "r");

        if (job_folder_exported(etab, cases[i].folder) != cases[i].exported)
            fail_msg("%s", cases[i].folder);
    }
}

TEST(test_folders_of_the_system_are_not_sent)
{
    static const char *const systems[] = { "/", "/etc", "/etc/edl", "/var/lib", "/usr/local/src" };
    static const char *const others[] = { "/etcetera", "/root/project", "/home/ann/etc",
                                          "/tmp/x",    "/srv",          "/opt/lab" };

    for (size_t i = 0; i < ELEMENTS(systems); i++)
        assert_true(job_folder_is_system(systems[i]));
    for (size_t i = 0; i < ELEMENTS(others); i++)
        assert_false(job_folder_is_system(others[i]));
}

TEST(test_addresses_of_this_machine)
{
    char name[65] = "";

    assert_int_equal(gethostname(name, sizeof name - 1), 0);
    assert_true(job_folder_is_here("127.0.0.1"));
    assert_true(job_folder_is_here("127.9.9.9"));
    assert_true(job_folder_is_here("::1"));
    assert_true(job_folder_is_here(name));
    assert_false(job_folder_is_here("192.0.2.1"));
    assert_false(job_folder_is_here("n1.example.org"));
    assert_false(job_folder_is_here(""));
}
