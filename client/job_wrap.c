/* SPDX-License-Identifier: Apache-2.0 */
/* job_wrap.c - see job_wrap.h */
#include "client/job_wrap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/shell_word.h"

/* What stands for a letter behind % in the name of a file, within double quotes of a shell. */
static const struct {
    char letter;
    const char *value;
} letters[] = {
    { 'j', "$EDL_JOB_ID" },
    { 'J', "$EDL_JOB_ID" },
    { 'x', "$EDL_JOB" },
    { 'A', "${EDL_ARRAY:-$EDL_JOB_ID}" },
    { 'a', "${EDL_ARRAY_INDEX:-0}" },
    { 't', "$EDL_INDEX" },
    { 'n', "$EDL_INDEX" },
    { 'N', "${EDL_NODE:-$(hostname)}" },
    { 'u', "$(id -un)" },
    { '%', "%" },
};

/* Each is set where the other one is. */
static const struct {
    const char *slurm, *ours;
} variables[] = {
    { "SLURM_JOB_ID", "EDL_JOB_ID" },
    { "SLURM_JOBID", "EDL_JOB_ID" },
    { "SLURM_JOB_NAME", "EDL_JOB" },
    { "SLURM_PROCID", "RANK" },
    { "SLURM_NTASKS", "WORLD_SIZE" },
    { "SLURM_NPROCS", "WORLD_SIZE" },
    { "SLURM_LOCALID", "LOCAL_RANK" },
    { "SLURM_NODEID", "NODE_RANK" },
    { "SLURMD_NODENAME", "EDL_NODE" },
    { "SLURM_ARRAY_JOB_ID", "EDL_ARRAY" },
    { "SLURM_ARRAY_TASK_ID", "EDL_ARRAY_INDEX" },
    { "SLURM_ARRAY_TASK_COUNT", "EDL_ARRAY_JOBS" },
};

static int add_pattern(FILE *out, const char *option, const char *pattern, struct edl_error *error)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        size_t i = 0;

        if (*at != '%') {
            if (strchr("\\\"$`", *at) != NULL)
                (void)fputc('\\', out);
            (void)fputc(*at, out);
            continue;
        }
        at++;
        while (i < ELEMENTS(letters) && letters[i].letter != *at)
            i++;
        if (i == ELEMENTS(letters)) {
            (void)edl_error_set(error, -EINVAL, "--%s: nothing stands for %%%.1s in \"%.80s\"",
                                option, at, pattern);
            return edl_error_remedy(error, "%%j, %%x, %%A, %%a, %%t, %%N or %%u");
        }
        (void)fputs(letters[i].value, out);
    }
    return 0;
}

static int add_file(FILE *out, const char *option, const char *pattern, const char *from, bool many,
                    struct edl_error *error)
{
    int r;

    (void)fputs("f=\"", out);
    r = add_pattern(out, option, pattern, error);
    (void)fprintf(out, "\"; mkdir -p -- \"$(dirname -- \"$f\")\" && exec %s%s\"$f\" || exit 73\n",
                  from, many ? ">>" : ">");
    return r;
}

static void add_variables(FILE *out, const struct job_wrap *wrap)
{
    _cleanup_free_ char *here = getcwd(NULL, 0);
    _cleanup_free_ char *quoted = shell_quote(here != NULL ? here : "/");

    for (size_t i = 0; i < ELEMENTS(variables); i++)
        (void)fprintf(out, "[ -z \"${%s-}\" ] || export %s=\"$%s\"\n", variables[i].ours,
                      variables[i].slurm, variables[i].ours);
    (void)fprintf(out, "export SLURM_SUBMIT_DIR=%s\n", quoted);
    if (wrap->cpus[0] != '\0')
        (void)fprintf(out, "export SLURM_CPUS_PER_TASK=%s\n", wrap->cpus);
}

static int add_text(FILE *out, const struct job_wrap *wrap, struct edl_error *error)
{
    int r = 0;

    if (wrap->slurm_env)
        add_variables(out, wrap);
    if (wrap->output != NULL)
        r = add_file(out, "output", wrap->output, "", wrap->many, error);
    if (r == 0 && wrap->error != NULL)
        r = add_file(out, "error", wrap->error, "2", wrap->many, error);
    else if (r == 0 && wrap->output != NULL)
        (void)fputs("exec 2>&1\n", out);
    (void)fputs("exec \"$@\"", out);
    return r;
}

int job_wrap_add(const struct job_wrap *wrap, json_t *command, struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    FILE *out;
    int r;

    if (wrap->output == NULL && wrap->error == NULL && !wrap->slurm_env)
        return 0;
    out = open_memstream(&text, &size);
    if (out == NULL)
        abort();
    r = add_text(out, wrap, error);
    (void)fclose(out);
    if (r < 0)
        return r;
    (void)json_array_append_new(command, json_string("/bin/sh"));
    (void)json_array_append_new(command, json_string("-c"));
    if (json_array_append_new(command, json_string(text)) == -1)
        return edl_error_set(error, -EINVAL, "--output: the name is not UTF-8");
    (void)json_array_append_new(command, json_string("edl"));
    return 0;
}
