/* SPDX-License-Identifier: Apache-2.0 */
/* session_verb.c - see session_verb.h */
#include "client/session_verb.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include "client/report.h"
#include "client/server.h"
#include "client/session_name.h"
#include "client/verb.h"
#include "shared/error.h"
#include "shared/macro.h"

int session_verb_refuse(const char *remedy, const char *format, ...)
{
    struct edl_error error = { 0 };
    char text[200];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    (void)edl_error_set(&error, -EINVAL, "%s", text);
    (void)edl_error_remedy(&error, "%s", remedy);
    return report_error(&error);
}

int session_verb_check(const struct invocation *invocation)
{
    if (!invocation->common->json)
        return STATUS_OK;
    return session_verb_refuse("leave --json out",
                               "edl %s passes bytes on, and prints nothing of its own as JSON",
                               invocation->verb->name);
}

int session_verb_begin(const struct invocation *invocation, const char *word,
                       struct server *ret_server, struct session_name *ret_name)
{
    struct edl_error error = { 0 };
    int status = session_verb_check(invocation);

    if (status != STATUS_OK)
        return status;
    if (session_name_read(word, ret_name, &error) < 0)
        return report_error(&error);
    status = server_open(invocation->common, ret_server);
    if (status != STATUS_OK)
        session_name_clear(ret_name);
    return status;
}

int session_verb_signals(sd_event *event, sd_event_signal_handler_t on_signal, void *userdata)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGQUIT };
    sigset_t set;
    int r = 0;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < ELEMENTS(numbers); i++)
        (void)sigaddset(&set, numbers[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < ELEMENTS(numbers) && r >= 0; i++)
        r = sd_event_add_signal(event, NULL, numbers[i], on_signal, userdata);
    return r;
}
