/* SPDX-License-Identifier: Apache-2.0 */
/* test_notice_means.c - whether this machine can send mails, and why not */
#include "scheduler/notices/notice_means.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/notices/notice_send.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "tests/unit/test.h"

static struct notice_ways ways_of(const char *mailer)
{
    struct notice_ways ways = { .webhooks = { .open = true } };

    (void)snprintf(ways.mailer, sizeof ways.mailer, "%s", mailer);
    return ways;
}

static void lacks(const char *mailer, const char *text, const char *remedy)
{
    struct notice_ways ways = ways_of(mailer);
    struct edl_error error = { 0 };

    assert_int_equal(notice_means(&ways, NOTICE_MAIL, &error), -ENOENT);
    if (strstr(error.text, text) == NULL || strstr(error.remedy, remedy) == NULL)
        fail_msg("%s: %s; %s", mailer, error.text, error.remedy);
}

TEST(test_a_mailer_that_is_not_there)
{
    lacks("none", "sends no mail", "mailer: /usr/sbin/sendmail");
    lacks("/no/such/program", "there is no program /no/such/program", "smtp://HOST");
    lacks("/etc/passwd", "there is no program", "smtp://HOST");
}

TEST(test_webhooks_that_nobody_may_have)
{
    struct notice_ways ways = { .mailer = "none" };
    struct edl_error error = { 0 };

    assert_int_equal(notice_means(&ways, NOTICE_WEBHOOK, &error), -ENOENT);
    assert_non_null(strstr(error.remedy, "webhook-allow"));
}

/* Where no program gets more rights, one that needs them is none; a child tries it, as the process
 * would stay so. */
TEST(test_a_mailer_that_needs_rights)
{
    char path[] = "/tmp/edl-mailer-XXXXXX";
    struct notice_ways ways;
    struct edl_error error = { 0 };
    int fd = mkstemp(path), status = 0;
    pid_t pid;

    assert_true(fd != -1);
    assert_int_equal(fchmod(fd, 0755), 0);
    (void)safe_close(fd);
    ways = ways_of(path);
    assert_int_equal(notice_means(&ways, NOTICE_MAIL, &error), 0);
    pid = fork();
    if (pid == 0) {
        bool good = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                    notice_means(&ways, NOTICE_MAIL, &error) == 0 && chmod(path, 02755) == 0 &&
                    notice_means(&ways, NOTICE_MAIL, &error) == -ENOENT &&
                    strstr(error.remedy, "smtp://localhost") != NULL;

        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)unlink(path);
    assert_int_equal(status, 0);
}
