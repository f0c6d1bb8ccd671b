/* SPDX-License-Identifier: Apache-2.0 */
/* model_table.c - see model_table.h */
#include "trainer/model/model_table.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/parse.h"
#include "trainer/model/model_file.h"
#include "trainer/model/model_survey.h"

#define PATH_BYTES 4096
#define COLUMNS_MAX (1u << 20)
#define WORDS_BYTES_MAX (256 * 1024 * 1024) /* of word_dict */
#define LINE_BYTES 4096                     /* of a line in it */

static const char *name_of(const json_t *param)
{
    return json_string_value(json_object_get(param, "name"));
}

static size_t values_of(const json_t *param)
{
    return (size_t)json_integer_value(json_object_get(param, "values"));
}

static size_t extent_of(const json_t *param, size_t dimension)
{
    return (size_t)json_integer_value(json_array_get(json_object_get(param, "shape"), dimension));
}

/* largest_embedding - NULL: no parameter is called one */
static const json_t *largest_embedding(const json_t *params)
{
    const json_t *found = NULL, *param;
    size_t i;

    json_array_foreach(params, i, param)
    {
        if (strstr(name_of(param), "embedding") != NULL &&
            (found == NULL || extent_of(param, 0) > extent_of(found, 0)))
            found = param;
    }
    return found;
}

/* is_about - whether a problem, which begins with "FOLDER/NAME: ", is of that name */
static bool is_about(const char *problem, const char *folder, const char *name)
{
    const size_t folder_size = strlen(folder), size = strlen(name);

    return strlen(problem) > folder_size + 1 + size &&
           strncmp(problem + folder_size + 1, name, size) == 0 &&
           problem[folder_size + 1 + size] == ':';
}

/* damage - of that parameter, as the survey tells it; NULL: none */
static const char *damage(const json_t *report, const char *folder, const char *name)
{
    const json_t *text;
    size_t i;

    json_array_foreach(json_object_get(report, "problems"), i, text)
    {
        if (name != NULL && is_about(json_string_value(text), folder, name))
            return json_string_value(text);
    }
    return NULL;
}

static int no_such(const json_t *report, const char *name, const char *folder,
                   struct edl_error *error)
{
    const json_t *params = json_object_get(report, "parameters");
    size_t n = json_array_size(params);
    _cleanup_free_ const char **names = xcalloc(n, sizeof *names);
    const char *near, *damaged = damage(report, folder, name);

    if (damaged != NULL)
        return edl_error_set(error, EDL_ECORRUPT, "%s", damaged);
    if (name == NULL) {
        (void)edl_error_set(error, -EINVAL, "no parameter in %s is called an embedding", folder);
        return edl_error_remedy(error, "name one: --parameter NAME; edl model show %s lists them",
                                folder);
    }
    for (size_t i = 0; i < n; i++)
        names[i] = name_of(json_array_get(params, i));
    near = nearest_word(name, names, n);
    (void)edl_error_set(error, -EINVAL, "there is no parameter %.80s in %s", name, folder);
    return near != NULL ? edl_error_remedy(error, "did you mean %s?", near)
                        : edl_error_remedy(error, "edl model show %s lists them", folder);
}

static const json_t *find(const json_t *params, const char *name)
{
    const json_t *param;
    size_t i;

    if (name == NULL)
        return largest_embedding(params);
    json_array_foreach(params, i, param) if (streq(name_of(param), name)) return param;
    return NULL;
}

/* take_shape - of the network, or as many columns as the caller says */
static int take_shape(const json_t *param, uint64_t columns, struct model_table *table,
                      struct edl_error *error)
{
    size_t values = values_of(param);

    table->columns = columns > 0 ? (size_t)columns : extent_of(param, 1);
    if (table->columns == 0) {
        (void)edl_error_set(error, -EINVAL, "the shape of %s is not known", table->name);
        return edl_error_remedy(error,
                                "say how long a row is: --columns N, or the arguments of its "
                                "network: --config_args NAME=NUMBER");
    }
    if (table->columns > COLUMNS_MAX || values % table->columns != 0)
        return edl_error_set(error, -EINVAL, "--columns is %zu, and %s has %zu value%s",
                             table->columns, table->name, values, PLURAL(values));
    table->rows = values / table->columns;
    return 0;
}

/* A line is a word, a blank and its row; what is none, or is of no row here, is passed over. */
static void take_line(struct model_table *table, char *line)
{
    char *blank = strrchr(line, ' ');
    uint64_t row;

    line[strcspn(line, "\n")] = '\0';
    if (blank == NULL || parse_u64(blank + 1, &row) < 0 || row >= table->rows ||
        table->words[row] != NULL)
        return;
    *blank = '\0';
    table->words[row] = xstrdup(line);
}

/* open_words - *ret stays NULL where there is no such file */
static int open_words(const char *folder, FILE **ret, struct edl_error *error)
{
    char path[PATH_BYTES];
    _cleanup_close_ int fd = -1;
    struct stat status;

    if ((size_t)snprintf(path, sizeof path, "%s/word_dict", folder) >= sizeof path)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", folder);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 && errno != ELOOP)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    if (fd < 0 || fstat(fd, &status) == -1 || !S_ISREG(status.st_mode))
        return edl_error_set(error, EDL_ECORRUPT, "%s is not a file; a saved model has files only",
                             path);
    if (status.st_size > WORDS_BYTES_MAX)
        return edl_error_set(error, EDL_ECORRUPT, "%s has %lld bytes; %d are possible", path,
                             (long long)status.st_size, WORDS_BYTES_MAX);
    *ret = fdopen(fd, "r");
    if (*ret == NULL)
        return edl_error_errno(error, -errno, "cannot open %s", path);
    (void)TAKE_FD(fd);
    return 0;
}

static int read_words(struct model_table *table, const char *folder, struct edl_error *error)
{
    _cleanup_fclose_ FILE *file = NULL;
    char line[LINE_BYTES];
    bool begins = true; /* a line, else what is left of one that is too long */
    int r = open_words(folder, &file, error);

    if (r < 0 || file == NULL)
        return r;
    table->words = xcalloc(table->rows, sizeof *table->words);
    while (fgets(line, sizeof line, file) != NULL) {
        const bool ends = strchr(line, '\n') != NULL || feof(file);

        if (begins && ends)
            take_line(table, line);
        begins = ends;
    }
    return 0;
}

static int load(struct model_table *table, const char *folder, struct edl_error *error)
{
    char path[PATH_BYTES];

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, table->name) >= sizeof path)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", folder);
    table->values = xreallocarray(NULL, table->rows, table->columns * sizeof *table->values);
    return model_file_read(path, table->values, table->rows * table->columns, error);
}

int model_table_open(const char *folder, const char *arguments, const char *name, uint64_t columns,
                     struct model_table *ret, struct edl_error *error)
{
    struct model_table table = { 0 };
    const json_t *params, *param;
    json_t *report = NULL;
    int r = model_survey(folder, arguments, &report, error);

    if (r < 0)
        return r;
    params = json_object_get(report, "parameters");
    param = find(params, name);
    if (param == NULL) {
        r = no_such(report, name, folder, error);
    } else {
        table.name = xstrdup(name_of(param));
        r = take_shape(param, columns, &table, error);
    }
    json_decref(report);
    if (r >= 0)
        r = load(&table, folder, error);
    if (r >= 0)
        r = read_words(&table, folder, error);
    if (r < 0) {
        model_table_done(&table);
        return r;
    }
    *ret = table;
    return 0;
}

void model_table_done(struct model_table *table)
{
    for (size_t i = 0; table->words != NULL && i < table->rows; i++)
        free(table->words[i]);
    free(table->words);
    free(table->values);
    free(table->name);
    *table = (struct model_table){ 0 };
}

int model_table_row(const struct model_table *table, const char *word, size_t *ret,
                    struct edl_error *error)
{
    const char *near = NULL;
    uint64_t row;

    for (size_t i = 0; table->words != NULL && i < table->rows; i++)
        if (table->words[i] != NULL && streq(table->words[i], word)) {
            *ret = i;
            return 0;
        }
    if (parse_u64(word, &row) == 0 && row < table->rows) {
        *ret = (size_t)row;
        return 0;
    }
    if (table->words != NULL)
        near = nearest_word(word, (const char *const *)table->words, table->rows);
    (void)edl_error_set(error, -EINVAL, "\"%.60s\" is no word of %s, and no row below %zu", word,
                        table->name, table->rows);
    return near != NULL ? edl_error_remedy(error, "did you mean \"%s\"?", near) : error->code;
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* keep - the list stays sorted, at most n long */
static size_t keep(struct model_neighbour *list, size_t used, size_t n, struct model_neighbour one)
{
    size_t at = used;

    while (at > 0 && list[at - 1].cosine < one.cosine)
        at--;
    if (at == n)
        return used;
    if (used < n)
        used++;
    memmove(list + at + 1, list + at, (used - at - 1) * sizeof *list);
    list[at] = one;
    return used;
}

size_t model_table_nearest(const struct model_table *table, size_t row, size_t n,
                           struct model_neighbour *ret)
{
    const size_t columns = table->columns;
    const float *of = table->values + row * columns;
    const double length = sqrt(dot(of, of, columns));
    size_t used = 0;

    for (size_t i = 0; n > 0 && i < table->rows; i++) {
        const float *other = table->values + i * columns;
        double lengths = length * sqrt(dot(other, other, columns));

        if (i != row)
            used =
                keep(ret, used, n,
                     (struct model_neighbour){
                         .row = i, .cosine = lengths > 0 ? dot(of, other, columns) / lengths : 0 });
    }
    return used;
}

static void print_word(const char *word, FILE *out)
{
    const bool quoted = strpbrk(word, ",\"\r\n") != NULL;

    if (quoted)
        (void)fputc('"', out);
    for (; *word != '\0'; word++) {
        if (*word == '"')
            (void)fputc('"', out);
        (void)fputc(*word, out);
    }
    if (quoted)
        (void)fputc('"', out);
    (void)fputc(',', out);
}

int model_table_csv(const struct model_table *table, FILE *out)
{
    for (size_t i = 0; i < table->rows; i++) {
        if (table->words != NULL)
            print_word(table->words[i] != NULL ? table->words[i] : "", out);
        for (size_t j = 0; j < table->columns; j++)
            (void)fprintf(out, "%s%.9g", j > 0 ? "," : "",
                          (double)table->values[i * table->columns + j]);
        (void)fputc('\n', out);
    }
    return fflush(out) == 0 ? 0 : -errno;
}
