/* SPDX-License-Identifier: Apache-2.0 */
/* gather_reach.c - asks the scheduler for its version, and for this node's orders without waiting
 * for any: neither changes anything there */
#include "agent/doctor/gather.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/layout.h"
#include "agent/link/membership.h"
#include "agent/options.h"
#include "shared/certificate.h"
#include "shared/cleanup.h"
#include "shared/http_probe.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define PATIENCE_US (10 * USEC_PER_SEC)

static void copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from != NULL ? from : "");
}

static void read_authority(struct reach_facts *ret)
{
    _cleanup_free_ char *ca = NULL;
    char pin[CERTIFICATE_PIN_MAX] = "";

    if (whole_file_read(ret->ca_path, false, &ca, &ret->ca_fault) == 0 &&
        certificate_pin(ca, pin, &ret->ca_fault) == 0)
        copy(ret->pin, sizeof ret->pin, pin);
}

/* The Date of an answer has whole seconds: the middle of that second is meant. */
static void take_clock(const struct http_probe *probe, struct clock_facts *ret)
{
    if (probe->stage != HTTP_STAGE_DONE || probe->date_us == 0)
        return;
    ret->has_offset = true;
    ret->offset_us = (int64_t)probe->middle_us - (int64_t)(probe->date_us + USEC_PER_SEC / 2);
}

/* use_server - what was found out of another one does not count */
static void use_server(struct reach_facts *ret, const char *url)
{
    copy(ret->server, sizeof ret->server, url);
    ret->tls = strncmp(url, "https://", 8) == 0;
    ret->orders_status = 0;
    ret->orders_text[0] = ret->unstored_text[0] = ret->unstored_remedy[0] = '\0';
}

static void ask_version(struct doctor_facts *all)
{
    struct reach_facts *ret = &all->reach;
    struct http_probe probe;

    http_probe(ret->server, ret->tls && ret->ca_path[0] != '\0' ? ret->ca_path : NULL,
               &(struct http_call){
                   .method = "GET", .path = "/version", .timeout_us = PATIENCE_US },
               &probe);
    ret->stage = (int)probe.stage;
    ret->took_us = probe.took_us;
    ret->status = probe.answer.status;
    copy(ret->peer, sizeof ret->peer, probe.peer);
    copy(ret->text, sizeof ret->text, probe.answer.text);
    copy(ret->remedy, sizeof ret->remedy, probe.answer.remedy);
    copy(ret->version, sizeof ret->version,
         json_string_value(json_object_get(probe.answer.json, "version")));
    take_clock(&probe, &all->clock);
    http_probe_clear(&probe);
}

static void ask_health(struct reach_facts *ret)
{
    const struct http_call call = { .method = "GET",
                                    .path = "/healthz",
                                    .timeout_us = PATIENCE_US };
    const json_t *health;
    struct http_probe probe;

    http_probe(ret->server, ret->ca_path[0] != '\0' ? ret->ca_path : NULL, &call, &probe);
    health = probe.answer.json;
    copy(ret->unstored_text, sizeof ret->unstored_text,
         json_string_value(json_object_get(health, "detail")));
    copy(ret->unstored_remedy, sizeof ret->unstored_remedy,
         json_string_value(json_object_get(health, "remedy")));
    http_probe_clear(&probe);
}

static void ask_orders(const char *state_dir, struct reach_facts *ret)
{
    _cleanup_free_ char *file = text_format("%s/credential", state_dir);
    _cleanup_free_ char *path = text_format("/nodes/%s/orders?wait=0", ret->node);
    _cleanup_free_ char *credential = NULL;
    struct edl_error error = { 0 };
    struct http_probe probe;

    if (whole_file_read(file, false, &credential, NULL) < 0)
        return;
    credential[strcspn(credential, "\r\n")] = '\0';
    http_probe(ret->server, ret->ca_path[0] != '\0' ? ret->ca_path : NULL,
               &(struct http_call){ .method = "GET",
                                    .path = path,
                                    .bearer_token = credential,
                                    .timeout_us = PATIENCE_US },
               &probe);
    if (probe.stage == HTTP_STAGE_DONE) {
        (void)http_answer_error(&probe.answer, &error);
        ret->orders_status = probe.answer.status;
        (void)snprintf(ret->orders_text, sizeof ret->orders_text, "%.250s", error.text);
    }
    http_probe_clear(&probe);
    explicit_bzero(credential, strlen(credential));
}

/* ask - one of the schedulers; true: it is the one that leads, or the only one that matters */
static bool ask(const char *state_dir, struct doctor_facts *all)
{
    struct reach_facts *ret = &all->reach;

    ask_version(all);
    if (ret->stage != HTTP_STAGE_DONE)
        return false;
    ask_health(ret);
    if (ret->joined && ret->node[0] != '\0')
        ask_orders(state_dir, ret);
    return ret->orders_status != 503;
}

void gather_reach(const struct doctor_context *context, struct doctor_facts *all)
{
    const struct agent_options *options = context->options;
    struct reach_facts *ret = &all->reach;
    struct membership member = { 0 };

    if (membership_look(options, options->state_dir, &member, &ret->joined, &ret->member_fault) < 0)
        return;
    use_server(ret, member.server != NULL ? member.server : "");
    copy(ret->node, sizeof ret->node, member.node);
    copy(ret->ca_path, sizeof ret->ca_path, member.ca_path);
    if (ret->ca_path[0] != '\0')
        read_authority(ret);
    for (size_t i = 0; ret->ca_fault.code == 0 && i < member.servers.n; i++) {
        use_server(ret, member.servers.urls[i]);
        if (ask(options->state_dir, all))
            break;
    }
    membership_done(&member);
}
