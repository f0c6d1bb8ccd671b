/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_questions.c - host keys and passwords: asked once for all hosts, then for each that
 * refuses */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/deploy/deploy_internal.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define PASSWORD_TRIES 3 /* of one host, the common one included */

void deploy_set_wait(struct target *target, enum wait wait)
{
    target->wait = wait;
    deploy_show(target);
    deploy_consider_questions(target->run);
}

static bool may_still_ask(const struct target *target, enum wait about)
{
    if (target->wait == WAIT_PACKAGES)
        return about == WAIT_SUDO;
    if (target->ended || target->wait != WAIT_NOTHING)
        return false;
    return about == WAIT_SUDO ? target->core.step < DEPLOY_LOOK
                              : target->core.step == DEPLOY_CONNECT;
}

static size_t count(const struct run *run, enum wait wait, struct target **ret_first)
{
    size_t n = 0;

    for (size_t i = run->n; i-- > 0;)
        if (run->targets[i].wait == wait) {
            n++;
            *ret_first = &run->targets[i];
        }
    return n;
}

void deploy_wipe(char **password)
{
    if (*password != NULL)
        explicit_bzero(*password, strlen(*password));
    free(*password);
    *password = NULL;
}

static void set_password(struct target *target, const char *password)
{
    deploy_wipe(&target->password);
    if (password != NULL)
        target->password = xstrdup(password);
}

void deploy_keep_password(struct target *target, enum wait about)
{
    set_password(target, target->run->common[about]);
}

static void give_password(struct target *target, const char *password)
{
    enum wait wait = target->wait;

    target->wait = WAIT_NOTHING;
    target->tried++;
    set_password(target, password);
    deploy_show(target);
    if (wait == WAIT_LOGIN)
        ssh_session_password(target->session, target->password);
    else
        deploy_begin_step(target);
}

static void refuse_sudo(struct target *target)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EPERM, "sudo took no password for %s",
                        target->core.user[0] != '\0' ? target->core.user : "the account");
    (void)edl_error_remedy(&error,
                           "say it again with the right one (--password-file FILE), or root@%s in "
                           "HOSTS",
                           target->host->name);
    deploy_fail(target, &error);
}

static void give_up_password(struct target *target)
{
    enum wait wait = target->wait;

    target->wait = WAIT_NOTHING;
    if (wait == WAIT_LOGIN)
        ssh_session_password(target->session, NULL);
    else
        refuse_sudo(target);
}

/* An answer goes to the hosts that the question named, and to nobody else: another host might well
 * want to hear it. What was asked for many is also the first try at a host that comes to the same
 * question later. */
static void on_password(const char *answer, void *userdata)
{
    struct run *run = userdata;
    struct target *alone = run->asked;
    enum wait about = run->asked_for;
    const char *password = answer != NULL && answer[0] != '\0' ? answer : NULL;

    screen_return(run->screen);
    if (alone == NULL) {
        deploy_wipe(&run->common[about]);
        run->common[about] = password != NULL ? xstrdup(password) : NULL;
    }
    for (size_t i = 0; i < run->n; i++) {
        struct target *target = &run->targets[i];

        if (target->wait != about || (alone != NULL && target != alone))
            continue;
        if (password != NULL)
            give_password(target, password);
        else
            give_up_password(target);
    }
    deploy_consider_questions(run);
}

static void accept_keys(struct run *run, bool accepted)
{
    for (size_t i = 0; i < run->n; i++)
        if (run->targets[i].wait == WAIT_KEY) {
            run->targets[i].wait = WAIT_NOTHING;
            deploy_show(&run->targets[i]);
            ssh_session_accept_key(run->targets[i].session, accepted);
        }
}

static void on_keys(const char *answer, void *userdata)
{
    struct run *run = userdata;

    screen_return(run->screen);
    accept_keys(run, answer != NULL && (streq(answer, "yes") || streq(answer, "y")));
    deploy_consider_questions(run);
}

static void ask_for_keys(struct run *run, size_t n)
{
    if (run->options->accept_new_keys || run->ask == NULL) {
        accept_keys(run, run->options->accept_new_keys);
        return;
    }
    screen_leave(run->screen);
    (void)fprintf(stderr, "\n%zu host%s never seen from this account:\n", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < run->n; i++)
        if (run->targets[i].wait == WAIT_KEY)
            (void)fprintf(stderr, "  %-30s %s\n", run->targets[i].host->text, run->targets[i].key);
    ask_line(run->ask, "Are these their keys? (yes, no) ", false, on_keys, run);
}

/* One password for all that ask for the first time; after that each host is asked for alone. */
static void ask_for_password(struct run *run, enum wait about, size_t n, struct target *first)
{
    _cleanup_free_ char *question = NULL;
    const char *what = about == WAIT_SUDO ? "for sudo " : "";

    run->asked_for = about;
    run->asked = first->tried > 0 || n == 1 ? first : NULL;
    if (run->ask == NULL) {
        give_up_password(first);
        return;
    }
    if (run->asked != NULL)
        question = text_format("password %sat %s: ", what, first->host->text);
    else
        question = text_format("password %sat all %zu hosts: ", what, n);
    screen_leave(run->screen);
    ask_line(run->ask, question, true, on_password, run);
}

void deploy_consider_questions(struct run *run)
{
    for (enum wait about = WAIT_KEY; about <= WAIT_SUDO; about++) {
        struct target *first = NULL;
        size_t n = count(run, about, &first);

        if (ask_is_open(run->ask) || run->stopped)
            return;
        for (size_t i = 0; i < run->n && n > 0; i++)
            if (may_still_ask(&run->targets[i], about))
                return;
        if (n == 0)
            continue;
        if (about == WAIT_KEY)
            ask_for_keys(run, n);
        else
            ask_for_password(run, about, n, first);
        return;
    }
}

/* A password that somebody gave, or that an earlier question brought, goes first. */
void deploy_need_password(struct target *target, enum wait about)
{
    target->wait = about;
    if (target->run->common[about] != NULL && target->tried == 0) {
        give_password(target, target->run->common[about]);
        return;
    }
    if (target->tried >= PASSWORD_TRIES) {
        give_up_password(target);
        return;
    }
    deploy_set_wait(target, about);
}
