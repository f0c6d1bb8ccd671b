/* SPDX-License-Identifier: Apache-2.0 */
/* scenario_document.c - the document of a scenario: its own keys, then its parts
 *
 * The parts are read in a fixed order, not in the document's, as some name others. Whole numbers
 * are read as int64_t into a draft and narrowed; the tables' bounds make that safe. */
#include <stdio.h>

#include "scheduler/core/policy/policy.h"
#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/macro.h"
#include "simulator/scenario_file.h"
#include "simulator/scenario_reader.h"

#define SAMPLE_MIN_US 1000

struct top_draft {
    const char *name, *policy;
    int64_t seed;
    int ignores_speed, ignores_types, first_come;
    struct sim_range plateau;
    const json_t *nodes, *jobs, *foreign, *services;
    struct scenario scenario; /* the plain values only */
};

#define AT(field) offsetof(struct top_draft, field)
#define TIME_RULE(key_, field, min_)                                                               \
    {                                                                                              \
        .key = key_, .kind = DOCUMENT_TIME, .offset = AT(scenario.field), .min = min_,             \
        .max = SCENARIO_TIME_MAX                                                                   \
    }
#define CALL_RULE(key_, field, call_)                                                              \
    {                                                                                              \
        .key = key_, .kind = DOCUMENT_CALL, .offset = AT(field), .call = call_                     \
    }

static const struct document_rule top_rules[] = {
    { .key = "name", .kind = DOCUMENT_TEXT, .offset = AT(name) },
    { .key = "policy", .kind = DOCUMENT_TEXT, .offset = AT(policy) },
    { .key = "seed", .kind = DOCUMENT_INTEGER, .offset = AT(seed), .max = INT64_MAX },
    TIME_RULE("duration", duration_us, 1),
    TIME_RULE("begin", begin_us, 0),
    TIME_RULE("parking", parking_us, 0),
    TIME_RULE("sample", sample_us, SAMPLE_MIN_US),
    TIME_RULE("heartbeat", heartbeat_us, SAMPLE_MIN_US),
    TIME_RULE("lease", lease_us, SAMPLE_MIN_US),
    TIME_RULE("lease-margin", lease_margin_us, SAMPLE_MIN_US),
    CALL_RULE("plateau", plateau, scenario_read_range),
    CALL_RULE("max-load", scenario.max_load_permille, scenario_read_permille),
    CALL_RULE("latency", scenario.latency, scenario_read_range),
    CALL_RULE("commit", scenario.commit, scenario_read_range),
    CALL_RULE("loss", scenario.loss_ppm, scenario_read_ppm),
    { .key = "first-come", .kind = DOCUMENT_BOOLEAN, .offset = AT(first_come) },
    { .key = "ignore-speed", .kind = DOCUMENT_BOOLEAN, .offset = AT(ignores_speed) },
    { .key = "ignore-gpu-types", .kind = DOCUMENT_BOOLEAN, .offset = AT(ignores_types) },
    { .key = "nodes", .kind = DOCUMENT_ARRAY, .offset = AT(nodes) },
    { .key = "jobs", .kind = DOCUMENT_ARRAY, .offset = AT(jobs) },
    { .key = "foreign", .kind = DOCUMENT_ARRAY, .offset = AT(foreign) },
    { .key = "services", .kind = DOCUMENT_ARRAY, .offset = AT(services) },
};

static int finish_top(struct document_reader *reader, const struct top_draft *draft)
{
    struct scenario *scenario = scenario_of(reader);
    int r = scenario_copy_name(reader, draft->name, scenario->name);

    if (r < 0)
        return r;
    scenario->policy = policy_find(draft->policy);
    if (scenario->policy == NULL) {
        char names[120];

        policy_names(names, sizeof names);
        (void)edl_error_at(reader->error, EDL_EBADSPEC, "/policy", "no policy is called \"%.64s\"",
                           draft->policy);
        return edl_error_remedy(reader->error, "known: %s", names);
    }
    scenario->seed = (uint64_t)draft->seed;
    scenario->first_come = draft->first_come;
    scenario->ignores_speed = draft->ignores_speed;
    scenario->ignores_types = draft->ignores_types;
    scenario->plateau_from_us = draft->plateau.min_us;
    scenario->plateau_to_us = draft->plateau.max_us;
    if (scenario->plateau_to_us <= scenario->plateau_from_us)
        return edl_error_at(reader->error, EDL_EBADSPEC, "/plateau",
                            "two times are expected, [FROM, TO]");
    return 0;
}

/* read_part - one of the lists, with its key in the pointer */
static int read_part(struct document_reader *reader, const char *key, const json_t *array,
                     int (*read)(struct document_reader *reader, const json_t *array))
{
    size_t length = document_enter(reader, key);
    int r = read(reader, array);

    if (r == 0)
        document_leave(reader, length);
    return r;
}

static int read_parts(struct document_reader *reader, const struct top_draft *draft)
{
    const struct {
        const char *key;
        const json_t *array;
        int (*read)(struct document_reader *reader, const json_t *array);
    } parts[] = {
        { "nodes", draft->nodes, scenario_read_groups },
        { "jobs", draft->jobs, scenario_read_jobs },
        { "foreign", draft->foreign, scenario_read_foreign },
        { "services", draft->services, scenario_read_services },
    };

    if (json_array_size(draft->nodes) == 0)
        return document_refuse(reader, "the nodes are missing (key \"nodes\")");
    for (size_t i = 0; i < ELEMENTS(parts); i++) {
        int r = read_part(reader, parts[i].key, parts[i].array, parts[i].read);

        if (r < 0)
            return r;
    }
    return 0;
}

static int read_scenario(struct scenario_reader *reader, const json_t *document)
{
    struct top_draft draft = {
        .name = "scenario",
        .policy = policy_default->name,
        .seed = 1,
        .plateau = { 0, NEVER_US },
        /* a local network and a disk that syncs; the rest are the daemons' defaults */
        .scenario = { .sample_us = USEC_PER_SEC,
                      .max_load_permille = 970,
                      .parking_us = 3600 * USEC_PER_SEC,
                      .heartbeat_us = 2 * USEC_PER_SEC,
                      .lease_us = 5 * USEC_PER_SEC,
                      .lease_margin_us = 1250 * USEC_PER_MSEC,
                      .latency = { 200, 2 * USEC_PER_MSEC },
                      .commit = { USEC_PER_MSEC, 5 * USEC_PER_MSEC } },
    };
    int r = document_read(&reader->reader, document, top_rules, ELEMENTS(top_rules), &draft);

    if (r < 0)
        return r;
    *reader->scenario = draft.scenario;
    r = finish_top(&reader->reader, &draft);
    return r < 0 ? r : read_parts(&reader->reader, &draft);
}

int scenario_parse(const char *text, size_t size, const char *folder, struct scenario **ret,
                   struct edl_error *error)
{
    struct edl_error own = { 0 };
    struct scenario_reader reader = { .reader.error = error != NULL ? error : &own,
                                      .folder = folder };
    json_t *document = NULL;
    int r = job_document_parse(text, size, &scenario_file_bounds, &document, error);

    if (r < 0)
        return r;
    reader.scenario = xcalloc(1, sizeof(*reader.scenario));
    r = read_scenario(&reader, document);
    json_decref(document);
    if (r < 0)
        (void)scenario_free(reader.scenario);
    else
        *ret = reader.scenario;
    return r;
}
