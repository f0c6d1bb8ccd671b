/* SPDX-License-Identifier: Apache-2.0 */
/* http_duplex.c - see http_duplex.h
 *
 * libcurl's callbacks only move bytes between its buffers and ours. The owner's callbacks come
 * afterwards, outside of libcurl, as they may write, and free all of this. */
#include "shared/http_duplex.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_exchange.h"
#include "shared/http_multi.h"
#include "shared/macro.h"

enum {
    LOW_MARK_BYTES = HTTP_DUPLEX_QUEUE_BYTES / 4,
    RECEIVE_BYTES = 64 * 1024, /* libcurl reads so much at once */
};

/* what the other end said last may come for so long after the POST failed */
#define LAST_WORDS_US (2 * USEC_PER_SEC)

/* Bytes in their order: those before `from` were taken. */
struct bytes {
    uint8_t *data; /* owned */
    size_t from, size, room;
};

struct half {
    struct http_duplex *duplex; /* borrowed */
    CURL *easy;                 /* owned */
    struct http_exchange exchange;
    bool begun; /* libcurl has it, and exchange is to be cleared */
    bool over;  /* libcurl has done with it */
};

struct http_duplex {
    struct http_base base;
    struct http_multi multi;
    struct half post, get;
    struct bytes queue, arrived;
    sd_event_source *last_words; /* owned; NULL until the POST failed */
    struct edl_error post_error; /* code 0: none */
    void (*on_data)(void *userdata, const uint8_t *data, size_t size);
    void (*on_room)(void *userdata);
    void (*on_sent)(void *userdata);
    void (*on_end)(void *userdata, const struct edl_error *error);
    void *userdata;
    bool paused;    /* libcurl asked for more of the body, and there was none */
    bool finished;  /* http_duplex_finish */
    bool was_small; /* the queue went beyond its low mark: on_room is owed */
    bool ended;     /* on_end was called */
    bool calling;   /* a callback runs */
    bool dead;      /* freed by a callback */
};

/* --- bytes --- */

static void bytes_add(struct bytes *bytes, const void *data, size_t size)
{
    if (bytes->from == bytes->size)
        bytes->from = bytes->size = 0;
    if (bytes->size + size > bytes->room && bytes->from > 0) {
        memmove(bytes->data, bytes->data + bytes->from, bytes->size - bytes->from);
        bytes->size -= bytes->from;
        bytes->from = 0;
    }
    if (bytes->size + size > bytes->room) {
        bytes->room = MAX_OF(bytes->room * 2, bytes->size + size);
        bytes->data = xreallocarray(bytes->data, bytes->room, 1);
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static size_t bytes_left(const struct bytes *bytes)
{
    return bytes->size - bytes->from;
}

/* --- what libcurl calls --- */

static size_t on_body(char *buffer, size_t one, size_t size, void *userdata)
{
    struct http_duplex *duplex = userdata;
    struct bytes *queue = &duplex->queue;
    size_t n = MIN_OF(one * size, bytes_left(queue));

    if (n == 0 && !duplex->finished) {
        duplex->paused = true;
        return CURL_READFUNC_PAUSE;
    }
    if (n > 0)
        memcpy(buffer, queue->data + queue->from, n);
    queue->from += n;
    return n;
}

static size_t on_answer(char *data, size_t one, size_t size, void *userdata)
{
    struct http_duplex *duplex = userdata;
    long status = 0;

    (void)curl_easy_getinfo(duplex->get.easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return http_exchange_take(data, one, size, &duplex->get.exchange);
    bytes_add(&duplex->arrived, data, one * size);
    return one * size;
}

/* --- what its owner is told --- */

static void half_end(struct half *half)
{
    if (half->begun)
        (void)curl_multi_remove_handle(half->duplex->multi.curl, half->easy);
    half->begun = false;
    half->over = true;
    curl_easy_cleanup(half->easy);
    half->easy = NULL;
    http_exchange_clear(&half->exchange);
}

static void tell_end(struct http_duplex *duplex, const struct edl_error *error)
{
    if (duplex->ended)
        return;
    duplex->ended = true;
    (void)sd_event_source_set_enabled(duplex->last_words, SD_EVENT_OFF);
    duplex->on_end(duplex->userdata, error);
}

static void free_rest(struct http_duplex *duplex)
{
    free(duplex->queue.data);
    free(duplex->arrived.data);
    free(duplex);
}

static void enter(struct http_duplex *duplex)
{
    duplex->calling = true;
}

/* leave - also of what a callback has freed */
static void leave(struct http_duplex *duplex)
{
    duplex->calling = false;
    if (duplex->dead)
        free_rest(duplex);
}

static int on_silence(sd_event_source *source, uint64_t time_us, void *userdata)
{
    struct http_duplex *duplex = userdata;

    (void)source;
    (void)time_us;
    enter(duplex);
    tell_end(duplex, &duplex->post_error);
    leave(duplex);
    return 0;
}

/* The POST is no more: its answer says that the stream is over, or why it never was. */
static void on_post_over(struct http_duplex *duplex, CURLcode result)
{
    struct http_exchange *exchange = &duplex->post.exchange;
    struct http_answer answer;
    int r;

    http_exchange_finish(exchange, result, &answer);
    r = http_answer_error(&answer, &duplex->post_error);
    http_answer_clear(&answer);
    half_end(&duplex->post);
    if (duplex->ended)
        return;
    if (r == 0) {
        if (duplex->finished && bytes_left(&duplex->queue) == 0 && duplex->on_sent != NULL)
            duplex->on_sent(duplex->userdata);
        return;
    }
    r = sd_event_add_time_relative(duplex->multi.event, &duplex->last_words, CLOCK_MONOTONIC,
                                   LAST_WORDS_US, 0, on_silence, duplex);
    if (r < 0)
        tell_end(duplex, &duplex->post_error);
}

static void on_get_over(struct http_duplex *duplex, CURLcode result)
{
    struct http_answer answer;
    struct edl_error error = { 0 };
    int r;

    http_exchange_finish(&duplex->get.exchange, result, &answer);
    r = http_answer_error(&answer, &error);
    http_answer_clear(&answer);
    half_end(&duplex->get);
    if (r == 0 && duplex->post_error.code < 0)
        tell_end(duplex, &duplex->post_error);
    else
        tell_end(duplex, r < 0 ? &error : NULL);
}

static void give_data(struct http_duplex *duplex)
{
    struct bytes *arrived = &duplex->arrived;
    size_t size = bytes_left(arrived);

    if (size == 0 || duplex->ended)
        return;
    if (duplex->last_words != NULL)
        (void)sd_event_source_set_time_relative(duplex->last_words, LAST_WORDS_US);
    arrived->from = arrived->size;
    duplex->on_data(duplex->userdata, arrived->data, size);
}

static void give_room(struct http_duplex *duplex)
{
    if (!duplex->was_small || duplex->finished || duplex->ended || duplex->post.over ||
        bytes_left(&duplex->queue) > LOW_MARK_BYTES)
        return;
    duplex->was_small = false;
    if (duplex->on_room != NULL)
        duplex->on_room(duplex->userdata);
}

/* The server may answer before the body has ended: libcurl would go on to send it, for as long as
 * it is not asked to close the connection. */
static bool is_answered(const struct half *post)
{
    long status = 0;
    curl_off_t length = -1;

    if (post->over || !post->exchange.headers_whole)
        return false;
    (void)curl_easy_getinfo(post->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(post->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return status >= 200 && (length < 0 || post->exchange.body_size >= (size_t)length);
}

static void on_turn(void *userdata)
{
    struct http_duplex *duplex = userdata;
    CURLMsg *message;
    int left;

    enter(duplex);
    give_data(duplex);
    if (!duplex->dead)
        give_room(duplex);
    while (!duplex->dead && (message = curl_multi_info_read(duplex->multi.curl, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        if (message->easy_handle == duplex->get.easy)
            on_get_over(duplex, message->data.result);
        else
            on_post_over(duplex, message->data.result);
    }
    if (!duplex->dead && is_answered(&duplex->post))
        on_post_over(duplex, CURLE_OK);
    leave(duplex);
}

/* --- what its owner calls --- */

static int half_init(struct http_duplex *duplex, struct half *half, const struct http_call *call,
                     struct edl_error *error)
{
    int r;

    half->duplex = duplex;
    half->easy = curl_easy_init();
    if (half->easy == NULL)
        abort();
    r = http_exchange_init(&half->exchange, &duplex->base, half->easy, call, error);
    if (r < 0)
        return r;
    (void)curl_easy_setopt(half->easy, CURLOPT_TIMEOUT_MS, 0L); /* a stream has none */
    (void)curl_easy_setopt(half->easy, CURLOPT_FRESH_CONNECT, 1L);
    (void)curl_easy_setopt(half->easy, CURLOPT_FORBID_REUSE, 1L);
    (void)curl_easy_setopt(half->easy, CURLOPT_TCP_NODELAY, 1L);
    (void)curl_easy_setopt(half->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    return 0;
}

static int half_begin(struct half *half, struct edl_error *error)
{
    if (curl_multi_add_handle(half->duplex->multi.curl, half->easy) != CURLM_OK)
        return edl_error_set(error, -EIO, "the HTTP client takes no stream");
    half->begun = true;
    return 0;
}

static int begin(struct http_duplex *duplex, const struct http_duplex_config *config,
                 struct edl_error *error)
{
    const struct http_call get = { .method = "GET",
                                   .path = config->out_path,
                                   .bearer_token = config->bearer_token };
    /* libcurl asks "Expect: 100-continue" before a body of unknown size, which costs a round trip
     */
    const struct http_call post = { .method = "POST",
                                    .path = config->in_path,
                                    .bearer_token = config->bearer_token,
                                    .headers = { "Transfer-Encoding: chunked", "Expect:",
                                                 "Content-Type: application/octet-stream" } };
    int r = half_init(duplex, &duplex->get, &get, error);

    if (r == 0)
        r = half_init(duplex, &duplex->post, &post, error);
    if (r < 0)
        return r;
    (void)curl_easy_setopt(duplex->get.easy, CURLOPT_WRITEFUNCTION, on_answer);
    (void)curl_easy_setopt(duplex->get.easy, CURLOPT_WRITEDATA, duplex);
    (void)curl_easy_setopt(duplex->get.easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BYTES);
    (void)curl_easy_setopt(duplex->post.easy, CURLOPT_POSTFIELDS, NULL);
    (void)curl_easy_setopt(duplex->post.easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
    (void)curl_easy_setopt(duplex->post.easy, CURLOPT_READFUNCTION, on_body);
    (void)curl_easy_setopt(duplex->post.easy, CURLOPT_READDATA, duplex);
    r = half_begin(&duplex->get, error);
    return r < 0 ? r : half_begin(&duplex->post, error);
}

int http_duplex_open(const struct http_duplex_config *config, struct http_duplex **ret,
                     struct edl_error *error)
{
    struct http_duplex *duplex;
    struct http_base base;
    int r = http_base_parse(config->base, &base, error);

    if (r < 0)
        return r;
    duplex = xcalloc(1, sizeof *duplex);
    duplex->base = base;
    if (config->ca_path != NULL)
        http_base_trust(&duplex->base, config->ca_path);
    duplex->on_data = config->on_data;
    duplex->on_room = config->on_room;
    duplex->on_sent = config->on_sent;
    duplex->on_end = config->on_end;
    duplex->userdata = config->userdata;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* counted; undone in http_duplex_free */
    r = http_multi_start(&duplex->multi, config->event, on_turn, duplex, error);
    if (r == 0)
        r = begin(duplex, config, error);
    if (r < 0) {
        (void)http_duplex_free(duplex);
        return r;
    }
    *ret = duplex;
    return 0;
}

size_t http_duplex_room(const struct http_duplex *duplex)
{
    size_t queued = bytes_left(&duplex->queue);

    if (duplex->post.over || duplex->finished || queued >= HTTP_DUPLEX_QUEUE_BYTES)
        return 0;
    return HTTP_DUPLEX_QUEUE_BYTES - queued;
}

static void go_on(struct http_duplex *duplex)
{
    if (!duplex->paused)
        return;
    duplex->paused = false;
    (void)curl_easy_pause(duplex->post.easy, CURLPAUSE_CONT);
}

void http_duplex_write(struct http_duplex *duplex, const void *data, size_t size)
{
    if (duplex->post.over || duplex->finished || size == 0)
        return;
    bytes_add(&duplex->queue, data, size);
    if (bytes_left(&duplex->queue) > LOW_MARK_BYTES)
        duplex->was_small = true;
    go_on(duplex);
}

void http_duplex_finish(struct http_duplex *duplex)
{
    if (duplex->post.over || duplex->finished)
        return;
    duplex->finished = true;
    go_on(duplex);
}

struct http_duplex *http_duplex_free(struct http_duplex *duplex)
{
    if (duplex == NULL)
        return NULL;
    half_end(&duplex->post);
    half_end(&duplex->get);
    http_multi_stop(&duplex->multi);
    (void)sd_event_source_disable_unref(duplex->last_words);
    http_base_clear(&duplex->base);
    curl_global_cleanup();
    if (duplex->calling)
        duplex->dead = true;
    else
        free_rest(duplex);
    return NULL;
}
