/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - comma separated values with a line of column names (RFC 4180) */
#include "simulator/trace/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"

struct reader {
    struct csv *csv;
    char *at, *end;
    uint64_t line;
    char *row[CSV_MAX_COLUMNS];
    size_t n, cap;
    struct edl_error *error;
};

struct csv *csv_free(struct csv *csv)
{
    if (csv == NULL)
        return NULL;
    free(csv->name);
    free(csv->text);
    free(csv->cells);
    free(csv->columns);
    free(csv->lines);
    free(csv);
    return NULL;
}

/* end_cell - what stood behind the cell is overwritten by its end; true: the row goes on */
static bool end_cell(struct reader *reader, char *end_of_cell)
{
    char *p = reader->at;
    bool more = p < reader->end && *p == ',';

    if (p < reader->end && *p == '\r' && p + 1 < reader->end && p[1] == '\n')
        p++;
    if (p < reader->end && *p == '\n')
        reader->line++;
    reader->at = p < reader->end ? p + 1 : p;
    *end_of_cell = '\0';
    return more;
}

static bool ends_cell(const struct reader *reader, const char *p)
{
    return p == reader->end || *p == ',' || *p == '\n' ||
           (*p == '\r' && p + 1 < reader->end && p[1] == '\n');
}

/* quoted - from behind the first quote to behind the last one; two quotes stand for one */
static int quoted(struct reader *reader, char **ret_end)
{
    uint64_t line = reader->line;
    char *in = reader->at + 1, *out = reader->at + 1;

    for (;; in++) {
        if (in == reader->end)
            break;
        if (*in == '"' && (in + 1 == reader->end || in[1] != '"'))
            break;
        if (*in == '\n')
            reader->line++;
        if (*in == '"')
            in++;
        *out++ = *in;
    }
    if (in == reader->end || !ends_cell(reader, in + 1)) {
        (void)edl_error_set(reader->error, -EINVAL, "%s line %" PRIu64 ": a quote is not closed",
                            reader->csv->name, line);
        return edl_error_remedy(reader->error, "close it, or double a quote that is meant");
    }
    reader->at = in + 1;
    *ret_end = out;
    return 0;
}

/* read_row - cells into reader->row; *ret_n = 0 for an empty line */
static int read_row(struct reader *reader, size_t *ret_n)
{
    size_t n = 0;
    bool more = true;

    while (more) {
        char *begin = reader->at, *end = begin;

        if (n == CSV_MAX_COLUMNS)
            return edl_error_set(reader->error, -EINVAL, "%s line %" PRIu64 ": more than %d cells",
                                 reader->csv->name, reader->line, CSV_MAX_COLUMNS);
        if (begin < reader->end && *begin == '"') {
            int r = quoted(reader, &end);

            if (r < 0)
                return r;
            begin++;
        } else {
            while (!ends_cell(reader, reader->at))
                reader->at++;
            end = reader->at;
        }
        reader->row[n++] = begin;
        more = end_cell(reader, end);
    }
    *ret_n = n == 1 && reader->row[0][0] == '\0' ? 0 : n;
    return 0;
}

/* take_columns - each name once: of two nobody could say which one is meant */
static int take_columns(struct reader *reader, size_t n, uint64_t line)
{
    struct csv *csv = reader->csv;

    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            if (!streq(reader->row[i], reader->row[j]))
                continue;
            (void)edl_error_set(reader->error, -EINVAL,
                                "%s line %" PRIu64 ": columns %zu and %zu are both called "
                                "\"%.60s\"",
                                csv->name, line, j + 1, i + 1, reader->row[i]);
            return edl_error_remedy(reader->error, "rename one of them, or leave it out");
        }
    csv->n_columns = n;
    csv->columns = xcalloc(n, sizeof(*csv->columns));
    memcpy(csv->columns, reader->row, n * sizeof(*reader->row));
    return 0;
}

static int take_row(struct reader *reader, size_t n, uint64_t line)
{
    struct csv *csv = reader->csv;

    if (csv->n_columns == 0)
        return take_columns(reader, n, line);
    if (n != csv->n_columns) {
        (void)edl_error_set(reader->error, -EINVAL,
                            "%s line %" PRIu64 ": %zu cells, but %zu columns have a name",
                            csv->name, line, n, csv->n_columns);
        return edl_error_remedy(reader->error, "as many cells as line 1 has");
    }
    if (csv->n_rows == reader->cap) {
        reader->cap = reader->cap ? 2 * reader->cap : 256;
        csv->cells = xreallocarray(csv->cells, reader->cap * n, sizeof(*csv->cells));
        csv->lines = xreallocarray(csv->lines, reader->cap, sizeof(*csv->lines));
    }
    memcpy(&csv->cells[csv->n_rows * n], reader->row, n * sizeof(*reader->row));
    csv->lines[csv->n_rows++] = line;
    return 0;
}

static int read_rows(struct reader *reader)
{
    while (reader->at < reader->end) {
        uint64_t line = reader->line;
        size_t n = 0;
        int r = read_row(reader, &n);

        if (r == 0 && n > 0)
            r = take_row(reader, n, line);
        if (r < 0)
            return r;
    }
    if (reader->csv->n_columns > 0)
        return 0;
    (void)edl_error_set(reader->error, -EINVAL, "%s is empty", reader->csv->name);
    return edl_error_remedy(reader->error, "line 1 names the columns: edl-trace(5)");
}

int csv_parse(const char *name, char *text, size_t n, struct csv **ret, struct edl_error *error)
{
    struct csv *csv = xcalloc(1, sizeof(*csv));
    struct reader reader = { .csv = csv, .at = text, .end = text + n, .line = 1, .error = error };
    int r;

    csv->name = xstrdup(name);
    csv->text = text;
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        reader.at += 3; /* the mark that some spreadsheets put in front */
    if (memchr(text, '\0', n) != NULL)
        r = edl_error_set(error, -EINVAL, "%s is no text: it has a NUL", name);
    else
        r = read_rows(&reader);
    if (r < 0) {
        (void)csv_free(csv);
        return r;
    }
    *ret = csv;
    return 0;
}

int csv_read(const char *path, struct csv **ret, struct edl_error *error)
{
    _cleanup_fclose_ FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t n = 0, cap = 0;

    if (file == NULL)
        return edl_error_errno(error, -errno, "%s", path);
    do {
        if (n == cap) {
            cap = cap ? 2 * cap : 1 << 16;
            text = xreallocarray(text, cap + 1, 1);
        }
        n += fread(text + n, 1, cap - n, file);
    } while (n == cap && n <= CSV_MAX_BYTES);
    if (ferror(file) || n > CSV_MAX_BYTES) {
        int r = ferror(file) ? -EIO : -E2BIG;

        free(text);
        return edl_error_errno(error, r, "%s", path);
    }
    text[n] = '\0';
    return csv_parse(path, text, n, ret, error);
}

size_t csv_find(const struct csv *csv, const char *column)
{
    for (size_t i = 0; i < csv->n_columns; i++)
        if (streq(csv->columns[i], column))
            return i;
    return CSV_NO_COLUMN;
}

int csv_column(const struct csv *csv, const char *column, size_t *ret, struct edl_error *error)
{
    char names[160] = "";

    *ret = csv_find(csv, column);
    if (*ret != CSV_NO_COLUMN)
        return 0;
    for (size_t i = 0; i < csv->n_columns; i++) {
        size_t used = strlen(names);

        (void)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", csv->columns[i]);
    }
    (void)edl_error_set(error, -EINVAL, "%s line 1: no column is called \"%s\"", csv->name, column);
    return edl_error_remedy(error, "add it; there are: %s", names);
}

const char *csv_cell(const struct csv *csv, size_t row, size_t column)
{
    return csv->cells[row * csv->n_columns + column];
}

int csv_refuse(const struct csv *csv, size_t row, size_t column, const char *what,
               const char *remedy, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "%s line %" PRIu64 ", column \"%s\": \"%.60s\" %s",
                        csv->name, csv->lines[row], csv->columns[column],
                        csv_cell(csv, row, column), what);
    return edl_error_remedy(error, "%s", remedy);
}

int csv_refuse_no_rows(const struct csv *csv, const char *remedy, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "%s has no line below the names of its columns", csv->name);
    return edl_error_remedy(error, "%s", remedy);
}

static int by_values(const void *a, const void *b)
{
    const struct csv_key *x = a, *y = b;

    for (size_t i = 0; i < ELEMENTS(x->values); i++)
        if (x->values[i] != y->values[i])
            return x->values[i] < y->values[i] ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

int csv_refuse_repeated(const struct csv *csv, struct csv_key *keys, size_t column,
                        const char *same, const char *remedy, struct edl_error *error)
{
    const struct csv_key *first = NULL;
    size_t again = csv->n_rows;
    char what[160];

    if (csv->n_rows > 0)
        qsort(keys, csv->n_rows, sizeof(*keys), by_values);
    for (size_t i = 1; i < csv->n_rows; i++)
        if (memcmp(keys[i].values, keys[i - 1].values, sizeof(keys[i].values)) == 0 &&
            keys[i].row < again) {
            first = &keys[i - 1];
            again = keys[i].row;
        }
    if (first == NULL)
        return 0;
    (void)snprintf(what, sizeof(what), "repeats line %" PRIu64 ": the same %s",
                   csv->lines[first->row], same);
    return csv_refuse(csv, again, column, what, remedy, error);
}

int csv_number(const struct csv *csv, size_t row, size_t column, double min, double max,
               double *ret, struct edl_error *error)
{
    const char *cell = csv_cell(csv, row, column);
    char remedy[80], *end;
    double value = strtod(cell, &end);

    (void)snprintf(remedy, sizeof(remedy), "a number from %g to %g", min, max);
    if (end == cell || *end != '\0' || !isfinite(value))
        return csv_refuse(csv, row, column, "is no number", remedy, error);
    if (value < min || value > max)
        return csv_refuse(csv, row, column, "is out of range", remedy, error);
    *ret = value;
    return 0;
}

int csv_count(const struct csv *csv, size_t row, size_t column, uint64_t min, uint64_t max,
              uint64_t *ret, struct edl_error *error)
{
    char remedy[80];
    uint64_t value;

    (void)snprintf(remedy, sizeof(remedy), "a whole number from %" PRIu64 " to %" PRIu64, min, max);
    if (parse_u64(csv_cell(csv, row, column), &value) < 0)
        return csv_refuse(csv, row, column, "is no whole number", remedy, error);
    if (value < min || value > max)
        return csv_refuse(csv, row, column, "is out of range", remedy, error);
    *ret = value;
    return 0;
}
