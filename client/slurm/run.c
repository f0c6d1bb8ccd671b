/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - calls of the command edl, which does what is asked for; see slurm.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/program_beside.h"
#include "client/slurm/slurm.h"
#include "client/word_list.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define EDL_PACKAGE "edl-client"

int slurm_edl_become(const struct word_list *words)
{
    _cleanup_free_ const char **argv = xcalloc(words->n + 2, sizeof *argv);
    struct edl_error error = { 0 };

    argv[0] = "edl";
    for (size_t i = 0; i < words->n; i++)
        argv[i + 1] = words->words[i];
    (void)program_become(argv, EDL_PACKAGE, &error);
    return slurm_fail("edl-slurm", &error);
}

/* start - out: where its output goes; -1: where ours does */
static pid_t start(const struct word_list *words, int out)
{
    pid_t pid;

    (void)fflush(NULL);
    pid = fork();
    if (pid != 0)
        return pid;
    if (out != -1 && dup2(out, STDOUT_FILENO) == -1)
        _exit(1);
    _exit(slurm_edl_become(words));
}

static int await(pid_t pid)
{
    int status = 0;

    if (pid == -1)
        return 1;
    while (waitpid(pid, &status, 0) == -1)
        if (errno != EINTR)
            return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int slurm_edl(const struct word_list *words, bool is_quiet)
{
    _cleanup_close_ int null = is_quiet ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

    return await(start(words, null));
}

int slurm_edl_json(const struct word_list *words, void (*take)(const json_t *value, void *userdata),
                   void *userdata)
{
    int ends[2];
    FILE *in;
    pid_t pid;
    json_t *value;

    if (pipe2(ends, O_CLOEXEC) == -1)
        return 1;
    pid = start(words, ends[1]);
    (void)safe_close(ends[1]);
    in = fdopen(ends[0], "re");
    if (in == NULL) {
        (void)safe_close(ends[0]);
        return 1;
    }
    while ((value = json_loadf(in, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        take(value, userdata);
        json_decref(value);
    }
    (void)fclose(in);
    return await(pid);
}
