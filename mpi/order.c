/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - what a slot is told */
#include "mpi/order.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/text_format.h"

bool mpi_order_takes(const char *name, size_t length)
{
    static const char *const prefixes[] = { "OMPI_MCA_", "PMIX_MCA_", "HYDRA_" };

    for (size_t i = 0; i < ELEMENTS(prefixes); i++)
        if (length > strlen(prefixes[i]) && strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static json_t *env_to_json(const struct mpi_order *order)
{
    json_t *env = json_object();

    for (size_t i = 0; i < order->n_env; i++) {
        const char *equals = strchr(order->env[i], '=');
        json_t *value = json_string(equals + 1);

        if (value == NULL || json_object_setn_new(env, order->env[i],
                                                  (size_t)(equals - order->env[i]), value) != 0) {
            json_decref(env);
            return NULL;
        }
    }
    return env;
}

static json_t *to_json(const struct mpi_order *order)
{
    json_t *env;

    if (order->end)
        return json_pack("{s:i}", "end", (int)order->status);
    env = env_to_json(order);
    return env != NULL ? json_pack("{s:s, s:o}", "command", order->command, "env", env) : NULL;
}

int mpi_order_write(const struct mpi_order *order, char **ret, size_t *ret_size,
                    struct edl_error *error)
{
    json_t *json;
    char *text;
    size_t size;

    if (order->n_env > MPI_ORDER_ENV_MAX ||
        (order->command != NULL && strlen(order->command) > MPI_ORDER_COMMAND_MAX))
        return edl_error_set(error, -E2BIG, "the command of mpirun is too long for a slot");
    json = to_json(order);
    text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (text == NULL)
        return edl_error_set(error, -EINVAL, "the command of mpirun is no UTF-8");
    size = strlen(text);
    if (size > MPI_ORDER_BYTES_MAX) {
        free(text);
        return edl_error_set(error, -E2BIG, "the command of mpirun and its variables are too long");
    }
    *ret = text;
    *ret_size = size;
    return 0;
}

static int read_env(const json_t *env, struct mpi_order *order, struct edl_error *error)
{
    const char *name;
    json_t *value;

    if (!json_is_object(env) || json_object_size(env) > MPI_ORDER_ENV_MAX)
        return edl_error_set(error, -EINVAL, "an order's env is no object of at most %d variables",
                             MPI_ORDER_ENV_MAX);
    order->env = xcalloc(json_object_size(env), sizeof *order->env);
    json_object_foreach((json_t *)(uintptr_t)env, name, value)
    {
        if (!mpi_order_takes(name, strlen(name)) || strchr(name, '=') != NULL ||
            !json_is_string(value))
            return edl_error_set(error, -EINVAL, "\"%.60s\" is no variable of an order", name);
        order->env[order->n_env++] = text_format("%s=%s", name, json_string_value(value));
    }
    return 0;
}

static int read_end(const json_t *end, struct mpi_order *order, struct edl_error *error)
{
    json_int_t status = json_integer_value(end);

    if (!json_is_integer(end) || status < 0 || status > UINT8_MAX)
        return edl_error_set(error, -EINVAL, "the end of an order is no number from 0 to 255");
    order->end = true;
    order->status = (uint8_t)status;
    return 0;
}

static int read_object(const json_t *json, struct mpi_order *order, struct edl_error *error)
{
    const json_t *end = json_object_get(json, "end"), *command = json_object_get(json, "command");
    const json_t *env = json_object_get(json, "env");

    if (json_object_size(json) != (end != NULL ? 1 : 2))
        return edl_error_set(error, -EINVAL, "an order is {command, env} or {end}");
    if (end != NULL)
        return read_end(end, order, error);
    if (!json_is_string(command) || json_string_length(command) == 0 ||
        json_string_length(command) > MPI_ORDER_COMMAND_MAX)
        return edl_error_set(error, -EINVAL, "an order's command is no text of 1 to %u bytes",
                             MPI_ORDER_COMMAND_MAX);
    order->command = xstrdup(json_string_value(command));
    return read_env(env, order, error);
}

int mpi_order_read(const void *bytes, size_t size, struct mpi_order *ret, struct edl_error *error)
{
    struct mpi_order order = { .end = false };
    json_error_t where;
    json_t *json;
    int r;

    if (size > MPI_ORDER_BYTES_MAX)
        return edl_error_set(error, -E2BIG, "an order has at most %u bytes", MPI_ORDER_BYTES_MAX);
    json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &where); /* a NUL in a text is refused */
    if (json == NULL)
        return edl_error_set(error, -EINVAL, "an order is no JSON: %.100s", where.text);
    r = read_object(json, &order, error);
    json_decref(json);
    if (r < 0)
        mpi_order_clear(&order);
    else
        *ret = order;
    return r;
}

void mpi_order_clear(struct mpi_order *order)
{
    for (size_t i = 0; i < order->n_env; i++)
        free(order->env[i]);
    free(order->env);
    free(order->command);
    *order = (struct mpi_order){ .end = false };
}
