/* SPDX-License-Identifier: Apache-2.0 */
/* order_servers.c - where a process finds the parameter servers of its job */
#include "scheduler/nodes/order_servers.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/core/core.h"
#include "scheduler/json/job_json.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define SERVERS_MAX 1024 /* edl-trainer knows no more */
#define PORT_TEXT 7      /* ":65535" and its end */

static void set_number(json_t *env, const char *name, uint64_t value)
{
    (void)json_object_set_new(env, name, json_sprintf("%" PRIu64, value));
}

/* server_at - NULL while the place has none */
static const struct process *server_at(const struct job *job, uint32_t role, uint32_t index)
{
    return job->slots[role][index].live;
}

/* count_servers - 0: one of those that are wanted is nowhere now, or there are too many */
static uint32_t count_servers(const struct job *job, uint32_t role)
{
    const uint32_t n = job->target[role];

    if (n > SERVERS_MAX || n > job->n_slots[role])
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (server_at(job, role, i) == NULL)
            return 0;
    return n;
}

/* has_one_port - all servers have the same: then a list of addresses says everything */
static bool has_one_port(const struct job *job, uint32_t role, uint32_t n)
{
    const uint16_t first = server_at(job, role, 0)->ports[0];

    for (uint32_t i = 1; i < n; i++)
        if (server_at(job, role, i)->ports[0] != first)
            return false;
    return true;
}

static char *append(char *out, const char *text)
{
    const size_t size = strlen(text);

    memcpy(out, text, size);
    return out + size;
}

static char *append_server(char *out, const struct process *server, bool with_port)
{
    const char *address = process_address(server);
    const bool is_v6 = with_port && strchr(address, ':') != NULL;
    char port[PORT_TEXT] = "";

    if (with_port)
        (void)snprintf(port, sizeof port, ":%u", server->ports[0]);
    out = append(out, is_v6 ? "[" : "");
    out = append(out, address);
    out = append(out, is_v6 ? "]" : "");
    return append(out, port);
}

static void set_list(json_t *env, const struct job *job, uint32_t role, uint32_t n)
{
    const bool with_port = job->spec->roles[role].n_ports > 0 && !has_one_port(job, role, n);
    _cleanup_free_ char *list = NULL;
    size_t size = 1;
    char *out;

    for (uint32_t i = 0; i < n; i++)
        size += strlen(process_address(server_at(job, role, i))) + sizeof "[]," + PORT_TEXT;
    out = list = xcalloc(1, size);
    for (uint32_t i = 0; i < n; i++) {
        out = append(out, i > 0 ? "," : "");
        out = append_server(out, server_at(job, role, i), with_port);
    }
    (void)json_object_set_new(env, "PADDLE_INIT_PSERVERS", json_string(list));
}

void order_servers(json_t *env, const struct process *process)
{
    const struct job *job = process->job;
    const struct job_spec *spec = job->spec;
    const int role = job_spec_role(spec, "pserver");
    const bool allocated = role >= 0 && spec->roles[role].n_ports > 0;
    const uint32_t n = role >= 0 ? count_servers(job, (uint32_t)role) : 0;
    uint32_t port = spec->port;

    if (allocated && process->role == (uint32_t)role)
        port = process->ports[0];
    else if (allocated && n > 0)
        port = server_at(job, (uint32_t)role, 0)->ports[0];
    set_number(env, "PADDLE_INIT_PORT", port);
    set_number(env, "PADDLE_INIT_PORTS_NUM", allocated ? 1 : spec->ports_num);
    set_number(env, "PADDLE_INIT_PORTS_NUM_FOR_SPARSE", allocated ? 0 : spec->ports_num_for_sparse);
    if (n > 0)
        set_list(env, job, (uint32_t)role, n);
}
