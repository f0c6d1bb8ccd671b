/* SPDX-License-Identifier: Apache-2.0 */
/* network_read.c - the parameters of a network out of a saved pass */
#include "trainer/model/network_read.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/model/model_file.h"
#include "trainer/model/model_tar.h"
#include "trainer/network/network.h"

static void is_missing(const struct network_read *read, const char *what, float *ret, size_t n)
{
    log_info("%s is missing: %s", what, read->missing);
    if (streq(read->missing, "zero"))
        memset(ret, 0, n * sizeof *ret);
}

/* read_param - of one without a file the start values are there already; returns whether it has one
 */
static int read_param(const struct network_read *read, const char *path, float *ret, size_t n,
                      struct edl_error *error)
{
    int r;

    if (access(path, F_OK) == -1 && errno == ENOENT && !streq(read->missing, "fail")) {
        is_missing(read, path, ret, n);
        return 0;
    }
    r = model_file_read(path, ret, n, error);
    if (r == -ENOENT)
        (void)edl_error_remedy(error, "load_missing_parameter_strategy=rand or zero goes on "
                                      "without it");
    return r < 0 ? r : 1;
}

/* A folder that is mistyped is not one whose parameters are all missing. */
static int not_a_pass(const char *path, const char *why, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "--init_model_path=%s: %s", path, why);
    return edl_error_remedy(error, "name a saved pass: --init_model_path=DIR/pass-00000");
}

static bool is_read(const struct network_read *read, uint32_t param)
{
    return !read->shared_only || !read->network->params[param].is_static;
}

static int read_folder(const struct network_read *read, float *const *values, uint32_t *ret_found,
                       struct edl_error *error)
{
    *ret_found = 0;
    for (uint32_t p = 0; p < read->network->n_params; p++) {
        const struct param_spec *spec = &read->network->params[p].spec;
        char path[PATH_MAX];
        int r;

        if (!is_read(read, p))
            continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", read->path, spec->name) >= sizeof path)
            return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", read->path);
        r = read_param(read, path, values[p], (size_t)spec->rows * spec->columns, error);
        if (r < 0)
            return r;
        *ret_found += r > 0;
    }
    return 0;
}

static int no_member(const struct network_read *read, const char *name, struct edl_error *error)
{
    (void)edl_error_set(error, -ENOENT, "%s has no parameter %s", read->path, name);
    return edl_error_remedy(error, "load_missing_parameter_strategy=rand or zero goes on without "
                                   "it");
}

static int read_tar(const struct network_read *read, float *const *values, uint32_t *ret_found,
                    struct edl_error *error)
{
    const uint32_t n = read->network->n_params;
    _cleanup_free_ const struct param_spec **specs = xcalloc(n, sizeof(void *));
    _cleanup_free_ float **into = xcalloc(n, sizeof *into);
    _cleanup_free_ bool *found = xcalloc(n, sizeof *found);
    int r;

    *ret_found = 0;
    for (uint32_t p = 0; p < n; p++) {
        specs[p] = &read->network->params[p].spec;
        into[p] = is_read(read, p) ? values[p] : NULL;
    }
    r = model_tar_read(read->path, specs, into, n, found, error);
    for (uint32_t p = 0; r >= 0 && p < n; p++) {
        *ret_found += found[p];
        if (into[p] == NULL || found[p])
            continue;
        if (streq(read->missing, "fail"))
            return no_member(read, specs[p]->name, error);
        is_missing(read, specs[p]->name, values[p], (size_t)specs[p]->rows * specs[p]->columns);
    }
    return r;
}

int network_read(const struct network_read *read, float *const *values, struct edl_error *error)
{
    uint32_t found = 0;
    struct stat status;
    int r;

    if (stat(read->path, &status) == -1)
        return not_a_pass(read->path, strerror(errno), error);
    r = S_ISREG(status.st_mode) ? read_tar(read, values, &found, error)
                                : read_folder(read, values, &found, error);
    if (r >= 0 && found == 0 && read->network->n_params > 0)
        return not_a_pass(read->path, "no parameter of this network is there", error);
    return MIN_OF(r, 0);
}
