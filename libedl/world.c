/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - who is together, and with which rank: the agreement of the processes of a role */
#include <errno.h>
#include <string.h>

#include "libedl/client.h"
#include "libedl/peers.h"
#include "libedl/wait.h"
#include "shared/macro.h"

#define PATH "/jobs/self/rendezvous"

enum { WORLD_OVER = 1, WORLD_JOINED = 1, WORLD_LEAVING = 0, WORLD_NONE = 0 };

struct edl_world *edl_world_free(struct edl_world *world)
{
    if (world == NULL)
        return NULL;
    free((char *)(uintptr_t)world->master_address); /* why: const for the caller only */
    peers_free(world->members, world->n_members);
    free(world);
    return NULL;
}

static int read_members(const json_t *list, struct edl_world *world)
{
    struct edl_peer *members = NULL;
    int r;

    if (list == NULL) /* so many that nobody wants to hear of all */
        return 0;
    r = peers_read(list, &members, &world->n_members);
    world->members = members;
    if (r == 0 && world->n_members != world->size)
        r = -EINVAL;
    for (size_t i = 0; r == 0 && i < world->n_members; i++)
        r = members[i].rank == i ? 0 : -EINVAL;
    return r;
}

/* rank: of the caller; an answer without one is about others */
static int read_rank(const json_t *answer, uint64_t size, uint64_t *ret)
{
    *ret = EDL_NO_RANK;
    if (json_object_get(answer, "rank") == NULL)
        return 0;
    return number_read(answer, "rank", ret) < 0 || *ret >= size ? -EINVAL : 0;
}

static int read_world(const json_t *answer, struct edl_world *world)
{
    const json_t *master = json_object_get(answer, "master");
    const char *address = json_string_value(json_object_get(master, "address"));

    if (number_read(answer, "generation", &world->generation) < 0 ||
        number_read(answer, "world_size", &world->size) < 0 || world->generation == 0 ||
        world->size == 0 || read_rank(answer, world->size, &world->rank) < 0 || address == NULL ||
        port_read(json_object_get(master, "port"), &world->master_port) < 0)
        return -EINVAL;
    world->master_address = xstrdup(address);
    return read_members(json_object_get(answer, "members"), world);
}

static int read_joined(const json_t *answer, void *userdata, struct edl_error *error)
{
    struct edl_world **ret = userdata;
    struct edl_world *world;

    if (json_is_true(json_object_get(answer, "leaving")))
        return WORLD_LEAVING;
    if (json_is_true(json_object_get(answer, "wait")))
        return CLIENT_NO_NEWS;
    world = xcalloc(1, sizeof *world);
    if (read_world(answer, world) < 0 || world->rank == EDL_NO_RANK) {
        (void)edl_world_free(world);
        return client_answer_bad(PATH, error);
    }
    *ret = world;
    return WORLD_JOINED;
}

int edl_world_note(struct edl_client *client, const char *note)
{
    const char *text = note != NULL ? note : "";
    json_t *checked;

    if (strlen(text) > EDL_NOTE_BYTES_MAX)
        return client_refuse(client, -E2BIG, "a note has 1024 bytes at most");
    checked = json_string(text);
    if (checked == NULL)
        return client_refuse(client, -EINVAL, "the note is no UTF-8");
    json_decref(checked);
    free(client->note);
    client->note = *text != '\0' ? xstrdup(text) : NULL;
    return 0;
}

static json_t *arrival(const struct edl_client *client, uint64_t after)
{
    return json_pack("{s:I,s:s*}", "after", (json_int_t)after, "note", client->note);
}

int edl_world_join(struct edl_client *client, uint64_t after, uint64_t timeout_us,
                   struct edl_world **ret)
{
    struct edl_world *world = NULL;
    struct client_wait wait = { .method = "POST",
                                .path = PATH,
                                .timeout_us = timeout_us,
                                .read = read_joined,
                                .userdata = &world };
    int r;

    if (after > INT64_MAX)
        return client_refuse(client, -EINVAL, "there is no such generation");
    wait.body = arrival(client, after);
    r = client_await(client, &wait);
    json_decref(wait.body);
    if (r == WORLD_JOINED)
        *ret = world;
    return client_result(client, r);
}

static int read_over(const json_t *answer, void *userdata, struct edl_error *error)
{
    const json_t *over = json_object_get(answer, "over");

    (void)userdata;
    if (!json_is_boolean(over))
        return client_answer_bad(PATH, error);
    return json_is_true(over) ? WORLD_OVER : CLIENT_NO_NEWS;
}

int edl_world_over(struct edl_client *client, uint64_t generation, uint64_t timeout_us)
{
    struct client_wait wait = {
        .method = "POST", .path = PATH, .timeout_us = timeout_us, .read = read_over
    };
    int r;

    if (generation == 0 || generation > INT64_MAX)
        return client_refuse(client, -EINVAL, "there is no such generation");
    wait.body = json_pack("{s:I}", "generation", (json_int_t)generation);
    r = client_await(client, &wait);
    json_decref(wait.body);
    return client_result(client, r == -ETIMEDOUT ? 0 : r);
}

/* ---- for a poll loop ---- */

int edl_world_join_begin(struct edl_client *client, uint64_t after, struct edl_wait **ret)
{
    if (after > INT64_MAX)
        return client_refuse(client, -EINVAL, "there is no such generation");
    *ret = wait_new(client, WAIT_FOR_WORLD, PATH, arrival(client, after), read_joined);
    return 0;
}

int edl_world_over_begin(struct edl_client *client, uint64_t generation, struct edl_wait **ret)
{
    if (generation == 0 || generation > INT64_MAX)
        return client_refuse(client, -EINVAL, "there is no such generation");
    *ret = wait_new(client, WAIT_FOR_OVER, PATH,
                    json_pack("{s:I}", "generation", (json_int_t)generation), read_over);
    return 0;
}

/* ---- without arriving ---- */

int edl_world_now(struct edl_client *client, struct edl_world **ret)
{
    struct edl_world *world;
    json_t *answer = NULL;
    int r = client_ask(client, "GET", PATH, NULL, &answer);

    if (r == -ENOENT) {
        client->error = (struct edl_error){ 0 };
        return WORLD_NONE;
    }
    if (r < 0)
        return client_result(client, r);
    world = xcalloc(1, sizeof *world);
    r = read_world(answer, world);
    json_decref(answer);
    if (r < 0) {
        (void)edl_world_free(world);
        return client_result(client, client_answer_bad(PATH, &client->error));
    }
    *ret = world;
    return WORLD_JOINED;
}
