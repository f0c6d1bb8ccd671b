/* SPDX-License-Identifier: Apache-2.0 */
/* session_command.c - see session_command.h */
#include "agent/session/session_command.h"

#include <string.h>
#include <unistd.h>

#include "agent/session/session_request.h"
#include "agent/session/session_target.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define FALLBACK_SHELL "/bin/sh"

static char **copy_words(char *const *words)
{
    char **copy;
    size_t n = 0;

    while (words[n] != NULL)
        n++;
    copy = xcalloc(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(words[i]);
    return copy;
}

static bool is_of(const char *entry, const char *name)
{
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

/* with_own - the environment of the process, its number for debuggers, and the kind of terminal
 * that the person has */
static char **with_own(char *const *environment, pid_t program, const char *term)
{
    char **copy;
    size_t n = 0, at = 0;

    while (environment != NULL && environment[n] != NULL)
        n++;
    copy = xcalloc(n + 3, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        if (!is_of(environment[i], "EDL_PID") && (term == NULL || !is_of(environment[i], "TERM")))
            copy[at++] = xstrdup(environment[i]);
    copy[at++] = text_format("EDL_PID=%d", (int)program);
    if (term != NULL)
        copy[at] = text_format("TERM=%s", term);
    return copy;
}

/* shell_of - an account that is not to log in (nologin, false) has a job here all the same */
static const char *shell_of(const struct account *account)
{
    const char *shell = account->shell != NULL ? account->shell : "";
    const char *name = strrchr(shell, '/');

    if (name == NULL || streq(name, "/nologin") || streq(name, "/false") ||
        access(shell, X_OK) == -1)
        return FALLBACK_SHELL;
    return shell;
}

/* choose_shell - a "-" in front of its name: it logs in (sh(1)) */
static void choose_shell(const struct session_target *target, struct session_command *ret)
{
    const char *shell = shell_of(&target->account);

    ret->own = xstrdup(shell);
    ret->program = ret->own;
    ret->argv = xcalloc(2, sizeof *ret->argv);
    ret->argv[0] = text_format("-%s", strrchr(shell, '/') + 1);
}

static void choose_sshd(const struct session_config *config, struct session_command *ret)
{
    ret->own = text_format("%s/edl-session", config->program_dir);
    ret->program = ret->own;
    ret->argv = xcalloc(4, sizeof *ret->argv);
    ret->argv[0] = xstrdup(ret->own);
    ret->argv[1] = xstrdup("--sshd");
    ret->argv[2] = xstrdup(config->request.key);
}

void session_command_choose(const struct session_config *config,
                            const struct session_target *target, struct session_command *ret)
{
    const struct session_request *request = &config->request;

    *ret = (struct session_command){ 0 };
    ret->environment = with_own(target->environment, target->record.child_pid,
                                request->has_pty ? request->term : NULL);
    if (request->kind == SESSION_KIND_SSH) {
        choose_sshd(config, ret);
    } else if (request->words[0] == NULL) {
        choose_shell(target, ret);
    } else {
        ret->argv = copy_words(request->words);
        ret->program = ret->argv[0];
    }
}

static void free_list(char **list)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        free(list[i]);
    free(list);
}

void session_command_clear(struct session_command *command)
{
    free_list(command->argv);
    free_list(command->environment);
    free(command->own);
    *command = (struct session_command){ 0 };
}
