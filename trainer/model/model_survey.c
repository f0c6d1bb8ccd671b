/* SPDX-License-Identifier: Apache-2.0 */
/* model_survey.c - what a saved model holds: its parameters, their shapes and norms, and its
 * faults */
#include "trainer/model/model_survey.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "trainer/files/file_write.h"
#include "trainer/model/model_file.h"
#include "trainer/network/network.h"
#include "trainer/model/network_files.h"
#include "trainer/model/network_python.h"
#include "trainer/model/optimizer_state.h"

#define BLOCK_FLOATS 16384

struct survey {
    const char *folder;
    int fd;
    char network_name[NAME_MAX + 1]; /* "": none lies there */
    struct network *network;         /* NULL: none, or it cannot be read */
    bool done;
    uint64_t values, bytes;
    json_t *parameters, *notes, *problems;
};

struct figures {
    double squares, sum, largest;
};

static void tell(const struct survey *s, json_t *list, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "FOLDER/NAME: what", any byte that is not plain ASCII as '?'. */
static void tell(const struct survey *s, json_t *list, const char *name, const char *format, ...)
{
    char text[PATH_MAX + 512];
    int used = snprintf(text, sizeof text, "%s/%s: ", s->folder, name);
    va_list arguments;

    used = MIN_OF(used, (int)sizeof text - 1);
    va_start(arguments, format);
    (void)vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    for (char *c = text; *c != '\0'; c++)
        if (!isprint((unsigned char)*c))
            *c = '?';
    (void)json_array_append_new(list, json_string(text));
}

/* ---- one parameter ---- */

static bool header_holds(const struct survey *s, const char *name,
                         const struct param_header *header, uint64_t file_bytes)
{
    const uint64_t bytes = file_bytes - sizeof *header;

    if (header->version != 0 || header->value_bytes != sizeof(float))
        tell(s, s->problems, name,
             "no parameter begins so: version %" PRId32 ", %" PRIu32 " bytes a value; 0 and 4 are "
             "right",
             header->version, header->value_bytes);
    else if (bytes % sizeof(float) != 0 || header->count != bytes / sizeof(float))
        tell(s, s->problems, name,
             "its header counts %" PRIu64 " value%s, but %" PRIu64 " bytes follow", header->count,
             PLURAL(header->count), bytes);
    else
        return true;
    return false;
}

/* Returns false at the first value that is not finite, with its number in *ret_at. */
static bool add_block(struct figures *figures, const float *values, size_t n, size_t *ret_at)
{
    for (size_t i = 0; i < n; i++) {
        const double value = values[i];

        *ret_at = i;
        if (!isfinite(value))
            return false;
        figures->sum += value;
        figures->squares += value * value;
        figures->largest = fmax(figures->largest, fabs(value));
    }
    return true;
}

static bool read_values(const struct survey *s, int fd, const char *name, uint64_t count,
                        struct figures *ret)
{
    float block[BLOCK_FLOATS];

    for (uint64_t at = 0; at < count;) {
        const size_t n = (size_t)MIN_OF(count - at, (uint64_t)BLOCK_FLOATS);
        size_t bad = 0;
        int r = file_read_all(fd, block, n * sizeof *block);

        if (r < 0) {
            tell(s, s->problems, name, "cannot be read: %s", strerror(-r));
            return false;
        }
        if (!add_block(ret, block, n, &bad)) {
            tell(s, s->problems, name, "value %" PRIu64 " is %f", at + bad, (double)block[bad]);
            return false;
        }
        at += n;
    }
    return true;
}

/* The open file of a parameter, or -1 and a problem told. */
static int open_param(const struct survey *s, const char *name, struct stat *status)
{
    int fd = openat(s->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 || fstat(fd, status) < 0)
        tell(s, s->problems, name, "cannot be opened: %s", strerror(errno));
    else if (!S_ISREG(status->st_mode))
        tell(s, s->problems, name, "is not a file; a saved model has files only");
    else if ((size_t)status->st_size < sizeof(struct param_header))
        tell(s, s->problems, name, "has %lld bytes; its header alone has %zu",
             (long long)status->st_size, sizeof(struct param_header));
    else
        return fd;
    if (fd >= 0)
        (void)safe_close(fd);
    return -1;
}

static void survey_param(struct survey *s, const char *name)
{
    struct stat status;
    _cleanup_close_ int fd = open_param(s, name, &status);
    struct figures figures = { 0 };
    struct param_header header;
    json_t *param;
    int r;

    if (fd < 0)
        return;
    r = file_read_all(fd, &header, sizeof header);
    if (r < 0) {
        tell(s, s->problems, name, "cannot be read: %s", strerror(-r));
        return;
    }
    if (!header_holds(s, name, &header, (uint64_t)status.st_size))
        return;
    s->values += header.count;
    s->bytes += (uint64_t)status.st_size;
    param = json_pack("{s:s, s:n, s:I, s:I, s:n, s:n, s:n}", "name", name, "shape", "values",
                      (json_int_t)header.count, "bytes", (json_int_t)status.st_size, "l2",
                      "largest", "mean");
    if (read_values(s, fd, name, header.count, &figures)) {
        const double n = header.count > 0 ? (double)header.count : 1;

        (void)json_object_set_new(param, "l2", json_real(sqrt(figures.squares)));
        (void)json_object_set_new(param, "largest", json_real(figures.largest));
        (void)json_object_set_new(param, "mean", json_real(figures.sum / n));
    }
    (void)json_array_append_new(s->parameters, param);
}

/* ---- the network beside them ---- */

static bool names_network(const char *name)
{
    const size_t size = strlen(name);

    return size > 5 && size <= NAME_MAX && strchr(name, '/') == NULL &&
           (streq(name + size - 5, ".json") || network_python_wants(name));
}

/* What path.txt names. An older model has none. */
static void find_network(struct survey *s)
{
    struct edl_error error = { 0 };
    char path[PATH_MAX];
    char *text = NULL;

    if (faccessat(s->fd, "path.txt", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    (void)snprintf(path, sizeof path, "%s/path.txt", s->folder);
    if (whole_file_read(path, false, &text, &error) < 0) {
        tell(s, s->problems, "path.txt", "%s", error.text);
        return;
    }
    text[strcspn(text, "\n")] = '\0';
    if (names_network(text))
        (void)snprintf(s->network_name, sizeof s->network_name, "%s", text);
    else
        tell(s, s->problems, "path.txt", "names \"%.60s\", not a network NAME.json beside it",
             text);
    free(text);
}

static int read_network(struct survey *s, const char *arguments, struct edl_error *error)
{
    struct edl_error why = { 0 };
    struct network_file file = { 0 };
    char path[PATH_MAX];
    int r;

    if (s->network_name[0] == '\0')
        return 0;
    if (network_python_wants(s->network_name)) { /* a model never runs what lies in it */
        tell(s, s->notes, s->network_name, "is not run for this, so no shapes are shown");
        return 0;
    }
    if ((size_t)snprintf(path, sizeof path, "%s/%s", s->folder, s->network_name) >= sizeof path)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", s->folder);
    r = network_file_open(path, &file, &why);
    if (r >= 0)
        r = network_file_parse(&file, arguments, NULL, 0, &s->network, &why);
    network_file_close(&file);
    if (r >= 0)
        return 0;
    if (arguments != NULL) {
        (void)edl_error_set(error, -EINVAL, "%s", why.text);
        return why.remedy[0] != '\0' ? edl_error_remedy(error, "%s", why.remedy) : -EINVAL;
    }
    tell(s, s->problems, s->network_name, "%s", why.text);
    return 0;
}

static json_t *param_of(const struct survey *s, const char *name)
{
    json_t *param;
    size_t i;

    json_array_foreach(s->parameters, i, param)
    {
        if (streq(json_string_value(json_object_get(param, "name")), name))
            return param;
    }
    return NULL;
}

static uint64_t values_of(const struct param_spec *spec)
{
    return (uint64_t)spec->rows * spec->columns;
}

static bool fits(const json_t *param, const struct param_spec *spec)
{
    return (uint64_t)json_integer_value(json_object_get(param, "values")) == values_of(spec);
}

/* The first parameter of another size than the network says; NULL: all that lie there fit. */
static const struct param_spec *misfit(const struct survey *s)
{
    for (uint32_t p = 0; p < s->network->n_params; p++) {
        const struct param_spec *spec = &s->network->params[p].spec;
        const json_t *param = param_of(s, spec->name);

        if (param != NULL && !fits(param, spec))
            return spec;
    }
    return NULL;
}

static void set_shape(struct survey *s, const struct param_spec *spec, const char *arguments)
{
    json_t *param = param_of(s, spec->name);

    if (param != NULL && fits(param, spec))
        (void)json_object_set_new(param, "shape", json_pack("[i, i]", spec->rows, spec->columns));
    else if (param != NULL)
        tell(s, s->problems, spec->name,
             "has %" JSON_INTEGER_FORMAT " values, but the network says %u x %u%s",
             json_integer_value(json_object_get(param, "values")), spec->rows, spec->columns,
             arguments == NULL
                 ? ""
                 : " with these --config_args; name sizes that followed the data too");
    else if (faccessat(s->fd, spec->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        tell(s, s->problems, spec->name, "is missing%s",
             arguments == NULL ? ", or was trained with other --config_args" : "");
}

/* Sizes that follow arguments or data are not told by the folder: with the network's own numbers
 * a healthy model may not fit. Then counts alone are known. */
static void set_shapes(struct survey *s, const char *arguments)
{
    const struct param_spec *other = arguments == NULL ? misfit(s) : NULL;

    if (other != NULL) {
        tell(s, s->notes, s->network_name,
             "%s would be %u x %u with the network's own arguments, so no shapes are shown; say "
             "those of its training: --config_args=NAME=NUMBER,...",
             other->name, other->rows, other->columns);
        return;
    }
    for (uint32_t p = 0; p < s->network->n_params; p++)
        set_shape(s, &s->network->params[p].spec, arguments);
}

/* ---- the folder ---- */

static void survey_entry(struct survey *s, const char *name)
{
    bool is_name = strlen(name) < PARAM_NAME_SIZE;

    if (streq(name, ".") || streq(name, "..") || streq(name, "word_dict") ||
        streq(name, "path.txt") || streq(name, OPTIMIZER_STATE_NAME) ||
        streq(name, s->network_name))
        return;
    if (s->network_name[0] == '\0' && names_network(name)) /* path.txt does not tell of it */
        return;
    if (streq(name, "done")) {
        s->done = true;
        return;
    }
    for (const char *c = name; *c != '\0'; c++)
        is_name = is_name && isgraph((unsigned char)*c);
    if (is_name)
        survey_param(s, name);
    else
        tell(s, s->problems, name, "no parameter has such a name");
}

static int survey_folder(struct survey *s, struct edl_error *error)
{
    struct dirent **entries = NULL;
    int n = scandirat(s->fd, ".", &entries, NULL, alphasort);

    if (n < 0)
        return edl_error_errno(error, -errno, "cannot read %s", s->folder);
    find_network(s);
    for (int i = 0; i < n; i++) {
        survey_entry(s, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (json_array_size(s->parameters) == 0 && !s->done) {
        (void)edl_error_set(error, -ENODATA, "%s holds no saved model", s->folder);
        return edl_error_remedy(error, "name a pass, DIR/pass-00000, or the folder model");
    }
    if (!s->done)
        tell(s, s->problems, "done", "is missing: the model was not written to its end");
    return 0;
}

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

int model_survey(const char *folder, const char *arguments, json_t **ret, struct edl_error *error)
{
    _cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct survey s = { .folder = folder, .fd = fd };
    int r;

    if (fd < 0) {
        r = edl_error_errno(error, -errno, "cannot open %s", folder);
        return edl_error_remedy(error, "name the folder of a saved pass: DIR/pass-00000"), r;
    }
    s.parameters = json_array();
    s.notes = json_array();
    s.problems = json_array();
    r = survey_folder(&s, error);
    if (r >= 0)
        r = read_network(&s, arguments, error);
    if (r >= 0 && s.network != NULL)
        set_shapes(&s, arguments);
    if (r >= 0)
        *ret = json_pack("{s:s, s:o, s:O, s:I, s:I, s:O, s:O}", "folder", folder, "network",
                         text_or_null(s.network_name), "parameters", s.parameters, "values",
                         (json_int_t)s.values, "bytes", (json_int_t)s.bytes, "notes", s.notes,
                         "problems", s.problems);
    if (r >= 0 && *ret == NULL)
        r = edl_error_set(error, -EILSEQ, "the folder's name, or the network's, is not UTF-8");
    (void)network_free(s.network);
    json_decref(s.parameters);
    json_decref(s.notes);
    json_decref(s.problems);
    return r;
}
