/* SPDX-License-Identifier: Apache-2.0 */
/* teach_model.c - a saved pass of a network that answers tasks */
#include "trainer/teach/teach_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/mirror.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/learn/device.h"
#include "trainer/layers/layer.h"
#include "trainer/model/network_files.h"
#include "trainer/model/network_python.h"
#include "trainer/model/network_read.h"
#include "trainer/network/network.h"
#include "trainer/network/plan.h"
#include "trainer/teach/teach_inputs.h"

struct teach_model {
    struct network *network;
    struct device device;
    const struct edl_backend *backend;
    struct plan *plan;
    struct mirror *values; /* [params] */
    void **params;         /* the same, as the plan takes them */
    uint32_t n_params;
    struct teach_inputs *inputs;
    struct teacher_welcome welcome;
    uint32_t max_batch;
    float *results[NETWORK_OUTPUTS_MAX]; /* [results_room, size] */
    uint64_t results_room;
};

struct teach_model *teach_model_close(struct teach_model *m)
{
    if (m == NULL)
        return NULL;
    for (uint32_t p = 0; m->values != NULL && p < m->n_params; p++)
        mirror_close(&m->values[p], m->backend);
    for (uint32_t i = 0; i < NETWORK_OUTPUTS_MAX; i++)
        free(m->results[i]);
    m->plan = plan_free(m->plan);
    m->inputs = teach_inputs_free(m->inputs);
    m->network = network_free(m->network);
    device_close(&m->device);
    teacher_welcome_clear(&m->welcome);
    free(m->values);
    free(m->params);
    free(m);
    return NULL;
}

const struct teacher_welcome *teach_model_welcome(const struct teach_model *m)
{
    return &m->welcome;
}

struct teach_inputs *teach_model_inputs(struct teach_model *m)
{
    return m->inputs;
}

uint32_t teach_model_columns(const struct teach_model *m, uint32_t i)
{
    return m->network->layers[m->network->outputs[i]].shape.size;
}

uint64_t teach_model_row_values(const struct teach_model *m)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < m->network->n_outputs; i++)
        n += teach_model_columns(m, i);
    return n;
}

/* ---- outputs ---- */

/* all_layers - the names of those that can be an output, cut to what fits */
static void all_layers(const struct network *network, char *ret, size_t size)
{
    size_t used = 0;

    ret[0] = '\0';
    for (uint32_t i = 0; i < network->n_layers && used < size; i++)
        if (!network->layers[i].kind->is_cost && network->layers[i].shape.sequence == 0 &&
            network->layers[i].kind != &layer_input)
            used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     network->layers[i].name);
}

static int find_layer(const struct network *network, const char *name, uint32_t *ret,
                      struct edl_error *error)
{
    char names[240];

    for (uint32_t i = 0; i < network->n_layers; i++)
        if (streq(network->layers[i].name, name) && !network->layers[i].kind->is_cost &&
            network->layers[i].kind != &layer_input) {
            *ret = i;
            return 0;
        }
    all_layers(network, names, sizeof names);
    (void)edl_error_set(error, -EINVAL, "--outputs: %s has no layer %.60s", network->file, name);
    return edl_error_remedy(error, "name some of: %s", names);
}

/* take_outputs - "soft=fc_2,hidden": what the plan keeps, and under which names */
static int take_outputs(struct teach_model *m, const char *list, struct edl_error *error)
{
    struct network *network = m->network;
    char *copy = xstrdup(list), *rest = copy, *word;
    uint32_t n = 0;
    int r = 0;

    while (r >= 0 && (word = strsep(&rest, ",")) != NULL) {
        char *layer = strchr(word, '=');

        if (layer != NULL)
            *layer++ = '\0';
        else
            layer = word;
        if (n == NETWORK_OUTPUTS_MAX)
            r = edl_error_set(error, -EINVAL, "--outputs names more than %d", NETWORK_OUTPUTS_MAX);
        else if (*word == '\0' || strlen(word) > TEACHER_FIELD_MAX)
            r = edl_error_set(error, -EINVAL, "--outputs is \"%.80s\", not [NAME=]LAYER,...", list);
        else
            r = find_layer(network, layer, &network->outputs[n], error);
        if (r >= 0)
            (void)snprintf(m->welcome.fetches[n++].name, sizeof m->welcome.fetches[0].name, "%s",
                           word);
    }
    free(copy);
    network->n_outputs = n;
    m->welcome.n_fetches = n;
    return r;
}

static int name_outputs(struct teach_model *m, const char *list, struct edl_error *error)
{
    const struct network *network = m->network;
    int r = 0;

    m->welcome.fetches = xcalloc(NETWORK_OUTPUTS_MAX, sizeof *m->welcome.fetches);
    if (list != NULL)
        r = take_outputs(m, list, error);
    for (uint32_t i = 0; list == NULL && i < network->n_outputs; i++)
        (void)snprintf(m->welcome.fetches[m->welcome.n_fetches++].name,
                       sizeof m->welcome.fetches[0].name, "%s",
                       network->layers[network->outputs[i]].name);
    for (uint32_t i = 0; r >= 0 && i < network->n_outputs; i++) {
        const struct network_layer *layer = &network->layers[network->outputs[i]];

        if (layer->shape.sequence > 0) {
            r = edl_error_set(error, -EINVAL,
                              "%s has a row for each place of a sequence, not one for a sample",
                              layer->name);
            (void)edl_error_remedy(error, "name others: --outputs LAYER,...");
        }
        for (uint32_t k = 0; r >= 0 && k < i; k++)
            if (streq(m->welcome.fetches[i].name, m->welcome.fetches[k].name))
                r = edl_error_set(error, -EINVAL, "--outputs has %s twice",
                                  m->welcome.fetches[i].name);
    }
    return r;
}

/* ---- opening ---- */

static int open_network(struct teach_model *m, const char *config, const char *arguments,
                        struct edl_error *error)
{
    struct network_file file;
    int r = network_file_open(config, &file, error);

    if (r < 0)
        return r;
    r = network_file_parse(&file, arguments, NULL, 0, &m->network, error);
    network_file_close(&file);
    return r;
}

/* A trainer_config.py is run first; its data set is not asked for. */
static int open_config(struct teach_model *m, const struct teach_model_config *config,
                       struct edl_error *error)
{
    struct network_python python;
    int r;

    if (!network_python_wants(config->config))
        return open_network(m, config->config, config->arguments, error);
    r = network_python_open(config->config, config->arguments, false, config->stop, &python, error);
    if (r < 0)
        return r;
    r = open_network(m, python.network, NULL, error);
    network_python_close(&python);
    return r;
}

static size_t bytes_of(const struct teach_model *m, uint32_t p)
{
    const struct param_spec *spec = &m->network->params[p].spec;

    return (size_t)spec->rows * spec->columns * sizeof(float);
}

static int open_values(struct teach_model *m, const char *init_model, struct edl_error *error)
{
    const struct network_read read = { .network = m->network,
                                       .path = init_model,
                                       .missing = "fail" };
    float **host = xcalloc(m->network->n_params, sizeof *host);
    int r = 0;

    m->n_params = m->network->n_params;
    m->values = xcalloc(m->n_params, sizeof *m->values);
    m->params = xcalloc(m->n_params, sizeof *m->params);
    for (uint32_t p = 0; r >= 0 && p < m->n_params; p++) {
        if (!mirror_open(&m->values[p], m->backend, bytes_of(m, p)))
            r = edl_error_set(error, -ENOMEM, "no memory (%s) for the parameters of %s",
                              m->backend->name, m->network->file);
        m->params[p] = m->values[p].device;
        host[p] = m->values[p].host;
    }
    if (r >= 0)
        r = network_read(&read, host, error);
    for (uint32_t p = 0; r >= 0 && p < m->n_params; p++)
        mirror_upload(&m->values[p], m->backend, bytes_of(m, p));
    free(host);
    return r;
}

static int open_plan(struct teach_model *m, struct edl_error *error)
{
    const struct plan_config plan = { .network = m->network,
                                      .backend = m->backend,
                                      .ops = m->backend->ops,
                                      .batch_max = m->max_batch,
                                      .whole_tables = true };

    return plan_new(&plan, &m->plan, error);
}

static int open_inputs(struct teach_model *m, const struct teach_model_config *config,
                       struct edl_error *error)
{
    const struct teacher_feed *feeds;

    m->inputs = teach_inputs_new(m->network);
    feeds = teach_inputs_feeds(m->inputs, &m->welcome.n_feeds);
    if (m->welcome.n_feeds == 0)
        return edl_error_set(error, -EINVAL, "no output of %s depends on an input",
                             m->network->file);
    m->welcome.feeds = xcalloc(m->welcome.n_feeds, sizeof *feeds);
    memcpy(m->welcome.feeds, feeds, m->welcome.n_feeds * sizeof *feeds);
    if (config->name != NULL)
        (void)snprintf(m->welcome.model, sizeof m->welcome.model, "%s", config->name);
    else
        (void)snprintf(m->welcome.model, sizeof m->welcome.model, "%s %s", config->config,
                       config->init_model);
    return 0;
}

int teach_model_open(const struct teach_model_config *config, struct teach_model **ret,
                     struct edl_error *error)
{
    struct teach_model *m = xcalloc(1, sizeof *m);
    int r;

    m->max_batch = config->max_batch;
    r = open_config(m, config, error);
    if (r >= 0)
        r = name_outputs(m, config->outputs, error);
    if (r >= 0)
        r = open_inputs(m, config, error);
    if (r >= 0)
        r = device_open(config->device, &m->device, error);
    if (r >= 0)
        r = device_backend_for(&m->device, m->network, &m->backend, error);
    if (r >= 0)
        r = open_values(m, config->init_model, error);
    if (r >= 0)
        r = open_plan(m, error);
    if (r < 0) {
        (void)teach_model_close(m);
        return r;
    }
    *ret = m;
    return 0;
}

/* ---- running ---- */

static void make_results(struct teach_model *m, uint64_t samples)
{
    if (samples <= m->results_room)
        return;
    m->results_room = samples;
    for (uint32_t i = 0; i < m->network->n_outputs; i++)
        m->results[i] = xreallocarray(m->results[i], samples * teach_model_columns(m, i),
                                      sizeof *m->results[i]);
}

static void take_results(struct teach_model *m, uint64_t first)
{
    for (uint32_t i = 0; i < m->network->n_outputs; i++) {
        const size_t columns = teach_model_columns(m, i);
        size_t rows;
        const void *value = plan_output(m->plan, i, &rows);

        m->backend->download(value, rows * columns * sizeof(float),
                             m->results[i] + first * columns);
    }
}

int teach_model_run(struct teach_model *m, const float *const **ret, struct edl_error *error)
{
    const uint64_t samples = teach_inputs_n(m->inputs);

    make_results(m, samples);
    for (uint64_t first = 0; first < samples;) {
        const uint32_t n = (uint32_t)MIN_OF(samples - first, (uint64_t)m->max_batch);
        struct plan_result result;
        struct batch batch;
        int r;

        teach_inputs_batch(m->inputs, first, n, &batch);
        r = plan_batch(m->plan, &batch, error);
        if (r < 0)
            return r;
        plan_forward(m->plan, m->params, false, 0, &result);
        take_results(m, first);
        if (m->backend->failure() != NULL)
            return edl_error_set(error, -EIO, "the device (%s) has failed: %s", m->backend->name,
                                 m->backend->failure());
        first += n;
    }
    *ret = (const float *const *)m->results;
    return 0;
}

int teach_model_check(const struct teach_model *m, uint64_t first, uint64_t n,
                      struct edl_error *error)
{
    for (uint32_t i = 0; i < m->network->n_outputs; i++) {
        const size_t columns = teach_model_columns(m, i);
        const float *values = m->results[i] + first * columns;

        for (size_t k = 0; k < n * columns; k++)
            if (isnan(values[k]))
                return edl_error_set(error, -EDOM,
                                     "%s of the model %.100s is NaN, of sample %llu, value %zu",
                                     m->welcome.fetches[i].name, m->welcome.model,
                                     (unsigned long long)(k / columns), k % columns);
    }
    return 0;
}
