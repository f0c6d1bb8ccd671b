/* SPDX-License-Identifier: Apache-2.0 */
/* self.c - the identity of this process, and its words to others */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libedl/client.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/hex.h"
#include "shared/macro.h"
#include "shared/parse.h"

#define PORTS_MAX 1024
#define PROGRESS_TIMEOUT_US USEC_PER_SEC
#define ALIVE_TIMEOUT_US USEC_PER_SEC

/* ---- the environment ---- */

/* One that must be there, unless fallback is given. */
struct variable {
    const char *name, *fallback;
    const char **text;
    uint64_t *number;
};

static int read_variable(const struct variable *variable, struct edl_error *error)
{
    const char *value = getenv(variable->name);

    if (value == NULL)
        value = variable->fallback;
    if (value == NULL) {
        (void)edl_error_set(error, -ENOENT, "%s is not set", variable->name);
        return edl_error_remedy(error, "submit the program as a job: edl submit -- PROGRAM");
    }
    if (variable->number != NULL && parse_u64(value, variable->number) < 0)
        return edl_error_set(error, -ENOENT, "%s is \"%.40s\", not a number", variable->name,
                             value);
    if (variable->text != NULL)
        *variable->text = xstrdup(value);
    return 0;
}

static int read_ports(struct edl_self *self, struct edl_error *error)
{
    const char *given = getenv("EDL_PORTS");
    _cleanup_free_ char *list = xstrdup(given != NULL ? given : "");
    uint16_t *ports = xcalloc(PORTS_MAX, sizeof *ports);
    char *rest = list, *item;
    uint64_t port;

    self->ports = ports;
    while (*list != '\0' && (item = strsep(&rest, ",")) != NULL) {
        if (self->n_ports == PORTS_MAX || parse_u64(item, &port) < 0 || port > UINT16_MAX)
            return edl_error_set(error, -ENOENT, "EDL_PORTS is \"%.100s\", not a list of ports",
                                 given);
        ports[self->n_ports++] = (uint16_t)port;
    }
    return 0;
}

int edl_self_read(struct edl_client *client, struct edl_self **ret)
{
    struct edl_self *self = xcalloc(1, sizeof *self);
    const struct variable variables[] = {
        { .name = "EDL_JOB", .text = &self->job },
        { .name = "EDL_JOB_ID", .number = &self->job_id },
        { .name = "EDL_ROLE", .text = &self->role },
        { .name = "EDL_INDEX", .number = &self->index },
        { .name = "EDL_INCARNATION", .number = &self->incarnation },
        { .name = "EDL_NODE", .fallback = "", .text = &self->node },
        { .name = "EDL_ADDRESS", .fallback = "127.0.0.1", .text = &self->address },
        { .name = "EDL_WORKSPACE", .fallback = "", .text = &self->workspace },
        { .name = "EDL_OUTPUT_DIR", .fallback = "", .text = &self->output_dir },
        { .name = "EDL_DATASET", .fallback = "", .text = &self->dataset },
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ELEMENTS(variables); i++)
        r = read_variable(&variables[i], &client->error);
    if (r == 0)
        r = read_ports(self, &client->error);
    if (r == 0)
        *ret = self;
    else
        (void)edl_self_free(self);
    return client_result(client, r);
}

struct edl_self *edl_self_free(struct edl_self *self)
{
    if (self == NULL)
        return NULL;
    /* why: const for the caller only */
    free((char *)(uintptr_t)self->job);
    free((char *)(uintptr_t)self->role);
    free((char *)(uintptr_t)self->node);
    free((char *)(uintptr_t)self->address);
    free((uint16_t *)(uintptr_t)self->ports);
    free((char *)(uintptr_t)self->workspace);
    free((char *)(uintptr_t)self->output_dir);
    free((char *)(uintptr_t)self->dataset);
    free(self);
    return NULL;
}

/* ---- the secret ---- */

int edl_secret(struct edl_client *client, uint8_t ret[EDL_SECRET_BYTES])
{
    static const char path[] = "/jobs/self/secret";
    json_t *answer = NULL;
    const char *text;
    int r = client_ask(client, "GET", path, NULL, &answer);

    text = json_string_value(json_object_get(answer, "secret"));
    if (r == 0 && (text == NULL || hex_decode(text, EDL_SECRET_BYTES, ret) < 0))
        r = client_answer_bad(path, &client->error);
    json_decref(answer);
    return client_result(client, r);
}

/* ---- told ---- */

static int read_object(struct edl_client *client, const char *text, json_t **ret)
{
    json_error_t where;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &where);

    if (object == NULL)
        return edl_error_set(&client->error, -EINVAL, "no JSON: %.120s", where.text);
    if (!json_is_object(object)) {
        json_decref(object);
        return edl_error_set(&client->error, -EINVAL, "no JSON object: {\"step\": 1200}");
    }
    *ret = object;
    return 0;
}

int edl_progress(struct edl_client *client, const char *json)
{
    json_t *object = NULL;
    int r = read_object(client, json, &object);

    if (r == 0)
        r = client_tell(client, "/processes/self/progress", object, PROGRESS_TIMEOUT_US);
    json_decref(object);
    return client_result(client, r);
}

#define ALIVE_LEAST_US USEC_PER_SEC
#define ALIVE_MOST_US (86400 * USEC_PER_SEC)

int edl_alive(struct edl_client *client, uint64_t within_us)
{
    json_t *body;
    int r;

    if (within_us != 0 && (within_us < ALIVE_LEAST_US || within_us > ALIVE_MOST_US))
        return client_refuse(client, -EINVAL, "a promise is for a second to a day, or 0");
    body = json_pack("{s:f}", "within_s", (double)within_us / USEC_PER_SEC);
    r = client_tell(client, "/processes/self/alive", body, ALIVE_TIMEOUT_US);
    json_decref(body);
    return client_result(client, r);
}

int edl_metrics(struct edl_client *client, const char *json)
{
    json_t *object = NULL;
    int r = read_object(client, json, &object);

    if (r == 0)
        r = client_ask(client, "POST", "/jobs/self/metrics", object, NULL);
    json_decref(object);
    return client_result(client, r);
}

int edl_checkpoint_done(struct edl_client *client)
{
    static const char path[] = "/processes/self/checkpoint-done";
    json_t *answer = NULL;
    const json_t *stopping;
    int r = client_ask(client, "POST", path, NULL, &answer);

    stopping = json_object_get(answer, "stopping");
    if (r == 0)
        r = json_is_boolean(stopping) ? json_is_true(stopping)
                                      : client_answer_bad(path, &client->error);
    json_decref(answer);
    return client_result(client, r);
}
