/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_port_forward.c - `edl port-forward`: ports of a process at this machine */
#include <errno.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "client/forward.h"
#include "client/json_read.h"
#include "client/report.h"
#include "client/server.h"
#include "client/session.h"
#include "client/session_name.h"
#include "client/session_verb.h"
#include "client/verb.h"
#include "shared/error.h"

struct port_forward_options {
    struct common_options common;
    const char *address;
};

static const struct option_row port_forward_options[] = {
    { "address", "ADDRESS", "listen there, so that other machines can connect (this one only)",
      option_text, OPTION_FIELD(struct port_forward_options, address) },
};

struct state {
    sd_event *event;
    int status;
};

static void on_end(void *userdata, const struct session_end *end)
{
    struct state *state = userdata;

    if (end->error.code != 0)
        (void)report_error(&end->error);
    state->status = end->exited && end->status == 0 ? STATUS_OK : STATUS_FAILED;
    (void)sd_event_exit(state->event, 0);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
    struct state *state = userdata;

    (void)source;
    state->status = SESSION_SIGNALLED + (int)info->ssi_signo;
    return sd_event_exit(state->event, 0);
}

static int forward(struct server *server, const struct session_name *name,
                   const struct forward_port *ports, size_t n, const char *address)
{
    struct state state = { .status = STATUS_FAILED };
    struct forward *forward = NULL;
    int status = STATUS_FAILED;

    if (sd_event_new(&state.event) >= 0 &&
        session_verb_signals(state.event, on_signal, &state) >= 0)
        status = forward_open(&(struct forward_config){ .event = state.event,
                                                        .server = server,
                                                        .name = name,
                                                        .address = address,
                                                        .ports = ports,
                                                        .n_ports = n,
                                                        .on_end = on_end,
                                                        .userdata = &state },
                              &forward);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < n; i++)
            (void)printf("%s:%u -> %s%s%s:%u\n", address != NULL ? address : "127.0.0.1",
                         forward_local_port(forward, i), name->job,
                         name->process != NULL ? "." : "",
                         name->process != NULL ? name->process : "", ports[i].remote);
        (void)fflush(stdout);
        (void)sd_event_loop(state.event);
        status = state.status;
    }
    (void)forward_free(forward);
    (void)sd_event_unref(state.event);
    return status;
}

static int run(const struct invocation *invocation)
{
    const struct port_forward_options *options = invocation->options;
    const struct option_words *words = &invocation->arguments;
    struct forward_port ports[FORWARD_PORTS_MAX];
    size_t n = words->n_args - 1;
    struct edl_error error = { 0 };
    struct session_name name;
    struct server server;
    int status;

    for (size_t i = 0; i < n; i++)
        if (forward_port_read(words->args[i + 1], &ports[i], &error) < 0)
            return report_error(&error);
    status = session_verb_begin(invocation, words->args[0], &server, &name);
    if (status != STATUS_OK)
        return status;
    status = forward(&server, &name, ports, n, options->address);
    session_name_clear(&name);
    server_clear(&server);
    return status;
}

const struct verb verb_port_forward = {
    .name = "port-forward",
    .usage = "JOB[.ROLE-N] [LOCAL:]PORT... [--address ADDRESS]",
    .summary = "Reach a port of a process from this machine",
    .details =
        "Connections to the local port go to PORT of the process, if it listens there itself: a\n"
        "session is no way to other services of its node. Several ports, and 64 connections at\n"
        "once; :PORT takes any local port that is free. What is listened at is printed. It ends\n"
        "with Ctrl-C, or with the process.",
    VERB_OPTIONS(port_forward_options, struct port_forward_options),
    .min_args = 2,
    .max_args = 1 + FORWARD_PORTS_MAX,
    .run = run,
};
