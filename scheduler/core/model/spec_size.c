/* SPDX-License-Identifier: Apache-2.0 */
/* spec_size.c - the bounds of one submission, for every user */
#include "scheduler/core/model/spec_size.h"

#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"
#include "shared/job_spec.h"
#include "shared/macro.h"

bool spec_makes_array(const struct job_spec *spec)
{
    return spec->array.n > 0 && spec->array.name == NULL;
}

/* The kernel refuses more than 2 MiB for all arguments and variables of a program anyway. */
static int check_env(const struct job_spec *spec, struct edl_error *error)
{
    uint64_t bytes = job_spec_env_bytes(spec);

    if (bytes <= JOB_ENV_BYTES_MAX)
        return 0;
    (void)edl_error_at(error, EDL_EBADSPEC, "/spec/env",
                       "the variables have %llu bytes in all, %d are allowed",
                       (unsigned long long)bytes, JOB_ENV_BYTES_MAX);
    return edl_error_remedy(error, "put what is long into a file of the workspace");
}

/* Each job of an array is a copy of the document, and keeps account of each instance that it may
 * have. All of them are made and stored in one turn, and nobody else is answered meanwhile. */
static int check_array_size(const struct job_spec *spec, struct edl_error *error)
{
    uint64_t bytes = job_spec_bytes(spec);
    uint64_t instances = job_spec_instances(spec);

    if (!spec_makes_array(spec))
        return 0;
    if (bytes * spec->array.n > JOB_ARRAY_BYTES_MAX) {
        (void)edl_error_at(error, EDL_EBADSPEC, "/spec/array",
                           "%u job%s of some %llu bytes each take more than an array may have (%d "
                           "bytes)",
                           spec->array.n, PLURAL(spec->array.n), (unsigned long long)bytes,
                           JOB_ARRAY_BYTES_MAX);
        return edl_error_remedy(error,
                                "put what is long in env, command or entrypoint into a file "
                                "of the workspace, or submit at most %llu jobs at once",
                                (unsigned long long)MAX_OF(JOB_ARRAY_BYTES_MAX / bytes, 1));
    }
    if (instances * spec->array.n > JOB_ARRAY_INSTANCES_MAX) {
        (void)edl_error_at(error, EDL_EBADSPEC, "/spec/array",
                           "%u job%s of up to %llu instances each have more than an array may have "
                           "(at most %d instances)",
                           spec->array.n, PLURAL(spec->array.n), (unsigned long long)instances,
                           JOB_ARRAY_INSTANCES_MAX);
        return edl_error_remedy(error,
                                "lower the instances of its roles, or submit at most %llu jobs at "
                                "once",
                                (unsigned long long)MAX_OF(JOB_ARRAY_INSTANCES_MAX / instances, 1));
    }
    return 0;
}

int spec_check_size(const struct job_spec *spec, struct edl_error *error)
{
    int r = check_env(spec, error);

    return r < 0 ? r : check_array_size(spec, error);
}
