/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - sinfo; see slurm.h */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/job_words.h"
#include "client/json_read.h"
#include "client/options.h"
#include "client/server.h"
#include "client/slurm/slurm.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct sinfo_options {
    const char *format, *nodes, *states;
    bool noheader, by_node, longer;
};

#define AT(member) OPTION_FIELD(struct sinfo_options, member)

static const struct option_row rows[] = {
    { "format", "FORMAT", "such as \"%P %D %t %N\"", option_text, AT(format), .letter = 'o' },
    { "nodes", "NODE,...", "only these", option_text, AT(nodes), .letter = 'n' },
    { "states", "STATE,...", "only nodes in these states", option_text, AT(states), .letter = 't' },
    { "noheader", NULL, "without the line above (also -h)", option_flag, AT(noheader) },
    { "Node", NULL, "a line for each node", option_flag, AT(by_node), .letter = 'N' },
    { "long", NULL, "a line for each node, with its size", option_flag, AT(longer), .letter = 'l' },
    { "help", NULL, "show this help", .letter = 0 },
};

static const struct options_table table = { .program = "sinfo",
                                            .rows = rows,
                                            .n_rows = ELEMENTS(rows),
                                            .column = 31,
                                            .letters = true,
                                            .ours = job_words_ours };

/* Nodes of one state, or one node. */
struct node_group {
    const char *state; /* "idle" */
    json_t *nodes;     /* owned */
};

static const char *state_of(const json_t *node)
{
    static const struct {
        const char *ours, *slurm;
    } states[] = { { "cordoned", "drain" },
                   { "draining", "drng" },
                   { "lost", "down" },
                   { "quarantined", "fail" } };
    uint64_t granted = json_u64(node, "cpu_granted_millicores");

    for (size_t i = 0; i < ELEMENTS(states); i++)
        if (streq(json_text(node, "state"), states[i].ours))
            return states[i].slurm;
    if (granted == 0)
        return "idle";
    return granted >= json_u64(node, "cpu_millicores") ? "alloc" : "mix";
}

static const char *long_state(const char *state)
{
    static const char *const words[][2] = {
        { "alloc", "allocated" }, { "mix", "mixed" }, { "drng", "draining" }, { "drain", "drained" }
    };

    for (size_t i = 0; i < ELEMENTS(words); i++)
        if (streq(state, words[i][0]))
            return words[i][1];
    return state;
}

static uint64_t sum_of(const struct node_group *group, const char *key)
{
    uint64_t sum = 0;
    size_t i;
    json_t *node;

    json_array_foreach(group->nodes, i, node)
    {
        sum += json_u64(node, key);
    }
    return sum;
}

static char *names_of(const struct node_group *group)
{
    char *names = xstrdup("");
    size_t i;
    json_t *node;

    json_array_foreach(group->nodes, i, node)
    {
        char *longer = text_format("%s%s%s", names, i > 0 ? "," : "", json_text(node, "name"));

        free(names);
        names = longer;
    }
    return names;
}

/* cpus_of - allocated/idle/other/total */
static char *cpus_of(const struct node_group *group)
{
    uint64_t total = sum_of(group, "cpu_millicores") / 1000;
    uint64_t granted = MIN_OF((sum_of(group, "cpu_granted_millicores") + 999) / 1000, total);
    bool up =
        streq(group->state, "idle") || streq(group->state, "mix") || streq(group->state, "alloc");

    return text_format("%" PRIu64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64, granted,
                       up ? total - granted : 0, up ? 0 : total - granted, total);
}

static char *cell_of(char letter, void *of)
{
    const struct node_group *group = of;
    const json_t *first = json_array_get(group->nodes, 0);
    uint64_t gpus = json_u64(first, "gpus");

    switch (letter) {
    case 'P':
        return xstrdup(SLURM_PARTITION "*");
    case 'R':
        return xstrdup(SLURM_PARTITION);
    case 'a':
        return xstrdup("up");
    case 'l':
        return xstrdup("infinite");
    case 'D':
        return text_format("%zu", json_array_size(group->nodes));
    case 't':
        return xstrdup(group->state);
    case 'T':
        return xstrdup(long_state(group->state));
    case 'N':
    case 'n':
        return names_of(group);
    case 'c':
        return text_format("%" PRIu64, json_u64(first, "cpu_millicores") / 1000);
    case 'C':
        return cpus_of(group);
    case 'm':
        return text_format("%" PRIu64, json_u64(first, "memory_bytes") >> 20);
    case 'G':
        return gpus > 0 ? text_format("gpu:%" PRIu64, gpus) : xstrdup("(null)");
    case 'E':
        return xstrdup(*json_text(first, "reason") != '\0' ? json_text(first, "reason") : "none");
    default:
        return NULL;
    }
}

static char *header_of(char letter, void *of)
{
    static const struct {
        char letter;
        const char *header;
    } headers[] = { { 'P', "PARTITION" }, { 'R', "PARTITION" },     { 'a', "AVAIL" },
                    { 'l', "TIMELIMIT" }, { 'D', "NODES" },         { 't', "STATE" },
                    { 'T', "STATE" },     { 'N', "NODELIST" },      { 'n', "HOSTNAMES" },
                    { 'c', "CPUS" },      { 'C', "CPUS(A/I/O/T)" }, { 'm', "MEMORY" },
                    { 'G', "GRES" },      { 'E', "REASON" } };

    (void)of;
    for (size_t i = 0; i < ELEMENTS(headers); i++)
        if (headers[i].letter == letter)
            return xstrdup(headers[i].header);
    return NULL;
}

static const char *format_of(const struct sinfo_options *options)
{
    if (options->format != NULL)
        return options->format;
    if (options->longer)
        return "%.10N %.6D %.9P %.9T %.4c %.8m %.6G %E";
    return options->by_node ? "%.10N %.6D %.9P %t" : "%9P %5a %10l %6D %6t %N";
}

/* add - to the group of its state, unless each node has a line of its own; at most n groups */
static size_t add(struct node_group *groups, size_t n, bool alone, const json_t *node)
{
    const char *state = state_of(node);
    size_t i = alone ? n : 0;

    while (i < n && !streq(groups[i].state, state))
        i++;
    if (i == n)
        groups[n++] = (struct node_group){ .state = state, .nodes = json_array() };
    (void)json_array_append(groups[i].nodes, (json_t *)(uintptr_t)node);
    return n;
}

static int print(const struct sinfo_options *options, const json_t *nodes)
{
    _cleanup_free_ struct node_group *groups = xcalloc(json_array_size(nodes) + 1, sizeof *groups);
    bool alone = options->by_node || options->longer;
    struct edl_error error = { 0 };
    size_t n = 0, i;
    json_t *node;
    int r = 0;

    json_array_foreach(nodes, i, node)
    {
        if ((options->nodes == NULL || slurm_is_in(options->nodes, json_text(node, "name"))) &&
            (options->states == NULL || slurm_is_in(options->states, state_of(node)) ||
             slurm_is_in(options->states, long_state(state_of(node)))))
            n = add(groups, n, alone, node);
    }
    if (!options->noheader)
        r = slurm_format_print(format_of(options), header_of, NULL, &error);
    for (i = 0; i < n; i++) {
        if (r == 0)
            r = slurm_format_print(format_of(options), cell_of, &groups[i], &error);
        json_decref(groups[i].nodes);
    }
    return r < 0 ? slurm_fail("sinfo", &error) : 0;
}

int slurm_sinfo(int argc, char **argv)
{
    struct sinfo_options options = { 0 };
    struct option_words words = { 0 };
    _cleanup_json_ json_t *answer = NULL;
    struct server server;
    int status = slurm_options(&table, argc, argv, &options, &words);

    option_words_clear(&words);
    if (status != 0)
        return status - 1;
    if (slurm_open(&server) != 0)
        return 1;
    status = server_list(&server, "/nodes?limit=1000", "nodes", &answer);
    server_clear(&server);
    return status == 0 ? print(&options, json_object_get(answer, "nodes")) : 1;
}
