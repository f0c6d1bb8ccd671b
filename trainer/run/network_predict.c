/* SPDX-License-Identifier: Apache-2.0 */
/* network_predict.c - the outputs of samples as lines of text */
#include "trainer/run/network_predict.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "shared/error.h"
#include "trainer/learn/network_learner.h"

struct printer {
    FILE *file;
    char between; /* values of one output */
};

static void print_row(const struct printer *printer, const struct network_outputs *outputs,
                      size_t row)
{
    for (uint32_t i = 0; i < outputs->n; i++) {
        const float *values = outputs->values[i] + row * outputs->columns[i];

        if (i > 0)
            (void)fputc(';', printer->file);
        for (size_t k = 0; k < outputs->columns[i]; k++) {
            if (k > 0)
                (void)fputc(printer->between, printer->file);
            (void)fprintf(printer->file, "%.9g", (double)values[k]);
        }
    }
    (void)fputc('\n', printer->file);
}

static void print_rows(const struct network_outputs *outputs, size_t rows, void *userdata)
{
    for (size_t row = 0; row < rows; row++)
        print_row(userdata, outputs, row);
}

int network_predict_print(struct network_learner *learner, const struct sample_set *samples,
                          struct edl_error *error)
{
    struct printer printer = { stdout, ',' };

    return network_learner_outputs(learner, samples, print_rows, &printer, error);
}

int network_predict_write(struct network_learner *learner, const struct sample_set *samples,
                          const char *folder, struct edl_error *error)
{
    struct printer printer = { NULL, ' ' };
    char path[PATH_MAX];
    int r;

    if ((size_t)snprintf(path, sizeof path, "%s/rank-00000", folder) >= sizeof path)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", folder);
    if (mkdir(folder, 0777) == -1 && errno != EEXIST)
        return edl_error_errno(error, -errno, "cannot make --predict_output_dir %s", folder);
    printer.file = fopen(path, "we");
    if (printer.file == NULL)
        return edl_error_errno(error, -errno, "cannot write %s", path);
    r = network_learner_outputs(learner, samples, print_rows, &printer, error);
    if (fclose(printer.file) != 0 && r >= 0)
        r = edl_error_errno(error, -errno, "cannot write %s", path);
    return r;
}
