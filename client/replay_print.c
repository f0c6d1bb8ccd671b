/* SPDX-License-Identifier: Apache-2.0 */
/* replay_print.c - the contents of a record, the parts that were left out of it, and the
 * assumptions */
#include <math.h>
#include <stdio.h>

#include "client/json_read.h"
#include "client/replay.h"
#include "client/text.h"
#include "shared/macro.h"
#include "simulator/trace/record.h"
#include "simulator/trace/trace.h"

/* What is told of so many jobs, unless there are none. */
struct tale {
    const char *key;  /* of --json */
    const char *text; /* what follows the number of jobs */
    size_t at;        /* in struct recording */
};

#define AT(member) offsetof(struct recording, member)

static const struct tale tales[] = {
    { "cut", "have no end: cut at the end of the record", AT(n_cut) },
    { "killed", "were killed: their work until then counts", AT(n_killed) },
    { "failed", "failed: their work until then counts", AT(n_failed) },
    { "speeds_measured", "have the speed that the times of passes show", AT(n_measured) },
    { "speeds_assumed", "never showed how fast they are with other sizes: taken to be linear",
      AT(n_assumed) },
    { "bounds_guessed", "are in no list of jobs: bounds are the sizes that were seen",
      AT(n_guessed) },
    { "left_out_earlier", "left out: submitted before --since", AT(n_earlier) },
    { "left_out_unseen", "left out: the record begins after their submission", AT(n_unseen) },
    { "left_out_never_ran", "left out: nothing of them ever ran", AT(n_never_ran) },
};

static uint32_t number_of(const struct recording *recording, const struct tale *tale)
{
    uint32_t number;

    memcpy(&number, (const char *)recording + tale->at, sizeof(number));
    return number;
}

static double max_load(const struct replay *replay)
{
    return json_number_value(json_object_get(replay->cluster, "max_load"));
}

void replay_print(const struct replay *replay, const struct recording *recording)
{
    char begin[32], end[32];

    (void)printf("record of %zu job%s, %s to %s\n", recording->trace->n,
                 PLURAL(recording->trace->n), text_time(recording->begin_us, begin, sizeof(begin)),
                 text_time(recording->end_us, end, sizeof(end)));
    for (size_t i = 0; i < ELEMENTS(tales); i++)
        if (number_of(recording, &tales[i]) > 0)
            (void)printf("  %u %s\n", number_of(recording, &tales[i]), tales[i].text);
    if (replay->places[0] != '\0')
        (void)printf("  places for instances of %s\n", replay->places);
    if (replay->cluster != NULL)
        (void)
            printf("  the scheduler has now the policy %s, which lets jobs grow until %g %% of the "
                   "cores are granted; here all places can be had (fulfilment: 97 %%)\n",
                   json_text(replay->cluster, "policy"), 100 * max_load(replay));
    (void)printf("  as many as %u instance%s there at once\n", recording->peak,
                 recording->peak == 1 ? " was" : "s were");
    if (!isnan(recording->start_s))
        (void)printf("  an instance took %.3g s to start (median)\n", recording->start_s);
    (void)putchar('\n');
}

json_t *replay_json(const struct replay *replay, const struct recording *recording)
{
    json_t *json =
        json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}", "jobs", (json_int_t)recording->trace->n,
                  "begin_us", (json_int_t)recording->begin_us, "end_us",
                  (json_int_t)recording->end_us, "peak_instances", (json_int_t)recording->peak,
                  "start_p50_s",
                  isnan(recording->start_s) ? json_null() : json_real(recording->start_s),
                  "places_of",
                  replay->places[0] != '\0' ? json_string(replay->places) : json_null());

    if (replay->cluster != NULL)
        (void)json_object_update_new(json, json_pack("{s:s, s:f}", "policy",
                                                     json_text(replay->cluster, "policy"),
                                                     "max_load", max_load(replay)));
    for (size_t i = 0; i < ELEMENTS(tales); i++)
        (void)json_object_set_new(json, tales[i].key,
                                  json_integer((json_int_t)number_of(recording, &tales[i])));
    return json;
}
