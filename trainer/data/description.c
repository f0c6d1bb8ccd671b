/* SPDX-License-Identifier: Apache-2.0 */
/* description.c - the file of a data set that says what its records hold */
#include "trainer/data/description.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "trainer/data/sample.h"
#include "trainer/data/text_file.h"

static int load(const char *text, size_t size, const char *file, json_t **ret,
                struct edl_error *error)
{
    json_error_t at;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &at);

    if (json == NULL)
        return edl_error_set(error, EDL_ECORRUPT, "%s line %d: %s", file, at.line, at.text);
    if (!json_is_object(json)) {
        json_decref(json);
        return edl_error_set(error, EDL_ECORRUPT, "%s is not a JSON object", file);
    }
    *ret = json;
    return 0;
}

static int parse_name(const json_t *json, const char *file, size_t i, struct input_spec *ret,
                      struct edl_error *error)
{
    const char *name = json_string_value(json_object_get(json, "name"));

    if (name == NULL || strlen(name) < 1 || strlen(name) >= sizeof ret->name)
        return edl_error_set(error, EDL_ECORRUPT,
                             "%s: /inputs/%zu/name is not a text of 1 to %zu characters", file, i,
                             sizeof ret->name - 1);
    memcpy(ret->name, name, strlen(name) + 1);
    return 0;
}

static int parse_input(const json_t *json, const char *file, size_t i, struct input_spec *ret,
                       struct edl_error *error)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const json_t *size = json_object_get(json, "size");
    struct input_spec input = { 0 };
    int r = parse_name(json, file, i, &input, error);

    if (r < 0)
        return r;
    if (kind == NULL || input_kind_from_string(kind, &input.kind) < 0)
        return edl_error_set(
            error, EDL_ECORRUPT,
            "%s: /inputs/%zu/kind of \"%s\" is \"%.40s\", not integer, dense or integer_sequence",
            file, i, input.name, kind != NULL ? kind : "");
    if (!json_is_integer(size) || json_integer_value(size) < 1 ||
        json_integer_value(size) > UINT32_MAX)
        return edl_error_set(error, EDL_ECORRUPT,
                             "%s: /inputs/%zu/size of \"%s\" is not a number of at least 1", file,
                             i, input.name);
    input.size = (uint32_t)json_integer_value(size);
    *ret = input;
    return 0;
}

static int parse_inputs(const json_t *inputs, const char *file, struct description *ret,
                        struct edl_error *error)
{
    size_t n = json_array_size(inputs);
    int r = 0;

    if (n < 1 || n > INPUTS_MAX)
        return edl_error_set(error, EDL_ECORRUPT, "%s: /inputs is not an array of 1 to %d inputs",
                             file, INPUTS_MAX);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = parse_input(json_array_get(inputs, i), file, i, &ret->inputs[i], error);
    if (r < 0)
        return r;
    ret->n_inputs = (uint32_t)n;
    if (sample_inputs_check(ret->inputs, ret->n_inputs, error) < 0) {
        edl_error_prefix(error, "%s: ", file);
        return edl_error_at_key(error, EDL_ECORRUPT, "/inputs");
    }
    return 0;
}

int description_parse(const char *text, size_t size, const char *file, struct description *ret,
                      struct edl_error *error)
{
    struct description description = { 0 };
    json_t *json = NULL;
    int r = load(text, size, file, &json, error);

    if (r < 0)
        return r;
    r = parse_inputs(json_object_get(json, "inputs"), file, &description, error);
    json_decref(json);
    if (r == 0)
        *ret = description;
    return r;
}

int description_parse_corpus(const char *text, size_t size, const char *file,
                             struct description *ret, struct edl_error *error)
{
    json_int_t ngram = 0, vocabulary = 0;
    struct description description = { 0 };
    json_t *json = NULL;
    int r = load(text, size, file, &json, error);

    if (r < 0)
        return r;
    (void)json_unpack(json, "{s?I, s?I}", "ngram", &ngram, "vocabulary", &vocabulary);
    json_decref(json);
    if (ngram < 2 || ngram > INPUTS_MAX || vocabulary < 1 || vocabulary > SAMPLE_INPUT_SIZE_MAX)
        return edl_error_set(error, EDL_ECORRUPT,
                             "%s has ngram %lld and vocabulary %lld; they may be 2 to %d and 1 to "
                             "%u",
                             file, (long long)ngram, (long long)vocabulary, INPUTS_MAX,
                             SAMPLE_INPUT_SIZE_MAX);
    description.n_inputs = (uint32_t)ngram;
    for (uint32_t i = 0; i < description.n_inputs; i++) {
        struct input_spec *input = &description.inputs[i];

        input->kind = INPUT_INTEGER;
        input->size = (uint32_t)vocabulary;
        (void)snprintf(input->name, sizeof input->name, "word_%" PRIu32, i + 1);
    }
    *ret = description;
    return 0;
}

/* The two files that may describe a folder, in the order in which they are looked for. */
static const struct {
    const char *name;
    int (*parse)(const char *text, size_t size, const char *file, struct description *ret,
                 struct edl_error *error);
} files[] = {
    { "data.json", description_parse },
    { "corpus.json", description_parse_corpus },
};

int description_read(const char *folder, struct description *ret, struct edl_error *error)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < ELEMENTS(files); i++) {
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        int r;

        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, files[i].name) >= sizeof path)
            return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", folder);
        r = text_file_read(path, DESCRIPTION_BYTES_MAX, &text, &size, error);
        if (r == 0)
            return files[i].parse(text, size, path, ret, error);
        if (r != -ENOENT)
            break;
    }
    (void)edl_error_set(error, -ENOMEDIUM, "no valid dataset specified: cannot read %s", path);
    (void)edl_error_remedy(error,
                           "build the data set with: edl corpus build --out %s, or "
                           "edl-trainer data NAME --out %s",
                           folder, folder);
    return -ENOMEDIUM;
}

uint32_t description_words(const struct description *description)
{
    for (uint32_t i = 0; i < description->n_inputs; i++)
        if (description->inputs[i].kind != INPUT_INTEGER ||
            description->inputs[i].size != description->inputs[0].size)
            return 0;
    return description->n_inputs;
}
