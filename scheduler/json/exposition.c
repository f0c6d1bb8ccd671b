/* SPDX-License-Identifier: Apache-2.0 */
/* exposition.c - writes the Prometheus text exposition format */
#include "scheduler/json/exposition.h"

#include <inttypes.h>
#include <stdbool.h>

#include "scheduler/core/base/histogram.h"
#include "shared/macro.h"

static const char *const types[] = {
    [EXPOSE_GAUGE] = "gauge",
    [EXPOSE_COUNTER] = "counter",
    [EXPOSE_HISTOGRAM] = "histogram",
};

static void write_escaped(FILE *out, const char *text, bool quoted)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            (void)fputs("\\n", out);
        else if (*text == '\\' || (quoted && *text == '"'))
            (void)fprintf(out, "\\%c", *text);
        else
            (void)fputc(*text, out);
    }
}

void exposition_family(FILE *out, const char *name, enum exposition_type type, const char *help)
{
    (void)fprintf(out, "# HELP %s ", name);
    write_escaped(out, help, false);
    (void)fprintf(out, "\n# TYPE %s %s\n", name, types[type]);
}

/* 1500000 with 6 digits is 1.5 */
static void write_scaled(FILE *out, uint64_t value, unsigned digits)
{
    uint64_t unit = 1;

    for (unsigned i = 0; i < digits; i++)
        unit *= 10;
    (void)fprintf(out, "%" PRIu64, value / unit);
    if (value % unit == 0)
        return;
    (void)fputc('.', out);
    for (uint64_t rest = value % unit; rest != 0; rest = rest % unit) {
        unit /= 10;
        (void)fputc((int)('0' + rest / unit), out);
    }
}

void exposition_sample(FILE *out, const char *name, const struct exposition_label *labels,
                       size_t n_labels, uint64_t value, unsigned digits)
{
    (void)fputs(name, out);
    for (size_t i = 0; i < n_labels; i++) {
        (void)fprintf(out, "%c%s=\"", i == 0 ? '{' : ',', labels[i].name);
        write_escaped(out, labels[i].value, true);
        (void)fputc('"', out);
    }
    (void)fputs(n_labels > 0 ? "} " : " ", out);
    write_scaled(out, value, digits);
    (void)fputc('\n', out);
}

static void write_bucket(FILE *out, const char *name, const struct exposition_label *label,
                         const uint64_t *bound_us, uint64_t n)
{
    (void)fprintf(out, "%s_bucket{", name);
    if (label != NULL) {
        (void)fprintf(out, "%s=\"", label->name);
        write_escaped(out, label->value, true);
        (void)fputs("\",", out);
    }
    (void)fputs("le=\"", out);
    if (bound_us != NULL)
        write_scaled(out, *bound_us, SCALE_MICRO);
    else
        (void)fputs("+Inf", out);
    (void)fprintf(out, "\"} %" PRIu64 "\n", n);
}

void exposition_histogram(FILE *out, const char *name, const struct exposition_label *label,
                          const struct histogram *histogram)
{
    size_t n_labels = label != NULL ? 1 : 0;
    uint64_t n = 0;
    char part[80];

    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
        n += histogram->counts[i];
        write_bucket(out, name, label, &histogram->bounds_us[i], n);
    }
    n += histogram->counts[HISTOGRAM_BOUNDS];
    write_bucket(out, name, label, NULL, n);
    (void)snprintf(part, sizeof part, "%s_sum", name);
    exposition_sample(out, part, label, n_labels, histogram->sum_us, SCALE_MICRO);
    (void)snprintf(part, sizeof part, "%s_count", name);
    exposition_sample(out, part, label, n_labels, n, SCALE_ONE);
}
