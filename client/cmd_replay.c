/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_replay.c - `edl replay`: a cluster's own history under other policies
 *
 * The history is read and made a trace (simulator/trace/record.h); the laboratory of `edl simulate`
 * runs it. Nothing of the cluster is changed. */
#include <errno.h>
#include <math.h>

#include "client/json_read.h"
#include "client/replay.h"
#include "client/report.h"
#include "client/server.h"
#include "client/simulate_lab.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "shared/rfc3339.h"
#include "simulator/trace/record.h"

#define WINDOW                                                                                     \
    "50ms" /* the live scheduler decides at once; a burst of submissions is one event              \
            */

#define AT(member) OPTION_FIELD(struct replay_options, member)

static const struct option_row replay_options[] = {
    { "policy", "LIST", "run these, such as fulfilment,afs-l (all)", option_text, AT(policy) },
    { "since", "TIME",
      "only jobs submitted since then: 2026-12-01T18:00:00Z, or 24h before the end", option_text,
      AT(since) },
    { "nodes", "NxM",
      "N nodes with M instances each (as the ready ones are, by the median request)", option_text,
      AT(nodes) },
    { "against", "NAME", "differences from this policy (" LAB_RECORDED ")", option_text,
      AT(against) },
    { "restart", "T", "standstill of a job after a change (an instance's time to start)",
      option_text, AT(restart) },
    { "level", "LIST", "the knowledge of policies: fixed, fixed-history, fixed-no-lengths (fixed)",
      option_text, AT(level) },
    { "export", "FILE", "write the trace in the form of edl-trace(5) (.csv, .json), run nothing",
      option_text, AT(export_to) },
    { "events", "FILE", "output of `edl events --json`; no server is asked", option_text,
      AT(events) },
    { "jobs", "FILE", "output of `edl ps --all --json`, beside --events", option_text, AT(jobs) },
};

/* set_since - an instant, or so long before the end of the record */
static int set_since(const struct replay *replay, struct record_options *ret,
                     struct edl_error *error)
{
    const char *text = replay->options->since;
    uint64_t back_us;

    if (text == NULL || rfc3339_parse(text, &ret->since_us) == 0)
        return 0;
    if (parse_seconds(text, &back_us) == 0) {
        uint64_t end_us = MAX_OF(ret->end_us, record_newest_us(replay->record));

        ret->since_us = end_us - MIN_OF(back_us, end_us);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "--since: \"%s\" is no time", text);
    return edl_error_remedy(error, "2026-12-01T18:00:00Z, or 90m or 24h before the end");
}

/* check_level - of the laboratory's levels those that a record can offer: no batches, nothing to
 * measure */
static int check_level(const char *text, struct edl_error *error)
{
    static const char *const offered[] = { "fixed", "fixed-history", "fixed-no-lengths" };
    _cleanup_free_ char *list = xstrdup(text);
    char *rest = list, *name;

    while ((name = strsep(&rest, ",")) != NULL) {
        size_t i = 0;

        while (i < ELEMENTS(offered) && !streq(offered[i], name))
            i++;
        if (i < ELEMENTS(offered))
            continue;
        (void)edl_error_set(error, -EINVAL, "--level: \"%s\" is none that a record can offer",
                            name);
        return edl_error_remedy(
            error, "fixed, fixed-history, fixed-no-lengths, with a comma between them");
    }
    return 0;
}

/* check_options - what can be seen to be wrong before anything is read */
static int check_options(const struct replay_options *options, struct edl_error *error)
{
    struct record_options unused = { .end_us = 0 };
    struct replay nothing = { .options = options, .record = record_new() };
    uint32_t n_nodes, per_node;
    int r = set_since(&nothing, &unused, error);

    (void)record_free(nothing.record);
    if (r == 0 && options->nodes != NULL)
        r = lab_nodes(options->nodes, &n_nodes, &per_node, error);
    if (r == 0 && options->level != NULL)
        r = check_level(options->level, error);
    if (r < 0)
        return r;
    if (options->jobs != NULL && options->events == NULL) {
        (void)edl_error_set(error, -EINVAL, "--jobs FILE goes with --events FILE");
        return edl_error_remedy(error, "`edl events --json` writes one");
    }
    if (options->events != NULL && options->nodes == NULL && options->export_to == NULL) {
        (void)edl_error_set(error, -EINVAL, "events do not tell how many instances fit");
        return edl_error_remedy(error, "--nodes NODESxINSTANCES beside --events");
    }
    return 0;
}

struct telling {
    const struct replay *replay;
    const struct recording *recording;
};

static void print(const void *userdata)
{
    const struct telling *telling = userdata;

    replay_print(telling->replay, telling->recording);
}

/* run_policies - the laboratory over what was recorded */
static int run_policies(const struct replay *replay, const struct recording *recording)
{
    const struct telling telling = { .replay = replay, .recording = recording };
    const struct replay_options *options = replay->options;
    _cleanup_free_ char *nodes = options->nodes != NULL
                                     ? xstrdup(options->nodes)
                                     : text_format("%ux%u", replay->n_nodes, replay->per_node);
    _cleanup_free_ char *restart =
        text_format("%.0fms", isnan(recording->start_s) ? 0 : 1e3 * recording->start_s);
    _cleanup_json_ json_t *about = replay_json(replay, recording);
    const struct simulate_options lab = {
        .common = options->common,
        .policy = options->policy,
        .against = options->against != NULL ? options->against : LAB_RECORDED,
        .nodes = nodes,
        .restart = options->restart != NULL ? options->restart : restart,
        .window = WINDOW,
        .level = options->level,
        .seed = 1,
    };
    const struct lab_record record = { .trace = recording->trace,
                                       .result = &recording->result,
                                       .about = about,
                                       .print = print,
                                       .userdata = &telling };

    return simulate_lab_record(&lab, &record);
}

/* use - what was recorded; server NULL: none is asked */
static int use(struct replay *replay, struct server *server, const struct recording *recording)
{
    const struct replay_options *options = replay->options;
    struct edl_error error = { 0 };
    int status = STATUS_OK;

    if (options->export_to != NULL)
        return lab_write(recording->trace, options->export_to, &error) < 0 ? report_error(&error)
                                                                           : STATUS_OK;
    if (options->nodes == NULL)
        status = replay_places(replay, server);
    return status == STATUS_OK ? run_policies(replay, recording) : status;
}

static int replay_it(struct replay *replay, struct server *server)
{
    struct record_options how = { .end_us = replay->end_us };
    struct edl_error error = { 0 };
    struct recording recording;
    int r = set_since(replay, &how, &error);
    int status;

    if (r == 0)
        r = recording_of(replay->record, &how, &recording, &error);
    if (r < 0)
        return report_error(&error);
    status = use(replay, server, &recording);
    recording_done(&recording);
    return status;
}

static int replay_server(struct replay *replay)
{
    struct server server;
    int status = server_open(&replay->options->common, &server);

    if (status != STATUS_OK)
        return status;
    status = replay_read_server(replay, &server);
    if (status == STATUS_OK)
        status = replay_it(replay, &server);
    server_clear(&server);
    return status;
}

static int replay_files(struct replay *replay)
{
    struct edl_error error = { 0 };

    if (replay_read_files(replay, &error) < 0)
        return report_error(&error);
    return replay_it(replay, NULL);
}

static int run(const struct invocation *invocation)
{
    const struct replay_options *options = invocation->options;
    struct replay replay = { .options = options };
    struct edl_error error = { 0 };
    int status;

    if (check_options(options, &error) < 0)
        return report_error(&error);
    replay.record = record_new();
    status = options->events != NULL ? replay_files(&replay) : replay_server(&replay);
    (void)record_free(replay.record);
    json_decref(replay.jobs);
    json_decref(replay.nodes);
    json_decref(replay.cluster);
    return status;
}

const struct verb verb_replay = {
    .name = "replay",
    .usage = "[--policy LIST] [--since TIME] [--nodes NxM] [--against NAME] [--export FILE] "
             "[--events FILE [--jobs FILE]]",
    .summary = "Run the cluster's own history under other allocation policies",
    .details =
        "Events tell when each job was submitted, which of its instances ran when, and when it\n"
        "ended. That is made a trace (edl-trace(5)) and run as `edl simulate --trace` does, beside "
        "a\n"
        "row of the real history. Nothing of the cluster is changed.\nOmissions and assumptions "
        "stand above the tables.",
    VERB_OPTIONS(replay_options, struct replay_options),
    .max_args = 0,
    .run = run,
};
