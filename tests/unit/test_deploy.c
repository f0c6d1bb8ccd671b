/* SPDX-License-Identifier: Apache-2.0 */
/* test_deploy.c - the next step of `edl deploy` at a host, by the host's answers; and that a shell
 * takes its scripts */
#include "client/deploy/deploy_core.h"
#include "client/deploy/deploy_script.h"

#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/shell_word.h"
#include "tests/unit/test.h"

static struct deploy_package packages[] = {
    { .path = (char *)"/p/edl-agent_2_amd64.deb",
      .name = (char *)"edl-agent",
      .version = (char *)"2",
      .arch = (char *)"amd64",
      .sha256 = "aa" },
    { .path = (char *)"/p/edl-agent_2_arm64.deb",
      .name = (char *)"edl-agent",
      .version = (char *)"2",
      .arch = (char *)"arm64",
      .sha256 = "bb" },
    { .path = (char *)"/p/edl-client_2_amd64.deb",
      .name = (char *)"edl-client",
      .version = (char *)"2",
      .arch = (char *)"amd64",
      .sha256 = "cc" },
};

static bool n1_is_a_node(const char *name, void *userdata)
{
    (void)userdata;
    return streq(name, "n1");
}

static struct deploy_plan plan_of(enum deploy_mode mode)
{
    return (
        struct deploy_plan){ .mode = mode, .root_dir = "/home/paddle", .is_node = n1_is_a_node };
}

/* lines that a script printed, separated by '\n' */
static void say(struct deploy_host *host, const char *lines)
{
    _cleanup_free_ char *copy = xstrdup(lines);
    char *rest = copy, *line;

    while ((line = strsep(&rest, "\n")) != NULL)
        deploy_core_line(host, line);
}

static struct deploy_host host_at(enum deploy_step step)
{
    return (struct deploy_host){ .name = "n1", .user = "ann", .step = step };
}

#define DEBIAN                                                                                     \
    "edl:uid=0\nedl:hostname=n1\nedl:os=debian 12\nedl:like=debian "                               \
    "\nedl:arch=amd64\nedl:systemd=yes\n"
#define SET_UP "edl:installed=1\nedl:member=n1\nedl:active=yes\nedl:root_dir=yes\n"

TEST(test_each_step)
{
    static const struct {
        enum deploy_mode mode;
        const char *said; /* at the look */
        const char *way;  /* words of the steps that follow, each with success */
    } rows[] = {
        /* nothing is there */
        { DEPLOY_TO, "edl:candidate=2", "installing, joining, asking edl doctor, done, " },
        /* it cannot be fetched there */
        { DEPLOY_TO, "",
          "sending packages, sending packages, installing, joining, asking edl doctor, done, " },
        /* all is there */
        { DEPLOY_TO, SET_UP "edl:candidate=2", "asking edl doctor, done, " },
        /* but for the trainer, which can be had there */
        { DEPLOY_TO, SET_UP "edl:candidate=2\nedl:offers_trainer=yes",
          "installing, asking edl doctor, done, " },
        { DEPLOY_TO, SET_UP "edl:candidate=2\nedl:offers_trainer=yes\nedl:has_trainer=yes",
          "asking edl doctor, done, " },
        { DEPLOY_TO,
          SET_UP
          "edl:candidate=2\nedl:offers_trainer=yes\nedl:has_trainer=yes\nedl:offers_python=yes",
          "installing, asking edl doctor, done, " },
        { DEPLOY_UPGRADE, SET_UP "edl:candidate=1", "asking edl doctor, done, " },
        { DEPLOY_UPGRADE, SET_UP "edl:candidate=2\nedl:newer_there=yes",
          "installing, asking edl doctor, done, " },
        { DEPLOY_UPGRADE, SET_UP "edl:newer_here=yes",
          "sending packages, sending packages, installing, asking edl doctor, done, " },
        /* ROOT_DIR is not there, the agent does not run, it is no node, its interface has another
         * address */
        { DEPLOY_TO, "edl:installed=1\nedl:member=n1\nedl:active=yes",
          "joining, asking edl doctor, done, " },
        { DEPLOY_TO, "edl:installed=1\nedl:member=n1\nedl:root_dir=yes",
          "joining, asking edl doctor, done, " },
        { DEPLOY_TO, "edl:installed=1\nedl:member=n9\nedl:active=yes\nedl:root_dir=yes",
          "joining, asking edl doctor, done, " },
        { DEPLOY_TO, SET_UP "edl:address=10.0.0.1\nedl:address_now=10.0.0.2",
          "joining, asking edl doctor, done, " },
        { DEPLOY_TO, SET_UP "edl:address=10.0.0.1\nedl:address_now=10.0.0.1",
          "asking edl doctor, done, " },
        { DEPLOY_CHECK_ONLY, "edl:candidate=2", "done, " },
        { DEPLOY_CHECK_ONLY, "edl:installed=1", "asking edl doctor, done, " },
        { DEPLOY_REMOVAL, SET_UP, "removing, done, " },
        { DEPLOY_REMOVAL, "", "done, " },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct deploy_plan plan = plan_of(rows[i].mode);
        struct deploy_host host = host_at(DEPLOY_CONNECT);
        char way[256] = "";

        plan.packages = packages;
        plan.n_packages = ELEMENTS(packages);
        assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_PROBE);
        say(&host, DEBIAN);
        assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_LOOK);
        say(&host, rows[i].said);
        while (host.step != DEPLOY_DONE && host.step != DEPLOY_FAILED) {
            size_t n = strlen(way);

            (void)deploy_core_next(&plan, &host, 0);
            (void)snprintf(way + n, sizeof way - n, "%s, ", deploy_step_word(host.step));
        }
        if (!streq(way, rows[i].way))
            fail_msg("%zu, \"%s\": %s%s", i, rows[i].said, way, host.error.text);
        deploy_host_clear(&host);
    }
}

TEST(test_named_packages_go_first)
{
    struct deploy_plan plan = plan_of(DEPLOY_UPGRADE);
    struct deploy_host host = host_at(DEPLOY_LOOK);

    plan.packages = packages;
    plan.n_packages = ELEMENTS(packages);
    say(&host, DEBIAN SET_UP "edl:candidate=1\nedl:newer_here=yes");
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_DOCTOR);
    host.step = DEPLOY_LOOK;
    plan.prefer_packages = true;
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_UPLOAD);
    deploy_host_clear(&host);
}

TEST(test_changes_are_told)
{
    struct deploy_plan plan = plan_of(DEPLOY_TO);
    struct deploy_host host = host_at(DEPLOY_LOOK);
    char text[200];

    say(&host, DEBIAN SET_UP);
    (void)deploy_core_next(&plan, &host, 0);
    say(&host, "edl:problems=0\nedl:warnings=1\nedl:finding=warning  gpus: none");
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_DONE);
    assert_false(host.changed);
    assert_string_equal(host.findings, "warning  gpus: none\n");
    assert_string_equal(deploy_core_outcome(&plan, &host, text, sizeof text),
                        "node n1, nothing to do");
    deploy_host_clear(&host);
    host = host_at(DEPLOY_JOIN);
    say(&host, "edl:member=n1");
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_DOCTOR);
    say(&host, "edl:problems=2");
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_DONE); /* a verdict, no failure */
    assert_string_equal(deploy_core_outcome(&plan, &host, text, sizeof text),
                        "node n1, set up now");
    deploy_host_clear(&host);
}

/* The agent of a set-up host stays as it is when the trainer comes, and a trainer that could not
 * come is no change. */
TEST(test_programs_alone)
{
    struct deploy_plan plan = plan_of(DEPLOY_TO);

    for (int came = 0; came <= 1; came++) {
        struct deploy_host host = host_at(DEPLOY_LOOK);
        _cleanup_free_ char *script = NULL;

        say(&host, DEBIAN SET_UP "edl:candidate=2\nedl:offers_trainer=yes");
        assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_INSTALL);
        script = deploy_script(&plan, &host, NULL);
        assert_null(strstr(script, "set -- edl-agent"));
        assert_non_null(strstr(script, "edl-trainer python3-edl"));
        if (came)
            say(&host, "edl:has_trainer=yes");
        assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_DOCTOR);
        assert_int_equal(host.changed, came);
        deploy_host_clear(&host);
    }
}

TEST(test_failures_have_a_remedy)
{
    static const struct {
        enum deploy_step step;
        int status;
        const char *said, *text, *remedy;
    } rows[] = {
        { DEPLOY_PROBE, 0, "edl:uid=0\nedl:os=fedora 40\nedl:like=fedora", "it runs fedora 40",
          "out of HOSTS" },
        { DEPLOY_PROBE, 0, "edl:uid=0", "an unknown system", "out of HOSTS" },
        { DEPLOY_PROBE, 0, "edl:uid=0\nedl:os=debian 12\nedl:like=debian\nedl:arch=amd64",
          "systemd does not run it", "--foreground" },
        { DEPLOY_PROBE, 0,
          "edl:uid=1000\nedl:os=debian 12\nedl:like=debian\nedl:arch=amd64\nedl:systemd=yes",
          "ann is not root there, and there is no sudo", "root@n1" },
        { DEPLOY_PROBE, 1, "This account is currently not available.", "currently not available",
          "with a shell" },
        { DEPLOY_LOOK, 1, "sudo: ann is not in the sudoers file.  This incident has been reported.",
          "not in the sudoers", "root@n1" },
        { DEPLOY_LOOK, 0, "edl:arch=riscv64", "the package edl-agent for riscv64",
          "--packages DIR" },
        { DEPLOY_UPLOAD, 1, "cat: write error: No space left on device", "No space left",
          "make room on the disk of n1" },
        { DEPLOY_INSTALL, 100, "E: Could not get lock /var/lib/dpkg/lock-frontend",
          "Could not get lock", "wait for it" },
        { DEPLOY_INSTALL, 100, "E: dpkg was interrupted, you must manually run",
          "dpkg was interrupted", "dpkg --configure -a" },
        { DEPLOY_INSTALL, 100, "E: Something new\nE: and its last line",
          "installing: E: and its last line", "look at n1" },
        { DEPLOY_DOCTOR, 127, "edl:problems=0\nsh: 1: edl-doctor: not found",
          "edl-doctor: not found", "look at n1" },
        { DEPLOY_INSTALL, 7, "", "exit status 7", "look at n1" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct deploy_plan plan = plan_of(DEPLOY_TO);
        struct deploy_host host = host_at(rows[i].step);

        say(&host, rows[i].said);
        if (deploy_core_next(&plan, &host, rows[i].status) != DEPLOY_FAILED ||
            host.failed_in != rows[i].step || strstr(host.error.text, rows[i].text) == NULL ||
            strstr(host.error.remedy, rows[i].remedy) == NULL)
            fail_msg("%s: %s; %s", rows[i].said, host.error.text, host.error.remedy);
        deploy_host_clear(&host);
    }
}

TEST(test_a_repository_that_cannot_be_reached)
{
    struct deploy_plan plan = plan_of(DEPLOY_TO);
    struct deploy_host host = host_at(DEPLOY_INSTALL);

    plan.packages = packages;
    plan.n_packages = ELEMENTS(packages);
    say(&host, DEBIAN "edl:candidate=2\nE: Failed to fetch");
    assert_int_equal(deploy_core_next(&plan, &host, 100), DEPLOY_UPLOAD);
    assert_string_equal(deploy_core_package(&plan, &host)->name, "edl-agent");
    assert_string_equal(deploy_core_package(&plan, &host)->arch, "amd64");
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_UPLOAD);
    assert_string_equal(deploy_core_package(&plan, &host)->name, "edl-client");
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_INSTALL);
    say(&host, "E: unmet dependencies");
    assert_int_equal(deploy_core_next(&plan, &host, 100), DEPLOY_FAILED); /* not for ever */
    deploy_host_clear(&host);
}

TEST(test_a_host_of_others_is_left_alone)
{
    struct deploy_plan plan = plan_of(DEPLOY_REMOVAL);
    struct deploy_host host = host_at(DEPLOY_LOOK);

    say(&host, DEBIAN "edl:installed=1\nedl:member=n9\nedl:active=yes");
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_FAILED);
    assert_non_null(strstr(host.error.text, "another cluster"));
    deploy_host_clear(&host);
}

TEST(test_sudo)
{
    struct deploy_plan plan = plan_of(DEPLOY_TO);
    struct deploy_host host = host_at(DEPLOY_PROBE);

    say(&host, "edl:uid=1000\nedl:sudo=password\nedl:like=debian\nedl:arch=amd64\nedl:systemd=yes");
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_LOOK);
    assert_int_equal(host.sudo, DEPLOY_SUDO_PASSWORD);
    assert_true(deploy_script_needs_password(&host));
    say(&host, "sudo: 1 incorrect password attempt");
    assert_int_equal(deploy_core_next(&plan, &host, 1), DEPLOY_LOOK);
    assert_true(host.password_refused);
    say(&host, SET_UP);
    assert_int_equal(deploy_core_next(&plan, &host, 0), DEPLOY_DOCTOR);
    assert_false(host.password_refused);
    deploy_host_clear(&host);
}

/* What a host says is shown to a person, and may be anything. */
TEST(test_lines_are_cut_and_masked)
{
    struct deploy_host host = host_at(DEPLOY_INSTALL);
    struct deploy_plan plan = plan_of(DEPLOY_TO);
    char line[1000];

    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    memcpy(line, "edl:hostname=", 13);
    deploy_core_line(&host, line);
    assert_int_equal(strlen(host.facts.hostname), DEPLOY_WORD_MAX - 1);
    deploy_core_line(&host, "edl:os=\033[2Jx");
    assert_string_equal(host.facts.os, "?[2Jx");
    deploy_core_line(&host, "edl:os=caf\xc3\xa9 \xff");
    assert_string_equal(host.facts.os, "caf?? ?");
    deploy_core_line(&host, "edl:nonsense=1");
    deploy_core_line(&host, "edl:arch");
    assert_string_equal(host.facts.arch, "");
    for (int i = 0; i < 2000; i++) {
        deploy_core_line(&host, line + 13);
        deploy_core_line(&host, "edl:finding=problem many");
    }
    deploy_core_line(&host, "E: \033[31mred");
    (void)deploy_core_next(&plan, &host, 1);
    assert_non_null(strstr(host.error.text, "E: ?[31mred"));
    assert_true(strlen(host.findings) < 9000);
    deploy_host_clear(&host);
}

/* Runs a script with the options of sh; its output goes to out, where that is not NULL. Returns
 * the exit status, -1 after a signal. */
static int shell(const char *options, const char *script, FILE *out)
{
    const char *argv[] = { "sh", options, script, NULL };
    posix_spawn_file_actions_t files;
    pid_t pid;
    int status;

    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    if (out != NULL)
        assert_int_equal(posix_spawn_file_actions_adddup2(&files, fileno(out), STDOUT_FILENO), 0);
    assert_int_equal(posix_spawnp(&pid, "sh", &files, NULL, (char *const *)(uintptr_t)argv,
                                  environ),
                     0);
    assert_int_equal(posix_spawn_file_actions_destroy(&files), 0);
    while (waitpid(pid, &status, 0) == -1)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(test_scripts_are_such)
{
    static const char name[] = "it's $(touch /tmp/never) \\ \"a\" `b`";
    const struct deploy_join join = { .server = "https://n1:7010",
                                      .ca_pin = "sha256:aa",
                                      .token = "secret" };
    struct deploy_plan plan = plan_of(DEPLOY_TO);

    plan.packages = packages;
    plan.n_packages = ELEMENTS(packages);
    plan.root_dir = name;
    plan.nic = name;
    for (enum deploy_step step = DEPLOY_PROBE; step < DEPLOY_DONE; step++)
        for (enum deploy_sudo sudo = DEPLOY_SUDO_ROOT; sudo <= DEPLOY_SUDO_PASSWORD; sudo++) {
            struct deploy_host host = host_at(step);
            _cleanup_free_ char *script = NULL;

            host.sudo = sudo;
            say(&host, DEBIAN);
            (void)snprintf(host.facts.hostname, sizeof host.facts.hostname, "%s", name);
            (void)snprintf(host.facts.address, sizeof host.facts.address, "%s", name);
            script = deploy_script(&plan, &host, &join);
            if (shell("-nc", script, NULL) != 0)
                fail_msg("%s: %s", deploy_step_word(step), script);
            assert_null(strstr(script, "secret")); /* seen in ps by everybody there */
            deploy_host_clear(&host);
        }
}

TEST(test_the_probe_runs)
{
    struct deploy_plan plan = plan_of(DEPLOY_TO);
    struct deploy_host host = host_at(DEPLOY_PROBE);
    _cleanup_free_ char *script = deploy_script(&plan, &host, NULL);
    char line[512], uid[32];
    _cleanup_fclose_ FILE *out = tmpfile();

    assert_non_null(out);
    assert_int_equal(shell("-c", script, out), 0);
    rewind(out);
    while (fgets(line, sizeof line, out) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        deploy_core_line(&host, line);
    }
    (void)snprintf(uid, sizeof uid, "%u", (unsigned int)getuid());
    assert_string_equal(host.facts.uid, uid);
    assert_string_not_equal(host.facts.hostname, "");
    assert_string_not_equal(host.facts.os, "");
    deploy_host_clear(&host);
}

TEST(test_words_are_quoted)
{
    static const char *const words[] = { "", "a", "'", "''", "a'b", "$x `y` \\ \"z\" *", "-n\n" };

    for (size_t i = 0; i < ELEMENTS(words); i++) {
        _cleanup_free_ char *quoted = shell_quote(words[i]), *script = NULL;

        assert_int_equal(setenv("EXPECTED", words[i], 1), 0);
        assert_true(asprintf(&script, "[ %s = \"$EXPECTED\" ]", quoted) > 0);
        assert_int_equal(shell("-c", script, NULL), 0);
    }
}

/* In lines that people copy, plain words stand as they are. */
TEST(test_what_a_shell_reads_as_it_stands_has_no_quotes)
{
    static const char *const rows[][2] = {
        { "ann", "ann" },
        { "alice@corp.example.com", "alice@corp.example.com" },
        { "Bob.Smith", "Bob.Smith" },
        { "DOM\\alice", "'DOM\\alice'" },
        { "a b", "'a b'" },
        { "_svc$", "'_svc$'" },
        { "it's", "'it'\\''s'" },
        { "", "''" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_free_ char *word = shell_word(rows[i][0]);

        assert_string_equal(word, rows[i][1]);
    }
}
