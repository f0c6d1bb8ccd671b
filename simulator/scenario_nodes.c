/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_nodes.c - the machines of a scenario */
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/scenario_reader.h"

#define PORT_FIRST 20000
#define PORT_LAST 29999

struct group_draft {
    const char *name;
    int64_t count, gpus, numa;
    uint64_t cpu, memory;
    uint32_t speed_permille;
    const json_t *labels;
};

#define AT(field) offsetof(struct group_draft, field)
static const struct document_rule group_rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(name) },
    { .key = "count",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(count),
      .min = 1,
      .max = SCENARIO_NODES_MAX },
    { .key = "cpu", .kind = DOCUMENT_CPU, .offset = AT(cpu), .min = 1, .max = SCENARIO_CPU_MAX },
    { .key = "memory",
      .kind = DOCUMENT_BYTES,
      .offset = AT(memory),
      .min = 1,
      .max = SCENARIO_MEMORY_MAX },
    { .key = "gpus", .kind = DOCUMENT_INTEGER, .offset = AT(gpus), .max = NODE_GPUS_MAX },
    { .key = "numa", .kind = DOCUMENT_INTEGER, .offset = AT(numa), .max = 16 },
    { .key = "speed",
      .kind = DOCUMENT_CALL,
      .offset = AT(speed_permille),
      .call = scenario_read_speed },
    { .key = "labels", .kind = DOCUMENT_OBJECT, .offset = AT(labels) },
};
#undef AT

static int read_labels(struct document_reader *reader, const json_t *object, struct labels *labels)
{
    size_t start = document_enter(reader, "labels");
    const char *name, *text = NULL;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t length = document_enter(reader, name);
        struct edl_error error = { 0 };
        int r = document_text(reader, value, LABEL_VALUE_MAX, &text);

        if (r < 0)
            return r;
        if (labels_set(labels, name, text, &error) < 0)
            return document_refuse(reader, "%s", error.text);
        document_leave(reader, length);
    }
    document_leave(reader, start);
    return 0;
}

/* The GPUs of a machine with several NUMA nodes are taken as spread evenly over them. */
static void fill_offer(const struct group_draft *draft, struct node_offer *offer)
{
    offer->cpu_millicores = draft->cpu;
    offer->memory_bytes = draft->memory;
    offer->gpus = (uint32_t)draft->gpus;
    offer->port_first = PORT_FIRST;
    offer->port_last = PORT_LAST;
    offer->numa_nodes = (uint8_t)draft->numa;
    for (uint32_t i = 0; i < offer->gpus && draft->numa > 1; i++)
        offer->gpu_numa[i] = (uint8_t)(i * (uint64_t)draft->numa / offer->gpus);
}

static int read_group(struct document_reader *reader, const json_t *value)
{
    struct scenario *scenario = scenario_of(reader);
    struct scenario_group *group = &scenario->groups[scenario->n_groups];
    struct group_draft draft = {
        .name = "node", .count = 1, .memory = UINT64_C(1) << 30, .speed_permille = 1000
    };
    int r = document_read(reader, value, group_rules, ELEMENTS(group_rules), &draft);

    if (r < 0)
        return r;
    if (draft.cpu == 0)
        return document_refuse(reader, "the nodes' cpu is missing");
    r = scenario_copy_name(reader, draft.name, group->name);
    if (r < 0)
        return r;
    for (size_t i = 0; i < scenario->n_groups; i++)
        if (streq(scenario->groups[i].name, group->name)) {
            (void)document_refuse(reader, "two groups of nodes are called %s", group->name);
            return edl_error_remedy(reader->error, "give each a name of its own");
        }
    fill_offer(&draft, &group->offer);
    if (draft.labels != NULL && (r = read_labels(reader, draft.labels, &group->offer.labels)) < 0)
        return r;
    group->speed_permille = draft.speed_permille;
    group->count = (uint32_t)draft.count;
    group->first = scenario->nodes;
    if (scenario->nodes + draft.count > SCENARIO_NODES_MAX)
        return document_refuse(reader, "more than %d nodes", SCENARIO_NODES_MAX);
    scenario->nodes += group->count;
    scenario->cpu_millicores += group->count * group->offer.cpu_millicores;
    scenario->n_groups++;
    return 0;
}

int scenario_read_groups(struct document_reader *reader, const json_t *array)
{
    scenario_of(reader)->groups = xcalloc(json_array_size(array), sizeof(struct scenario_group));
    return scenario_read_list(reader, array, SCENARIO_NODES_MAX, read_group);
}
