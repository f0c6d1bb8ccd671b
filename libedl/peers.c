/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - lists of processes out of answers: their names and places */
#include "libedl/peers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libedl/client.h"
#include "shared/cleanup.h"
#include "shared/hex.h"
#include "shared/macro.h"

#define PORTS_MAX 1024
#define NAME_BYTES_MAX 256 /* of a role or a service */

int number_read(const json_t *object, const char *key, uint64_t *ret)
{
    const json_t *value = json_object_get(object, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return -EINVAL;
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}

int port_read(const json_t *value, uint16_t *ret)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > UINT16_MAX)
        return -EINVAL;
    *ret = (uint16_t)json_integer_value(value);
    return 0;
}

/* ---- one ---- */

static char *text_copy(const json_t *object, const char *key, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(object, key));

    return xstrdup(text != NULL ? text : otherwise);
}

static int read_ports(const json_t *list, struct edl_peer *peer)
{
    size_t n = json_array_size(list);
    uint16_t *ports;

    if (!json_is_array(list) || n > PORTS_MAX)
        return -EINVAL;
    ports = xcalloc(n, sizeof *ports);
    peer->ports = ports;
    peer->n_ports = n;
    for (size_t i = 0; i < n; i++)
        if (port_read(json_array_get(list, i), &ports[i]) < 0)
            return -EINVAL;
    return 0;
}

static int read_peer(const json_t *json, uint64_t place, struct edl_peer *ret)
{
    *ret = (struct edl_peer){ .role = text_copy(json, "role", ""),
                              .rank = place,
                              .node = text_copy(json, "node", ""),
                              .address = text_copy(json, "address", ""),
                              .state = text_copy(json, "state", "running"),
                              .note = text_copy(json, "note", "") };
    if (json_object_get(json, "rank") != NULL && number_read(json, "rank", &ret->rank) < 0)
        return -EINVAL;
    return number_read(json, "index", &ret->index) < 0 ||
                   number_read(json, "incarnation", &ret->incarnation) < 0 ||
                   !json_is_string(json_object_get(json, "address"))
               ? -EINVAL
               : read_ports(json_object_get(json, "ports"), ret);
}

void peers_free(const struct edl_peer *peers, size_t n)
{
    /* why: what is const for the caller of the library is the library's */
    for (size_t i = 0; i < n; i++) {
        free((char *)(uintptr_t)peers[i].role);
        free((char *)(uintptr_t)peers[i].node);
        free((char *)(uintptr_t)peers[i].address);
        free((char *)(uintptr_t)peers[i].state);
        free((char *)(uintptr_t)peers[i].note);
        free((uint16_t *)(uintptr_t)peers[i].ports);
    }
    free((struct edl_peer *)(uintptr_t)peers);
}

int peers_read(const json_t *list, struct edl_peer **ret, size_t *ret_n)
{
    size_t n = json_array_size(list);
    struct edl_peer *peers;
    int r = 0;

    if (!json_is_array(list) || n > PEERS_MAX)
        return -EINVAL;
    peers = xcalloc(n, sizeof *peers);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = read_peer(json_array_get(list, i), i, &peers[i]);
    if (r < 0) {
        peers_free(peers, n);
        return r;
    }
    *ret = peers;
    *ret_n = n;
    return 0;
}

/* ---- the processes of a role ---- */

bool service_name_valid(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && n <= NAME_BYTES_MAX && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == n;
}

static int read_hosts(const json_t *answer, struct edl_hosts **ret)
{
    struct edl_hosts *hosts = xcalloc(1, sizeof *hosts);
    struct edl_peer *peers = NULL;

    if (number_read(answer, "want", &hosts->want) < 0 ||
        peers_read(json_object_get(answer, "hosts"), &peers, &hosts->n_peers) < 0) {
        free(hosts);
        return -EINVAL;
    }
    hosts->peers = peers;
    *ret = hosts;
    return 0;
}

int edl_hosts_of(struct edl_client *client, const char *role, struct edl_hosts **ret)
{
    char path[NAME_BYTES_MAX + 64];
    json_t *answer = NULL;
    int r;

    if (!service_name_valid(role))
        return client_refuse(client, -EINVAL, "that cannot be the name of a role");
    (void)snprintf(path, sizeof path, "/jobs/self/hosts?role=%s", role);
    r = client_ask(client, "GET", path, NULL, &answer);
    if (r == 0 && read_hosts(answer, ret) < 0)
        r = client_answer_bad(path, &client->error);
    json_decref(answer);
    return client_result(client, r);
}

struct edl_hosts *edl_hosts_free(struct edl_hosts *hosts)
{
    if (hosts != NULL)
        peers_free(hosts->peers, hosts->n_peers);
    free(hosts);
    return NULL;
}

/* ---- who serves ---- */

struct edl_service *edl_service_free(struct edl_service *service)
{
    if (service == NULL)
        return NULL;
    free((char *)(uintptr_t)service->name); /* why: const for the caller only */
    peers_free(service->peers, service->n_peers);
    free(service);
    return NULL;
}

struct look_up {
    const struct edl_service *known;
    struct edl_service *found;
};

int service_read(const json_t *answer, struct edl_service **ret, struct edl_error *error)
{
    const char *name = json_string_value(json_object_get(answer, "service"));
    struct edl_service *service = xcalloc(1, sizeof *service);
    struct edl_peer *peers = NULL;

    if (name == NULL || number_read(answer, "job_id", &service->job_id) < 0 ||
        number_read(answer, "version", &service->version) < 0 ||
        peers_read(json_object_get(answer, "processes"), &peers, &service->n_peers) < 0) {
        free(service);
        return client_answer_bad("a service", error);
    }
    service->peers = peers;
    service->name = xstrdup(name);
    *ret = service;
    return 0;
}

static int read_service(const json_t *answer, void *userdata, struct edl_error *error)
{
    struct look_up *look_up = userdata;
    struct edl_service *service = NULL;
    int r = service_read(answer, &service, error);

    if (r < 0)
        return r;
    if (look_up->known != NULL && look_up->known->version == service->version) {
        (void)edl_service_free(service);
        return CLIENT_NO_NEWS;
    }
    look_up->found = service;
    return 1;
}

/* ask_service - as it is now; a scheduler that is being restarted is waited for */
static int ask_service(struct edl_client *client, const char *path, struct look_up *look_up)
{
    json_t *answer = NULL;
    int r = client_ask(client, "GET", path, NULL, &answer);

    if (r == 0)
        r = read_service(answer, look_up, &client->error);
    json_decref(answer);
    return r;
}

int edl_service_find(struct edl_client *client, const char *name, const struct edl_service *known,
                     uint64_t timeout_us, struct edl_service **ret)
{
    struct look_up look_up = { .known = known };
    char path[NAME_BYTES_MAX + 64];
    struct client_wait wait = { .method = "GET",
                                .path = path,
                                .timeout_us = timeout_us,
                                .read = read_service,
                                .userdata = &look_up };
    int r;

    if (!service_name_valid(name))
        return client_refuse(client, -EINVAL, "that cannot be the name of a service");
    if (known != NULL)
        (void)snprintf(path, sizeof path, "/services/%s?after=%" PRIu64 "&", name, known->version);
    else
        (void)snprintf(path, sizeof path, "/services/%s", name);
    r = known != NULL ? client_await(client, &wait) : ask_service(client, path, &look_up);
    if (r == 1)
        *ret = look_up.found;
    if (r == -ETIMEDOUT && known != NULL)
        r = 0;
    return client_result(client, r);
}

int edl_service_secret(struct edl_client *client, const char *name, uint8_t ret[EDL_SECRET_BYTES])
{
    char path[NAME_BYTES_MAX + 64];
    json_t *answer = NULL;
    const char *text;
    int r;

    if (!service_name_valid(name))
        return client_refuse(client, -EINVAL, "that cannot be the name of a service");
    (void)snprintf(path, sizeof path, "/services/%s/secret", name);
    r = client_ask(client, "GET", path, NULL, &answer);
    text = json_string_value(json_object_get(answer, "secret"));
    if (r == 0 && (text == NULL || hex_decode(text, EDL_SECRET_BYTES, ret) < 0))
        r = client_answer_bad(path, &client->error);
    json_decref(answer);
    return client_result(client, r);
}
