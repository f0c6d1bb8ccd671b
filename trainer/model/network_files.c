/* SPDX-License-Identifier: Apache-2.0 */
/* network_files.c - a network by its name or its file */
#include "trainer/model/network_files.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "trainer/data/text_file.h"
#include "trainer/layers/layer.h"
#include "trainer/model/model_file.h"
#include "trainer/model/model_tar.h"
#include "trainer/network/network.h"

#define TEXT_MAX (1u << 20)
#define NAMES_MAX 64

#define PATH_MAX_BYTES 4096

/* Of a program that was built and not installed: those of the checkout. The program lies in a build
 * folder (build, build-check/plain), or in a folder of that one (bench). */
static const char *models_of_checkout(void)
{
    static char path[PATH_MAX_BYTES];
    static const char *const ends[] = { "/../conf/models", "/../../conf/models",
                                        "/../../../conf/models" };
    char program[PATH_MAX_BYTES];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);

    if (n <= 0)
        return NULL;
    program[n] = '\0';
    *strrchr(program, '/') = '\0';
    for (int i = 0; i < (int)ELEMENTS(ends); i++)
        if (snprintf(path, sizeof path, "%s%s", program, ends[i]) < (int)sizeof path &&
            access(path, R_OK | X_OK) == 0)
            return path;
    return NULL;
}

static const char *models_dir(void)
{
    const char *named = getenv("EDL_MODELS_DIR"), *near;

    if (named != NULL && *named != '\0')
        return named;
    near = access(EDL_MODELS_DIR, R_OK | X_OK) != 0 ? models_of_checkout() : NULL;
    return near != NULL ? near : EDL_MODELS_DIR;
}

static int no_such_network(const char *name, struct edl_error *error)
{
    _cleanup_closedir_ DIR *folder = opendir(models_dir());
    char names[NAMES_MAX][64], list[200] = "";
    const char *known[NAMES_MAX], *near;
    struct dirent *entry;
    size_t n = 0;

    while (folder != NULL && n < NAMES_MAX && (entry = readdir(folder)) != NULL) {
        const char *end = strstr(entry->d_name, ".json");
        const size_t size = end != NULL ? (size_t)(end - entry->d_name) : 0;
        const size_t used = strlen(list);

        if (size == 0 || size >= sizeof names[0] || end[5] != '\0' ||
            streq(entry->d_name, "network.schema.json"))
            continue;
        memcpy(names[n], entry->d_name, size);
        names[n][size] = '\0';
        (void)snprintf(list + used, sizeof list - used, "%s%s", n > 0 ? ", " : "", names[n]);
        known[n] = names[n];
        n++;
    }
    near = nearest_word(name, known, n);
    (void)edl_error_set(error, -EINVAL, "--config: there is no network \"%.60s\" in %s", name,
                        models_dir());
    if (near != NULL)
        return edl_error_remedy(error, "did you mean %s? A file: --config=./%s.json", near, name);
    return edl_error_remedy(error, "%s%s, or a file: --config=./%s.json",
                            n > 0 ? "there are: " : "EDL_MODELS_DIR names the folder", list, name);
}

static int read_text(struct network_file *file, struct edl_error *error)
{
    _cleanup_fclose_ FILE *in = fopen(file->path, "re");

    if (in == NULL)
        return edl_error_errno(error, -errno, "cannot open %s", file->path);
    file->text = xcalloc(TEXT_MAX + 1, 1);
    file->size = fread(file->text, 1, TEXT_MAX, in);
    if (ferror(in) || !feof(in)) {
        network_file_close(file);
        return edl_error_set(error, -EINVAL, "cannot read %s, or it has more than %u bytes",
                             file->path, TEXT_MAX);
    }
    return 0;
}

/* A name that leads to no file that may be read is a fault of the words, not of the moment. */
static bool names_no_file(int r)
{
    return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ELOOP || r == -ENAMETOOLONG;
}

int network_file_open(const char *name, struct network_file *ret, struct edl_error *error)
{
    const size_t size = strlen(name);
    const bool is_path = strchr(name, '/') != NULL || (size > 5 && streq(name + size - 5, ".json"));
    int r;

    *ret = (struct network_file){ 0 };
    if ((size_t)snprintf(ret->path, sizeof ret->path, is_path ? "%s" : "%s/%s.json",
                         is_path ? name : models_dir(), name) >= sizeof ret->path)
        return edl_error_set(error, -EINVAL, "--config: the path is too long");
    r = read_text(ret, error);
    if (r == -ENOENT && !is_path)
        return no_such_network(name, error);
    return names_no_file(r) ? -EINVAL : r;
}

void network_file_close(struct network_file *file)
{
    free(file->text);
    *file = (struct network_file){ 0 };
}

/* "a=1,b=2" */
static int read_arguments(const char *text, struct arguments *ret, struct edl_error *error)
{
    while (text != NULL && *text != '\0') {
        const size_t size = strcspn(text, "=,");
        char name[ARGUMENT_NAME_BYTES];
        double value;
        char *end;
        int r;

        if (text[size] != '=' || size >= sizeof name)
            return edl_error_set(error, -EINVAL, "--config_args: \"%.60s\" is not NAME=NUMBER",
                                 text);
        memcpy(name, text, size);
        name[size] = '\0';
        value = strtod(text + size + 1, &end);
        if (end == text + size + 1 || (*end != '\0' && *end != ','))
            return edl_error_set(error, -EINVAL, "--config_args: %s is \"%.40s\", not a number",
                                 name, text + size + 1);
        r = arguments_set(ret, name, value, error);
        if (r < 0)
            return r;
        text = *end == ',' ? end + 1 : end;
    }
    return 0;
}

/* ---- what the data say ---- */

static bool is_given(const struct arguments *given, const char *name)
{
    for (size_t i = 0; i < given->n; i++)
        if (streq(given->items[i].name, name))
            return true;
    return false;
}

/* The size of an input is "=NAME" and NAME an argument that nobody has set. */
static void bind_size(const json_t *input, const json_t *defaults, uint32_t size,
                      struct arguments *given)
{
    const char *text = json_string_value(json_object_get(input, "size"));

    if (text != NULL && text[0] == '=' && json_object_get(defaults, text + 1) != NULL &&
        !is_given(given, text + 1))
        (void)arguments_set(given, text + 1, size, NULL);
}

/* How many inputs an element of "inputs" stands for. */
static uint32_t repeats(const json_t *element, const json_t *defaults,
                        const struct arguments *given)
{
    const json_t *value = json_object_get(element, "repeat");
    struct arguments all = { 0 };
    const char *name;
    json_t *number;
    double n = 1;

    json_object_foreach((json_t *)defaults, name, number) if (json_is_number(number))(void)
        arguments_set(&all, name, json_number_value(number), NULL);
    for (size_t i = 0; i < given->n; i++)
        (void)arguments_set(&all, given->items[i].name, given->items[i].value, NULL);
    if (json_is_number(value))
        n = json_number_value(value);
    else if (json_is_string(value))
        (void)arguments_evaluate(&all, json_string_value(value) + 1, &n, NULL);
    return n >= 0 && n <= INPUTS_MAX ? (uint32_t)n : 1;
}

/* A text that is no network is refused by network_parse, later. */
static void bind(const struct network_file *file, const struct input_spec *data, uint32_t n_data,
                 struct arguments *given)
{
    json_t *root = json_loadb(file->text, file->size, 0, NULL);
    const json_t *inputs = json_object_get(root, "inputs");
    const json_t *defaults = json_object_get(root, "arguments");
    uint32_t at = 0;

    if (json_object_get(defaults, "ngram") != NULL && !is_given(given, "ngram"))
        (void)arguments_set(given, "ngram", n_data, NULL);
    for (size_t i = 0; i < json_array_size(inputs) && at < n_data; i++) {
        const json_t *element = json_array_get(inputs, i);
        const json_t *repeated = json_object_get(element, "input");

        bind_size(repeated != NULL ? repeated : element, defaults, data[at].size, given);
        at += repeats(element, defaults, given);
    }
    json_decref(root);
}

int network_file_parse(const struct network_file *file, const char *arguments,
                       const struct input_spec *data, uint32_t n_data, struct network **ret,
                       struct edl_error *error)
{
    struct arguments given = { 0 };
    int r = read_arguments(arguments, &given, error);

    if (r < 0)
        return r;
    if (data != NULL)
        bind(file, data, n_data, &given);
    return network_parse(file->text, file->size, file->path, &given, ret, error);
}

int network_fits_data(const struct network *network, const struct input_spec *data, uint32_t n_data,
                      struct edl_error *error)
{
    static const char *const kinds[] = { [INPUT_INTEGER] = "integer",
                                         [INPUT_DENSE] = "dense",
                                         [INPUT_SEQUENCE] = "integer_sequence",
                                         [INPUT_DENSE_SEQUENCE] = "dense_sequence" };

    if (network->n_inputs != n_data)
        return edl_error_set(error, -EINVAL, "%s has %u input%s, but the data have %u",
                             network->file, network->n_inputs, PLURAL(network->n_inputs), n_data);
    for (uint32_t i = 0; i < n_data; i++)
        if (network->inputs[i].kind != data[i].kind || network->inputs[i].size != data[i].size) {
            (void)edl_error_set(error, -EINVAL,
                                "input %u of the network, %s, is %s of %u, but the data have %s, "
                                "%s of %u",
                                i, network->inputs[i].name, kinds[network->inputs[i].kind],
                                network->inputs[i].size, data[i].name, kinds[data[i].kind],
                                data[i].size);
            return edl_error_remedy(error,
                                    "set the size: --config_args=NAME=%u, or name other "
                                    "data",
                                    data[i].size);
        }
    return 0;
}

static const struct param_spec **specs_of(const struct network *network)
{
    const struct param_spec **specs = xcalloc(network->n_params, sizeof *specs);

    for (uint32_t p = 0; p < network->n_params; p++)
        specs[p] = &network->params[p].spec;
    return specs;
}

static void flatten(struct param_spec *spec)
{
    spec->columns *= spec->rows;
    spec->rows = 1;
}

/* specs_of_tar - there a bias, and each parameter of batch_norm, is a row: 1 x size */
static struct param_spec *specs_of_tar(const struct network *network)
{
    struct param_spec *specs = xcalloc(network->n_params, sizeof *specs);

    for (uint32_t p = 0; p < network->n_params; p++)
        specs[p] = network->params[p].spec;
    for (uint32_t i = 0; i < network->n_layers; i++) {
        const struct network_layer *layer = &network->layers[i];

        for (uint32_t w = 0; layer->kind == &layer_batch_norm && w < layer->n_weights; w++)
            flatten(&specs[layer->weights[w]]);
        if (layer->bias != PARAM_NONE)
            flatten(&specs[layer->bias]);
    }
    return specs;
}

int network_save_tar(const struct network *network, float *const *values, const char *path,
                     struct edl_error *error)
{
    struct param_spec *flat = specs_of_tar(network);
    const struct param_spec **specs = specs_of(network);
    const struct model_contents contents = { .specs = specs,
                                             .values = values,
                                             .n = network->n_params };
    int r;

    for (uint32_t p = 0; p < network->n_params; p++)
        specs[p] = &flat[p];
    r = model_tar_save(path, &contents, error);
    free(specs);
    free(flat);
    return r;
}

int network_save(const struct network *network, const struct network_file *file,
                 float *const *values, const char *word_dict, const struct model_part *part,
                 const char *folder, struct edl_error *error)
{
    const struct param_spec **specs = specs_of(network);
    const char *path = file->source != NULL ? file->source : file->path;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    _cleanup_free_ char *source = NULL;
    struct model_text texts[] = { { "path.txt", name, strlen(name) },
                                  { name, file->text, file->size } };
    const struct model_contents contents = { .specs = specs,
                                             .values = values,
                                             .n = network->n_params,
                                             .texts = texts,
                                             .n_texts = ELEMENTS(texts),
                                             .part = part,
                                             .word_dict = word_dict };
    int r = 0;

    if (file->source != NULL)
        r = text_file_read(path, TEXT_MAX, &source, &texts[1].size, error);
    if (source != NULL)
        texts[1].text = source;
    if (r >= 0)
        r = model_file_save_contents(folder, &contents, error);
    free(specs);
    return r;
}
