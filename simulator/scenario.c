/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c - scenarios from files, and their end */
#include "simulator/scenario.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/document_bounds.h"
#include "shared/error.h"
#include "simulator/scenario_file.h"

const struct document_bounds scenario_file_bounds = { .bytes = SCENARIO_FILE_MAX_BYTES,
                                                      .values = SCENARIO_FILE_MAX_BYTES,
                                                      .text_bytes = SCENARIO_FILE_MAX_BYTES };

/* As a scenario may name many files, one byte more than allowed is read to tell. */
int scenario_read_file(const char *path, char **ret, size_t *ret_size, struct edl_error *error)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    _cleanup_free_ char *text = xcalloc(1, SCENARIO_FILE_MAX_BYTES + 2);
    size_t size = 0;

    if (fd == -1)
        return edl_error_set(error, -EINVAL, "%s cannot be opened: %s", path, strerror(errno));
    while (size <= SCENARIO_FILE_MAX_BYTES) {
        ssize_t n = read(fd, text + size, SCENARIO_FILE_MAX_BYTES + 1 - size);

        if (n == -1 && errno == EINTR)
            continue;
        if (n == -1)
            return edl_error_set(error, -EINVAL, "%s cannot be read: %s", path, strerror(errno));
        if (n == 0)
            break;
        size += (size_t)n;
    }
    if (size > SCENARIO_FILE_MAX_BYTES)
        return edl_error_set(error, -E2BIG, "%s is larger than %d bytes", path,
                             SCENARIO_FILE_MAX_BYTES);
    *ret = TAKE_PTR(text);
    *ret_size = size;
    return 0;
}

int scenario_load(const char *path, struct scenario **ret, struct edl_error *error)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *folder =
        slash == NULL ? xstrdup(".") : strndup(path, MAX_OF((size_t)(slash - path), 1));
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    int r;

    if (folder == NULL)
        abort();
    r = scenario_read_file(path, &text, &size, error);
    if (r < 0)
        return r;
    r = scenario_parse(text, size, folder, ret, error);
    if (r < 0)
        edl_error_prefix(error, "%s: ", path);
    return r;
}

struct scenario *scenario_free(struct scenario *scenario)
{
    if (scenario == NULL)
        return NULL;
    for (size_t i = 0; i < scenario->n_jobs; i++)
        (void)job_spec_free(scenario->jobs[i].spec);
    for (size_t i = 0; i < scenario->n_services; i++)
        free(scenario->services[i].steps);
    free(scenario->groups);
    free(scenario->jobs);
    free(scenario->foreign);
    free(scenario->services);
    free(scenario);
    return NULL;
}
