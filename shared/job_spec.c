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
