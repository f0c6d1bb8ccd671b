/* SPDX-License-Identifier: Apache-2.0 */
/* notice_means.c - see notice_means.h */
#include "scheduler/notices/notice_means.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/notices/notice_send.h"
#include "shared/error.h"
#include "shared/macro.h"

static int need_curl(const char *what, struct edl_error *error)
{
    if (access(NOTICE_CURL, X_OK) == 0)
        return 0;
    (void)edl_error_set(error, -ENOENT, "%s cannot be called: there is no " NOTICE_CURL, what);
    return edl_error_remedy(error, "apt install curl, on the scheduler's machine");
}

/* may_rise - a mailer that has the rights of another account gets them: the packaged unit gives no
 * program more rights than the scheduler has */
static bool may_rise(const char *program)
{
    struct stat st;

    return stat(program, &st) == -1 || (st.st_mode & (S_ISUID | S_ISGID)) == 0 ||
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

int notice_means(const struct notice_ways *ways, enum notice_channel channel,
                 struct edl_error *error)
{
    const char *mailer = ways->mailer;

    if (channel == NOTICE_WEBHOOK && webhook_rules_none(&ways->webhooks)) {
        (void)edl_error_set(error, -ENOENT, "this cluster calls no webhooks");
        return edl_error_remedy(error, "webhook-allow: public, in scheduler.conf");
    }
    if (channel == NOTICE_WEBHOOK)
        return need_curl("webhooks", error);
    if (streq(mailer, "none")) {
        (void)edl_error_set(error, -ENOENT, "this cluster sends no mail");
        return edl_error_remedy(error, "mailer: /usr/sbin/sendmail, in scheduler.conf");
    }
    if (mailer[0] != '/')
        return need_curl(mailer, error);
    if (access(mailer, X_OK) == -1) {
        (void)edl_error_set(error, -ENOENT, "no mail can be sent: there is no program %.150s",
                            mailer);
        return edl_error_remedy(error, "install one (msmtp-mta, postfix), or name a server: "
                                       "mailer: smtp://HOST, in scheduler.conf");
    }
    if (!may_rise(mailer)) {
        (void)edl_error_set(error, -ENOENT,
                            "no mail can be sent: %.150s needs rights that the unit of the "
                            "scheduler does not give",
                            mailer);
        return edl_error_remedy(error, "mailer: smtp://localhost, in scheduler.conf");
    }
    return 0;
}
