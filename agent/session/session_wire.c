/* SPDX-License-Identifier: Apache-2.0 */
/* session_wire.c - see session_wire.h */
#include "agent/session/session_wire.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "agent/session/session_request.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_duplex.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define PING_US (SESSION_PING_S * USEC_PER_SEC)

struct session_wire {
    struct session_wire_config config;
    struct http_duplex *duplex; /* owned */
    sd_event_source *ping;      /* owned */
    struct session_reader reader;
    bool over;
};

static void end(struct session_wire *wire, const struct edl_error *error)
{
    if (wire->over)
        return;
    wire->over = true;
    wire->config.on_end(wire->config.userdata, error);
}

static void on_data(void *userdata, const uint8_t *data, size_t size)
{
    struct session_wire *wire = userdata;
    struct edl_error error = { 0 };
    struct session_frame frame;
    int r = 0;

    while (!wire->over &&
           (r = session_reader_take(&wire->reader, &data, &size, &frame, &error)) > 0)
        wire->config.on_frame(wire->config.userdata, &frame);
    if (r < 0)
        end(wire, &error);
}

static void on_room(void *userdata)
{
    struct session_wire *wire = userdata;

    if (!wire->over)
        wire->config.on_room(wire->config.userdata);
}

static void on_sent(void *userdata)
{
    struct session_wire *wire = userdata;

    wire->config.on_sent(wire->config.userdata);
}

static void on_end(void *userdata, const struct edl_error *error)
{
    end(userdata, error);
}

static int on_ping(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct session_wire *wire = userdata;

    (void)usec;
    session_wire_send(wire, SESSION_PING, 0, NULL, 0);
    (void)sd_event_source_set_time_relative(source, PING_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int session_wire_open(const struct session_wire_config *config, struct session_wire **ret,
                      struct edl_error *error)
{
    const struct session_config *session = config->session;
    struct session_wire *wire = xcalloc(1, sizeof *wire);
    _cleanup_free_ char *in =
        text_format("/nodes/%s/sessions/%s/in", session->node, session->request.id);
    _cleanup_free_ char *out =
        text_format("/nodes/%s/sessions/%s/out", session->node, session->request.id);
    int r;

    wire->config = *config;
    r = http_duplex_open(&(struct http_duplex_config){ .event = config->event,
                                                       .base = session->server,
                                                       .ca_path = session->ca,
                                                       .bearer_token = session->credential,
                                                       .in_path = in,
                                                       .out_path = out,
                                                       .on_data = on_data,
                                                       .on_room = on_room,
                                                       .on_sent = on_sent,
                                                       .on_end = on_end,
                                                       .userdata = wire },
                         &wire->duplex, error);
    if (r == 0) {
        r = sd_event_add_time_relative(config->event, &wire->ping, CLOCK_MONOTONIC, PING_US, 0,
                                       on_ping, wire);
        if (r < 0)
            r = edl_error_errno(error, r, "the event loop");
    }
    if (r < 0) {
        (void)session_wire_free(wire);
        return r;
    }
    *ret = wire;
    return 0;
}

size_t session_wire_room(const struct session_wire *wire)
{
    size_t room = wire->over ? 0 : http_duplex_room(wire->duplex);

    return room <= SESSION_HEAD_BYTES ? 0
                                      : MIN_OF(room - SESSION_HEAD_BYTES, (size_t)SESSION_DATA_MAX);
}

void session_wire_send(struct session_wire *wire, enum session_frame_type type, unsigned channel,
                       const void *data, size_t size)
{
    uint8_t head[SESSION_HEAD_BYTES];

    if (wire->over)
        return;
    session_frame_head(type, (uint16_t)channel, size, head);
    http_duplex_write(wire->duplex, head, sizeof head);
    if (size > 0)
        http_duplex_write(wire->duplex, data, size);
}

void session_wire_note(struct session_wire *wire, const char *text)
{
    session_wire_send(wire, SESSION_NOTE, 0, text, MIN_OF(strlen(text), (size_t)SESSION_DATA_MAX));
}

/* json_of - a text that was cut in the middle of a character, or has bytes that are none, has
 * question marks there */
static json_t *json_of(const char *text)
{
    json_t *json = json_string(text);
    _cleanup_free_ char *plain = NULL;

    if (json != NULL)
        return json;
    plain = xstrdup(text);
    for (char *at = plain; *at != '\0'; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    return json_string(plain);
}

void session_wire_error(struct session_wire *wire, unsigned channel, const struct edl_error *why,
                        int code)
{
    json_t *json = json_pack("{s:o, s:o, s:i}", "text", json_of(why->text), "remedy",
                             json_of(why->remedy), "code", code);
    _cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);

    json_decref(json);
    if (text != NULL)
        session_wire_send(wire, SESSION_ERROR, channel, text, strlen(text));
}

void session_wire_window(struct session_wire *wire, unsigned channel, uint32_t size)
{
    uint8_t data[4];

    if (size == 0)
        return;
    session_put_u32(size, data);
    session_wire_send(wire, SESSION_WINDOW, channel, data, sizeof data);
}

void session_wire_finish(struct session_wire *wire)
{
    (void)sd_event_source_set_enabled(wire->ping, SD_EVENT_OFF);
    http_duplex_finish(wire->duplex);
}

struct session_wire *session_wire_free(struct session_wire *wire)
{
    if (wire == NULL)
        return NULL;
    (void)sd_event_source_disable_unref(wire->ping);
    (void)http_duplex_free(wire->duplex);
    free(wire);
    return NULL;
}
