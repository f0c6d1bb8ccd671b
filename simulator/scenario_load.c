/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_load.c - what is not ours in a scenario: load of groups of nodes, services */
#include <errno.h>
#include <stdio.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/scenario_reader.h"

#define STEPS_MAX 100000
#define SERVICES_MAX 1000

struct foreign_draft {
    struct scenario_foreign foreign;
    const char *nodes;
};

#define AT(field) offsetof(struct foreign_draft, field)
static const struct document_rule foreign_rules[] = {
    { .key = "at", .kind = DOCUMENT_TIME, .offset = AT(foreign.at_us), .max = SCENARIO_TIME_MAX },
    { .key = "nodes", .kind = DOCUMENT_TEXT, .offset = AT(nodes) },
    { .key = "cpu",
      .kind = DOCUMENT_CPU,
      .offset = AT(foreign.cpu_millicores),
      .max = SCENARIO_CPU_MAX },
    { .key = "memory",
      .kind = DOCUMENT_BYTES,
      .offset = AT(foreign.memory_bytes),
      .max = SCENARIO_MEMORY_MAX },
};
#undef AT

static int find_group(const struct scenario *scenario, const char *name, size_t *ret)
{
    for (size_t i = 0; i < scenario->n_groups; i++)
        if (streq(scenario->groups[i].name, name)) {
            *ret = i;
            return 0;
        }
    return -ENOENT;
}

static int read_foreign(struct document_reader *reader, const json_t *value)
{
    struct scenario *scenario = scenario_of(reader);
    struct foreign_draft draft = { .foreign.group = SCENARIO_ALL };
    int r = document_read(reader, value, foreign_rules, ELEMENTS(foreign_rules), &draft);

    if (r < 0)
        return r;
    if (draft.nodes != NULL && find_group(scenario, draft.nodes, &draft.foreign.group) < 0)
        return document_refuse(reader, "no group of nodes is called \"%.64s\"", draft.nodes);
    scenario->foreign[scenario->n_foreign++] = draft.foreign;
    return 0;
}

int scenario_read_foreign(struct document_reader *reader, const json_t *array)
{
    scenario_of(reader)->foreign = xcalloc(json_array_size(array), sizeof(struct scenario_foreign));
    return scenario_read_list(reader, array, STEPS_MAX, read_foreign);
}

struct step_draft {
    uint64_t at_us;
    int64_t replicas;
};

#define AT(field) offsetof(struct step_draft, field)
static const struct document_rule step_rules[] = {
    { .key = "at", .kind = DOCUMENT_TIME, .offset = AT(at_us), .max = SCENARIO_TIME_MAX },
    { .key = "replicas",
      .kind = DOCUMENT_INTEGER,
      .offset = AT(replicas),
      .max = SCENARIO_REPLICAS_MAX },
};
#undef AT

/* The service under way is the one behind the last complete one. */
static int read_step(struct document_reader *reader, const json_t *value)
{
    struct scenario *scenario = scenario_of(reader);
    struct scenario_service *service = &scenario->services[scenario->n_services];
    struct step_draft draft = { 0 };
    int r = document_read(reader, value, step_rules, ELEMENTS(step_rules), &draft);

    if (r < 0)
        return r;
    if (service->n_steps > 0 && service->steps[service->n_steps - 1].at_us >= draft.at_us)
        return document_refuse(reader, "a step must be later than the one before it");
    service->steps[service->n_steps++] =
        (struct scenario_step){ draft.at_us, (uint32_t)draft.replicas };
    return 0;
}

static int read_steps(struct document_reader *reader, const char *key, const json_t *value,
                      void *target)
{
    struct scenario *scenario = scenario_of(reader);
    struct scenario_service *service = &scenario->services[scenario->n_services];

    (void)key, (void)target;
    if (!json_is_array(value))
        return document_expected(reader, "an array", value);
    service->steps = xcalloc(json_array_size(value), sizeof(struct scenario_step));
    return scenario_read_list(reader, value, STEPS_MAX, read_step);
}

struct service_draft {
    const char *name, *place;
    uint64_t cpu, memory;
};

#define AT(field) offsetof(struct service_draft, field)
static const struct document_rule service_rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(name) },
    { .key = "cpu", .kind = DOCUMENT_CPU, .offset = AT(cpu), .min = 1, .max = SCENARIO_CPU_MAX },
    { .key = "memory", .kind = DOCUMENT_BYTES, .offset = AT(memory), .max = SCENARIO_MEMORY_MAX },
    { .key = "place", .kind = DOCUMENT_TEXT, .offset = AT(place) },
    { .key = "steps", .kind = DOCUMENT_CALL, .call = read_steps },
};
#undef AT

static int read_service(struct document_reader *reader, const json_t *value)
{
    struct scenario *scenario = scenario_of(reader);
    struct scenario_service *service = &scenario->services[scenario->n_services];
    struct service_draft draft = { .name = "service", .place = "spread" };
    int r = document_read(reader, value, service_rules, ELEMENTS(service_rules), &draft);

    if (r == 0)
        r = scenario_copy_name(reader, draft.name, service->name);
    if (r == 0 && (draft.cpu == 0 || service->n_steps == 0))
        r = document_refuse(reader, "a service needs cpu (of one replica) and steps");
    if (r == 0 && !streq(draft.place, "spread") && !streq(draft.place, "pack"))
        r = document_refuse(reader, "place is spread or pack, not \"%.40s\"", draft.place);
    if (r < 0) {
        free(service->steps);
        return r;
    }
    service->cpu_millicores = draft.cpu;
    service->memory_bytes = draft.memory;
    service->packed = streq(draft.place, "pack");
    scenario->n_services++;
    return 0;
}

int scenario_read_services(struct document_reader *reader, const json_t *array)
{
    scenario_of(reader)->services =
        xcalloc(json_array_size(array), sizeof(struct scenario_service));
    return scenario_read_list(reader, array, SERVICES_MAX, read_service);
}
