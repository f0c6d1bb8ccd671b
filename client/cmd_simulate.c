/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_simulate.c - `edl simulate`: the scheduler's and the agents' own code under a virtual clock
 *
 * Four uses: seeds under faults, a scenario from a file, a known experiment by name, traces of jobs
 * under several policies. Nothing of it needs a server. */
#include <errno.h>

#include "client/report.h"
#include "client/simulate.h"
#include "client/simulate_lab.h"
#include "scheduler/core/policy/policy.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "simulator/experiment.h"

#define TRACES_MAX 64

#define AT(member) OPTION_FIELD(struct simulate_options, member)

static const struct option_row simulate_options[] = {
    { "faults", "PROFILE",
      "none, network, crash, clock, storage, stall, gone, cut, gaps, mixed, groups, slow, types, "
      "two-schedulers, storm",
      option_text, AT(faults) },
    { "seeds", "N", "how many, one after the other (100)", option_positive, AT(seeds) },
    { "first-seed", "S", "where they begin (1)", option_positive, AT(first_seed) },
    { "seed", "N", "this one only; of a scenario: of its first round", option_positive, AT(seed) },
    { "only", "LIST", "these entries of the seed's schedule, such as 3,7,12; or none", option_text,
      AT(only) },
    { "history", NULL, "print every event of the seed or round, and the acts of its plans",
      option_flag, AT(history) },
    { "night", NULL, "seeds until SIGINT or SIGTERM", option_flag, AT(night) },
    { "duration", "T", "faults and submissions happen in it (by seed)", option_period,
      AT(duration_us) },
    { "nodes", "N", "machines of a seed (by seed, 2 to 8 mostly); for traces NODESxPLACES (16x4)",
      option_text, AT(nodes) },
    { "policy", "NAME",
      "instead of the scenario's (goodput); for traces a list such as tiresias,optimus (all)",
      option_text, AT(policy) },
    { "experiment", "NAME", "case1, case2 and each -fixed or -mixed, case2-packed, tutorial",
      option_text, AT(experiment) },
    { "show", NULL, "print the experiment's scenario, do not run it", option_flag, AT(show) },
    { "rounds", "N", "of the scenario, each with the next seed (1; cases: 10)", option_positive,
      AT(rounds) },
    { "plot", "FILE",
      "write the first round's time series, tab separated; of traces a picture (SVG)", option_text,
      AT(plot) },
    { "every", "S", "print a line of the first round so often", option_period, AT(every_us) },
    { "all", NULL, "list the jobs even if there are many", option_flag, AT(all) },
    { "trace", "FILE", "a trace of jobs (edl-trace(5)); more may follow", option_list, AT(traces) },
    { "import", "KIND=DIR",
      "the traces are of a public kind, with its measurements in DIR: pollux, elasticflow",
      option_text, AT(import) },
    { "generate", "KIND",
      "make traces: poisson, diurnal, heavy-tailed, pserver; --seed and --rounds as above",
      option_text, AT(generate) },
    { "jobs", "N", "of a trace that is made (160)", option_positive, AT(jobs) },
    { "rate", "R", "submissions per hour of such a one (20)", option_text, AT(rate) },
    { "export", "FILE", "write the trace in the form of edl-trace(5) (.csv, .json), run nothing",
      option_text, AT(export_to) },
    { "round", "T", "decide so often (at events)", option_text, AT(round) },
    { "window", "T", "decide on events so close together at once (1s)", option_text, AT(window) },
    { "restart", "T", "standstill of a job after a change (30s)", option_text, AT(restart) },
    { "level", "LIST",
      "the knowledge of policies: fixed, adaptive, learnt, family, also with -history or "
      "-no-lengths "
      "(fixed)",
      option_text, AT(level) },
    { "against", "NAME", "differences from this policy, with intervals", option_text, AT(against) },
};

static int wrong_use(const char *text)
{
    struct edl_error error = { 0 };

    (void)edl_error_set(&error, -EINVAL, "simulate: %s", text);
    (void)edl_error_remedy(&error, "edl help simulate");
    return report_error(&error);
}

static bool wants_faults(const struct simulate_options *options)
{
    return options->faults != NULL || options->seeds != 0 || options->first_seed != 0 ||
           options->night || options->duration_us != 0 || options->nodes != NULL ||
           options->only != NULL;
}

static bool wants_scenario(const struct simulate_options *options)
{
    return options->rounds != 0 || options->every_us != 0 || options->plot != NULL ||
           options->show || options->all;
}

static bool wants_traces(const struct simulate_options *options)
{
    return options->traces.n > 0 || options->generate != NULL;
}

static bool wants_trace_option(const struct simulate_options *options)
{
    return options->import != NULL || options->round != NULL || options->window != NULL ||
           options->restart != NULL || options->level != NULL || options->against != NULL ||
           options->jobs != 0 || options->rate != NULL || options->export_to != NULL;
}

/* what is not of traces says so, instead of doing nothing */
static int run_traces(const struct simulate_options *options, const struct option_words *arguments)
{
    if (options->faults != NULL || options->seeds != 0 || options->first_seed != 0 ||
        options->night || options->duration_us != 0 || options->only != NULL || options->history ||
        options->experiment != NULL || options->every_us != 0 || options->show || options->all)
        return wrong_use("that option does not go with --trace");
    if (options->generate != NULL && (options->traces.n + arguments->n_args > 0 || options->import))
        return wrong_use("either --trace FILE or --generate KIND, not both");
    if (options->generate == NULL && (options->jobs != 0 || options->rate || options->rounds != 0))
        return wrong_use("--jobs, --rate and --rounds go with --generate");
    return simulate_lab(options, arguments);
}

static int set_policy(const struct simulate_options *options, struct scenario *scenario)
{
    const struct policy *policy =
        options->policy != NULL ? policy_find(options->policy) : scenario->policy;

    if (policy == NULL)
        return wrong_use("no policy has that name");
    scenario->policy = policy;
    return STATUS_OK;
}

static int run_scenario(const struct simulate_options *options, struct scenario *scenario,
                        const struct experiment *experiment)
{
    int status = set_policy(options, scenario);

    /* what --json prints is the result and nothing else */
    if (options->history)
        scenario->trace = options->common.json ? stderr : stdout;
    if (status == STATUS_OK)
        status = simulate_scenario(options, scenario, experiment);
    (void)scenario_free(scenario);
    return status;
}

static int unknown_experiment(const char *name)
{
    struct edl_error error = { 0 };
    char names[200] = "";

    for (size_t i = 0; experiment_at(i) != NULL; i++) {
        size_t used = strlen(names);

        (void)snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? ", " : "",
                       experiment_at(i)->name);
    }
    (void)edl_error_set(&error, -EINVAL, "no experiment is called \"%s\"", name);
    (void)edl_error_remedy(&error, "one of %s", names);
    return report_error(&error);
}

static int run_experiment(const struct simulate_options *options)
{
    const struct experiment *experiment = experiment_find(options->experiment);
    struct scenario *scenario = NULL;
    struct edl_error error = { 0 };

    if (experiment == NULL)
        return unknown_experiment(options->experiment);
    if (options->show) {
        (void)fputs(experiment->document, stdout);
        return STATUS_OK;
    }
    if (scenario_parse(experiment->document, strlen(experiment->document), ".", &scenario, &error) <
        0)
        return report_error(&error);
    return run_scenario(options, scenario, experiment);
}

static int run_file(const struct simulate_options *options, const char *path)
{
    struct scenario *scenario = NULL;
    struct edl_error error = { 0 };

    if (options->show)
        return wrong_use("--show goes with --experiment");
    if (scenario_load(path, &scenario, &error) < 0)
        return report_error(&error);
    return run_scenario(options, scenario, NULL);
}

static int run(const struct invocation *invocation)
{
    const struct simulate_options *options = invocation->options;
    const struct option_words *arguments = &invocation->arguments;
    bool faults = wants_faults(options);
    bool scenario = arguments->n_args > 0 || options->experiment != NULL;

    if (wants_traces(options))
        return run_traces(options, arguments);
    if (wants_trace_option(options))
        return wrong_use("that option goes with --trace FILE or --generate KIND");
    if (arguments->n_args > 1)
        return wrong_use("one scenario at a time");
    if (arguments->n_args > 0 && options->experiment != NULL)
        return wrong_use("either a FILE or --experiment, not both");
    if (scenario && faults)
        return wrong_use("that option does not go with a scenario");
    if (options->common.json && options->every_us != 0)
        return wrong_use("--every prints lines for people: leave it or --json out");
    if (scenario && options->seed > INT64_MAX)
        return wrong_use("--seed is larger than 9223372036854775807, the largest seed");
    if (!scenario && wants_scenario(options))
        return wrong_use("that option goes with a FILE or --experiment");
    if (!scenario && !faults && options->seed == 0 && !options->history)
        return wrong_use("say what: --faults PROFILE, --experiment NAME or a FILE");
    if (!scenario)
        return simulate_faults(options);
    return options->experiment != NULL ? run_experiment(options)
                                       : run_file(options, arguments->args[0]);
}

const struct verb verb_simulate = {
    .name = "simulate",
    .usage = "FILE | --experiment NAME | --trace FILE... | --generate KIND | --faults PROFILE "
             "[--seeds N | --seed N "
             "[--only LIST] "
             "[--history] | --night]",
    .summary = "Run the scheduler and its agents under a virtual clock",
    .details =
        "With --faults: seed after seed, each a history of jobs and faults; every step is checked\n"
        "from the outside. The first violation is printed with the shortest history found and the\n"
        "commands that replay both: --only leaves all but some entries of a seed's schedule out.\n"
        "With a FILE (edl-simulate(5)) or an experiment: waiting and completion times,\n"
        "utilisation, fairness and resizes. A goal that is missed is no error: MET says so, and "
        "met\n"
        "in --json. With --trace or --generate: jobs with measured speeds (edl-trace(5)) under "
        "one\n"
        "allocation policy after the other, beside bounds. Nothing needs a running cluster.",
    VERB_OPTIONS(simulate_options, struct simulate_options),
    .max_args = TRACES_MAX,
    .local = true,
    .run = run,
};
