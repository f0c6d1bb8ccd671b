/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - a wait for a program that has a poll loop */
#include "libedl/wait.h"

#include <errno.h>
#include <poll.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"

#define WAIT_S 20U /* of one call; the scheduler waits no longer than 30 s */
#define ANSWER_US ((WAIT_S + 90) * USEC_PER_SEC) /* and the agent bridges an outage meanwhile */
#define SLICE_US USEC_PER_SEC                    /* of a wait: patience.h says why */
#define PAUSE_FIRST_MS 50U
#define PAUSE_MOST_MS 2000U
#define AGAIN_MS 100U /* a scheduler that ends answers early */

struct edl_wait *wait_new(struct edl_client *client, enum wait_kind kind, const char *path,
                          json_t *body, client_read_fn read)
{
    struct edl_wait *wait = xcalloc(1, sizeof *wait);

    *wait = (struct edl_wait){
        .client = client,
        .kind = kind,
        .path = path,
        .body = body,
        .read = read,
        .exchange.fd = -1,
        .pause_ms = PAUSE_FIRST_MS,
        .patience = patience_of(client->patience_us),
    };
    (void)json_object_set_new(body, "wait", json_integer(WAIT_S));
    return wait;
}

struct edl_wait *edl_wait_free(struct edl_wait *wait)
{
    if (wait == NULL)
        return NULL;
    http_plain_clear(&wait->exchange);
    (void)edl_world_free(wait->world);
    json_decref(wait->body);
    free(wait);
    return NULL;
}

int edl_wait_fd(const struct edl_wait *wait)
{
    return wait->is_asking ? wait->exchange.fd : -1;
}

short edl_wait_events(const struct edl_wait *wait)
{
    return wait->exchange.events;
}

int edl_wait_timeout_ms(const struct edl_wait *wait)
{
    const struct patience *waits = wait->is_asking ? &wait->answer : &wait->pause;

    return (int)((MIN_OF(waits->left_us, SLICE_US) + USEC_PER_MSEC - 1) / USEC_PER_MSEC);
}

static void pause_for(struct edl_wait *wait, unsigned ms)
{
    http_plain_clear(&wait->exchange);
    wait->is_asking = false;
    wait->pause = patience_of(ms * USEC_PER_MSEC);
    (void)patience_plan(&wait->pause, SLICE_US, clock_read_us(CLOCK_BOOTTIME));
}

/* try_again - -EAGAIN, or what is told to a program that has no more patience */
static int try_again(struct edl_wait *wait, int code)
{
    struct edl_client *client = wait->client;

    if (patience_is_over(&wait->patience)) {
        edl_error_prefix(&client->error, "POST %.100s: ", wait->path);
        return client_result(client, code == EDL_ETOOMANY ? code : EDL_EUNREACHABLE);
    }
    client->error = (struct edl_error){ 0 };
    pause_for(wait, wait->pause_ms);
    patience_use(&wait->patience, wait->pause_ms * USEC_PER_MSEC);
    wait->pause_ms = MIN_OF(wait->pause_ms * 2, PAUSE_MOST_MS);
    return -EAGAIN;
}

/* ask - 0: the exchange is under way */
static int ask(struct edl_wait *wait)
{
    struct edl_client *client = wait->client;
    struct http_call call = { .method = "POST", .path = wait->path, .json = wait->body };
    int r = http_plain_begin(&wait->exchange, &client->base, &call);

    if (r < 0) {
        (void)edl_error_set(&client->error, EDL_EUNREACHABLE, "the agent does not answer");
        return try_again(wait, EDL_EUNREACHABLE);
    }
    wait->is_asking = true;
    wait->answer = patience_of(ANSWER_US);
    (void)patience_plan(&wait->answer, SLICE_US, clock_read_us(CLOCK_BOOTTIME));
    return 0;
}

/* take - what an answer says; -EAGAIN: there is no news yet */
static int take(struct edl_wait *wait, struct http_answer *answer)
{
    struct edl_client *client = wait->client;
    bool stored = answer->status != CLIENT_NOTHING_STORED;
    json_t *json = NULL;
    int r;

    if (client_worth_retrying(answer)) {
        r = http_answer_error(answer, &client->error);
        http_answer_clear(answer);
        if (!stored) /* the scheduler waits for room on its disk, and so do we */
            wait->patience = patience_of(client->patience_us);
        return try_again(wait, r);
    }
    wait->patience = patience_of(client->patience_us);
    wait->pause_ms = PAUSE_FIRST_MS;
    r = client_read_answer(client, answer, wait->path, &json);
    if (r == 0)
        r = wait->read(json, &wait->world, &client->error);
    json_decref(json);
    if (r != CLIENT_NO_NEWS)
        return client_result(client, r);
    pause_for(wait, ANSWER_US - wait->answer.left_us < AGAIN_MS * USEC_PER_MSEC ? AGAIN_MS : 0);
    return -EAGAIN;
}

/* hear - -EAGAIN, or the news */
static int hear(struct edl_wait *wait)
{
    struct http_answer answer = { 0 };
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);
    int r = http_plain_go_on(&wait->exchange, &answer);

    patience_spend(&wait->answer, now_us);
    if (r == 0)
        return take(wait, &answer);
    if (patience_is_over(&wait->answer)) {
        (void)edl_error_set(&wait->client->error, -ETIMEDOUT, "the agent says nothing");
        return try_again(wait, -ETIMEDOUT);
    }
    (void)patience_plan(&wait->answer, SLICE_US, now_us);
    return -EAGAIN;
}

/* is_pausing - for the next time, if there is one */
static bool is_pausing(struct edl_wait *wait)
{
    uint64_t now_us = clock_read_us(CLOCK_BOOTTIME);

    patience_spend(&wait->pause, now_us);
    if (patience_is_over(&wait->pause))
        return false;
    (void)patience_plan(&wait->pause, SLICE_US, now_us);
    return true;
}

int edl_wait_go_on(struct edl_wait *wait, struct edl_world **ret)
{
    int r;

    if (client_is_stopped(wait->client)) {
        (void)edl_error_set(&wait->client->error, -EINTR, "%s: stopped", wait->path);
        return client_result(wait->client, -EINTR);
    }
    if (!wait->is_asking && is_pausing(wait))
        return -EAGAIN;
    r = wait->is_asking ? 0 : ask(wait);
    if (r == 0)
        r = hear(wait);
    if (r == 1 && wait->kind == WAIT_FOR_WORLD)
        *ret = TAKE_PTR(wait->world);
    return r;
}
