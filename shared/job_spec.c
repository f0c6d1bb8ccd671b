/* SPDX-License-Identifier: Apache-2.0 */
/* job_spec.c - a job as the scheduler understands it: names and life time */
#include "shared/job_spec.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/macro.h"

static const char *const mode_names[] = {
    [JOB_MODE_PSERVER] = "pserver",
    [JOB_MODE_COLLECTIVE] = "collective",
    [JOB_MODE_MPI] = "mpi",
    [JOB_MODE_SERVICE] = "service",
};

struct job_spec *job_spec_free(struct job_spec *spec)
{
    if (spec == NULL)
        return NULL;
    for (size_t i = 0; i < spec->n_roles; i++) {
        for (char **arg = spec->roles[i].argv; arg != NULL && *arg != NULL; arg++)
            free(*arg);
        free(spec->roles[i].argv);
        free(spec->roles[i].workspace);
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        free(spec->env[i].name);
        free(spec->env[i].value);
    }
    free(spec->env);
    free(spec->dataset);
    free(spec);
    return NULL;
}

static char **copy_argv(char *const *argv)
{
    size_t n = 0;
    char **copy;

    if (argv == NULL)
        return NULL;
    while (argv[n] != NULL)
        n++;
    copy = xcalloc(n + 1, sizeof *copy);
    for (size_t i = 0; i < n; i++)
        copy[i] = xstrdup(argv[i]);
    return copy;
}

struct job_spec *job_spec_copy(const struct job_spec *spec)
{
    struct job_spec *copy = xcalloc(1, sizeof *copy);

    *copy = *spec;
    copy->dataset = spec->dataset != NULL ? xstrdup(spec->dataset) : NULL;
    copy->env = spec->n_env > 0 ? xcalloc(spec->n_env, sizeof *copy->env) : NULL;
    for (size_t i = 0; i < spec->n_env; i++)
        copy->env[i] = (struct env_pair){ .name = xstrdup(spec->env[i].name),
                                          .value = xstrdup(spec->env[i].value) };
    for (size_t i = 0; i < spec->n_roles; i++) {
        const struct role_spec *role = &spec->roles[i];

        copy->roles[i].argv = copy_argv(role->argv);
        copy->roles[i].workspace = role->workspace != NULL ? xstrdup(role->workspace) : NULL;
    }
    return copy;
}

int job_spec_role(const struct job_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_roles; i++)
        if (streq(spec->roles[i].name, name))
            return (int)i;
    return -ENOENT;
}

const char *job_mode_to_string(enum job_mode mode)
{
    return mode_names[mode];
}

int job_mode_from_string(const char *text)
{
    for (size_t i = 0; i < ELEMENTS(mode_names); i++)
        if (streq(mode_names[i], text))
            return (int)i;
    return -EINVAL;
}
