/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_faults.c - seed after seed under a profile of faults, until a check is violated */
#include "client/simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "client/json_read.h"
#include "client/report.h"
#include "client/signal_again.h"
#include "client/text.h"
#include "scheduler/core/policy/policy.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"
#include "shared/parse.h"
#include "simulator/sim.h"

#define PROFILE_DEFAULT "mixed"
#define SEEDS_DEFAULT 100
#define PROGRESS_EVERY_US (USEC_PER_SEC / 2)
#define ONLY_NONE "none"
#define LINE_COLUMNS 100
#define TEXT_BYTES 512
#define STACK_BYTES (64 * 1024)
#define NODES_MAX 100000
#define US_PER_HOUR (3600.0 * 1e6)

struct series {
    const struct simulate_options *options;
    const char *profile;
    uint64_t seeds, violations; /* so far */
    uint64_t nodes;             /* of --nodes; 0: by seed */
    uint64_t events, node_us;
    uint64_t seen[_SIM_SEEN_MAX];
    uint64_t begin_us, told_us; /* monotonic */
    uint64_t cpu_begin_us;      /* of this process, which has one thread */
    bool terminal;              /* someone watches stderr */
    bool interrupted;           /* before the last seed */
    uint32_t *only;             /* owned; as sim_run_options has it */
    size_t n_only;
    json_t *found; /* array, owned; only for --json */
};

static volatile sig_atomic_t stop_wanted;

/* What a handler says of the seed under way. Two texts, so that a whole one is always there. */
static char seed_texts[2][TEXT_BYTES];
static const char *volatile seed_text = "";

/* Only what is safe in a handler: the code under test may have broken anything. */
static void on_crash(int number)
{
    const char *text = seed_text;
    ssize_t written = write(STDERR_FILENO, text, strlen(text));

    (void)written;
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* A second signal ends the process as usual, and tells the seed that does not end. */
static void on_signal(int number)
{
    static uint64_t first_us;

    if (signal_again(&first_us))
        on_crash(number);
    stop_wanted = 1;
}

static void catch_signals(void)
{
    static const int crashes[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV };
    static char stack[STACK_BYTES];
    struct sigaction stop = { .sa_handler = on_signal };
    struct sigaction crash = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK };

    /* a recursion without end leaves no room on the usual one */
    (void)sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
    for (size_t i = 0; i < ELEMENTS(crashes); i++)
        (void)sigaction(crashes[i], &crash, NULL);
    (void)sigaction(SIGINT, &stop, NULL);
    (void)sigaction(SIGTERM, &stop, NULL);
}

static double seconds(const struct series *series)
{
    return (double)(clock_read_us(CLOCK_MONOTONIC) - series->begin_us) / USEC_PER_SEC;
}

static double cpu_seconds(const struct series *series)
{
    return (double)(clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - series->cpu_begin_us) / USEC_PER_SEC;
}

static double node_hours(const struct series *series)
{
    return (double)series->node_us / US_PER_HOUR;
}

/* Node-hours for a second of one core: what else the machine does is left out. */
static double speed(const struct series *series)
{
    double passed = cpu_seconds(series);

    return passed > 0 ? node_hours(series) / passed : 0;
}

static void tell_progress(struct series *series, uint64_t wanted)
{
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);

    if (!series->terminal || now_us - series->told_us < PROGRESS_EVERY_US)
        return;
    series->told_us = now_us;
    (void)fprintf(stderr, "\r%" PRIu64, series->seeds);
    if (wanted != UINT64_MAX)
        (void)fprintf(stderr, " of %" PRIu64, wanted);
    (void)fprintf(stderr, " seed%s, %" PRIu64 " event%s, %.1f node-hours, %.0f a second \033[K",
                  PLURAL(wanted != UINT64_MAX ? wanted : series->seeds), series->events,
                  PLURAL(series->events), node_hours(series), speed(series));
}

static void end_progress(const struct series *series)
{
    if (series->terminal && series->told_us != 0)
        (void)fputs("\r\033[K", stderr);
}

/* What --only says of so many entries; new string. */
static char *numbers_to_text(const uint32_t *numbers, size_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        abort();
    for (size_t i = 0; i < n; i++)
        (void)fprintf(file, "%s%" PRIu32, i > 0 ? "," : "", numbers[i]);
    (void)fputs(n == 0 ? ONLY_NONE : "", file);
    (void)fclose(file);
    return text;
}

/* replay_command - with every option that shaped the history; only NULL: with every entry; new
 * string */
static char *replay_command(const struct series *series, uint64_t seed, const char *only)
{
    const struct simulate_options *options = series->options;
    _cleanup_free_ char *duration =
        options->duration_us == 0 ? xstrdup("")
                                  : text_format(" --duration %" PRIu64 "us", options->duration_us);
    _cleanup_free_ char *nodes =
        series->nodes == 0 ? xstrdup("") : text_format(" --nodes %" PRIu64, series->nodes);

    return text_format("edl simulate --faults %s --seed %" PRIu64 "%s%s%s%s%s%s --history",
                       series->profile, seed, duration, nodes,
                       options->policy != NULL ? " --policy " : "",
                       options->policy != NULL ? options->policy : "",
                       only != NULL ? " --only " : "", only != NULL ? only : "");
}

static void remember_seed(const struct series *series, uint64_t seed)
{
    _cleanup_free_ char *replay = replay_command(series, seed, series->options->only);
    char *text = seed_texts[series->seeds % ELEMENTS(seed_texts)];

    (void)snprintf(text, TEXT_BYTES, "\nedl: a signal ended seed %" PRIu64 " of %s\nreplay: %s\n",
                   seed, series->profile, replay);
    seed_text = text;
}

/* A night may find many: each is printed at once, in a line of its own, and kept nowhere. */
static void tell_json(struct series *series, json_t *take_violation)
{
    if (!series->options->night) {
        (void)json_array_append_new(series->found, take_violation);
        return;
    }
    (void)json_dumpf(take_violation, stdout, JSON_COMPACT);
    (void)putchar('\n');
    (void)fflush(stdout);
    json_decref(take_violation);
}

static void print_violation(struct series *series, uint64_t seed, const struct sim_result *result)
{
    _cleanup_free_ char *replay = replay_command(series, seed, series->options->only);
    _cleanup_free_ char *left = numbers_to_text(result->left, result->schedule_left);
    _cleanup_free_ char *replay_short =
        result->history != NULL ? replay_command(series, seed, left) : xstrdup("");
    double at_s = (double)result->violated_us / USEC_PER_SEC;
    const char *history = result->history != NULL ? result->history : "";
    const char *schedule = result->schedule != NULL ? result->schedule : "";

    if (series->options->common.json) {
        tell_json(series, json_pack("{s:I, s:f, s:s, s:s, s:f, s:s, s:s, s:s, s:s}", "seed",
                                    (json_int_t)seed, "at_s", at_s, "violation", result->violation,
                                    "shortened", result->shorter, "shortened_at_s",
                                    (double)result->shorter_us / USEC_PER_SEC, "history", history,
                                    "schedule", schedule, "replay", replay, "replay_shortened",
                                    replay_short));
        return;
    }
    (void)printf("seed %" PRIu64 ": violated after %.6f s: %s\n", seed, at_s, result->violation);
    if (*schedule != '\0')
        (void)printf("\nThe faults in order (%" PRIu32 " of %" PRIu32 " are enough):\n%s",
                     result->schedule_left, result->schedule_full, schedule);
    if (*history != '\0')
        (void)printf(
            "\nThe shortened history is violated after %.6f s: %s\nThe last events before it:\n%s",
            (double)result->shorter_us / USEC_PER_SEC, result->shorter, history);
    (void)printf("\nreplay: %s\n", replay);
    if (*history != '\0')
        (void)printf("the shortened history: %s\n", replay_short);
    (void)putchar('\n');
}

static int run_seed(struct series *series, uint64_t seed, const struct policy *policy,
                    struct edl_error *error)
{
    const struct simulate_options *given = series->options;
    struct sim_run_options options = {
        .profile = series->profile,
        .duration_us = given->duration_us,
        .nodes = (uint32_t)series->nodes,
        .policy = policy,
        .only = series->only,
        .n_only = series->n_only,
        .no_shrink = given->history, /* which is of one seed as it is */
        .trace = !given->history      ? NULL
                 : given->common.json ? stderr
                                      : stdout,
    };
    struct sim_result result = { .failed = false };
    int r;

    remember_seed(series, seed);
    r = sim_run_seed(&options, seed, &result, error);

    if (r < 0)
        return r;
    series->seeds++;
    series->events += result.events;
    series->node_us += result.node_us;
    for (size_t i = 0; i < _SIM_SEEN_MAX; i++)
        series->seen[i] += result.seen[i];
    if (result.failed) {
        series->violations++;
        end_progress(series);
        print_violation(series, seed, &result);
    }
    sim_result_done(&result);
    return 0;
}

static json_t *seen_to_json(const struct series *series)
{
    json_t *object = json_object();

    for (size_t i = 0; i < _SIM_SEEN_MAX; i++)
        (void)json_object_set_new(object, sim_seen_to_string((enum sim_seen)i),
                                  json_integer((json_int_t)series->seen[i]));
    return object;
}

/* What the histories contained, so that anybody sees what the promises were held against. */
static void print_seen(const struct series *series)
{
    size_t column = LINE_COLUMNS;
    size_t n = series->seen[SIM_SEEN_TERMS] > 0 ? _SIM_SEEN_MAX : SIM_SEEN_ALONE_MAX;

    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *text =
            text_format("%" PRIu64 " %s%s", series->seen[i], sim_seen_to_string((enum sim_seen)i),
                        i + 1 < n ? "," : "");

        if (column + 1 + strlen(text) > LINE_COLUMNS) {
            (void)fputs(i == 0 ? " " : "\n ", stdout);
            column = 1;
        }
        (void)printf(" %s", text);
        column += 1 + strlen(text);
    }
    (void)putchar('\n');
}

static void print_summary(struct series *series)
{
    double passed = seconds(series);

    end_progress(series);
    if (series->options->common.json) {
        _cleanup_json_ json_t *object =
            json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:o, s:O}", "profile",
                      series->profile, "seeds", (json_int_t)series->seeds, "events",
                      (json_int_t)series->events, "node_hours", node_hours(series), "seconds",
                      passed, "cpu_seconds", cpu_seconds(series), "node_hours_per_cpu_second",
                      speed(series), "violations", (json_int_t)series->violations, "seen",
                      seen_to_json(series), "found", series->found);

        json_print(object);
        return;
    }
    (void)printf("%s: %" PRIu64 " seed%s, %" PRIu64 " event%s, %.1f node-hours in %.1f s, %.0f "
                 "node-hours a CPU second, %" PRIu64 " violation%s\n",
                 series->profile, series->seeds, PLURAL(series->seeds), series->events,
                 PLURAL(series->events), node_hours(series), passed, speed(series),
                 series->violations, series->violations == 1 ? "" : "s");
    print_seen(series);
}

static int check_profile(const char *profile, struct edl_error *error)
{
    const char *names[32], *nearest;
    char list[200] = "";
    size_t n = 0;

    for (; n < ELEMENTS(names) && (names[n] = sim_profile_name(n)) != NULL; n++) {
        size_t used = strlen(list);

        if (streq(names[n], profile))
            return 0;
        (void)snprintf(list + used, sizeof(list) - used, "%s%s", n > 0 ? ", " : "", names[n]);
    }
    nearest = nearest_word(profile, names, n);
    (void)edl_error_set(error, -EINVAL, "no profile of faults is called \"%s\"; there are %s",
                        profile, list);
    return edl_error_remedy(error, "edl simulate --faults %s",
                            nearest != NULL ? nearest : PROFILE_DEFAULT);
}

/* "3,7,12" or "none" */
static int parse_only(struct series *series, struct edl_error *error)
{
    const char *given = series->options->only;
    _cleanup_free_ char *text = xstrdup(given);
    char *rest = text;
    const char *word;

    series->only = xcalloc(strlen(given) / 2 + 1, sizeof *series->only);
    while (!streq(given, ONLY_NONE) && (word = strsep(&rest, ",")) != NULL) {
        uint64_t number;

        if (parse_u64(word, &number) < 0 || number > UINT32_MAX) {
            (void)edl_error_set(error, -EINVAL, "--only: \"%s\" is no number of an entry", word);
            return edl_error_remedy(error, "numbers such as 3,7,12, or " ONLY_NONE);
        }
        series->only[series->n_only++] = (uint32_t)number;
    }
    return 0;
}

static int check(struct series *series, const struct policy **ret_policy, struct edl_error *error)
{
    const struct simulate_options *options = series->options;

    if (options->seed != 0 && (options->seeds != 0 || options->first_seed != 0 || options->night))
        return edl_error_set(error, -EINVAL, "--seed is one seed: leave the others out");
    if (options->seed > INT64_MAX || options->first_seed > INT64_MAX)
        return edl_error_set(error, -EINVAL, "%s is larger than %" PRId64 ", the largest seed",
                             options->seed > INT64_MAX ? "--seed" : "--first-seed", INT64_MAX);
    if (options->night && options->seeds != 0)
        return edl_error_set(error, -EINVAL, "--night runs until stopped: leave --seeds out");
    if ((options->history || options->only != NULL) && options->seed == 0)
        return edl_error_set(error, -EINVAL, "%s needs --seed N",
                             options->history ? "--history" : "--only");
    if (options->nodes != NULL && (parse_u64(options->nodes, &series->nodes) < 0 ||
                                   series->nodes == 0 || series->nodes > NODES_MAX))
        return edl_error_set(error, -EINVAL,
                             "--nodes: a whole number from 1 to %d is expected, not \"%s\"",
                             NODES_MAX, options->nodes);
    if (options->policy != NULL && (*ret_policy = policy_find(options->policy)) == NULL)
        return edl_error_set(error, -EINVAL, "no policy is called \"%s\"", options->policy);
    return check_profile(series->profile, error);
}

/* A night goes on after a violation; otherwise the first one is enough. */
static int run_series(struct series *series, const struct policy *policy, struct edl_error *error)
{
    const struct simulate_options *options = series->options;
    uint64_t first = options->seed != 0 ? options->seed : MAX_OF(options->first_seed, 1);
    uint64_t wanted = options->night        ? UINT64_MAX
                      : options->seed != 0  ? 1
                      : options->seeds != 0 ? options->seeds
                                            : SEEDS_DEFAULT;
    int r = 0;

    for (uint64_t i = 0; i < wanted && i <= INT64_MAX - first && r == 0 && !stop_wanted; i++) {
        r = run_seed(series, first + i, policy, error);
        tell_progress(series, wanted);
        if (series->violations > 0 && !options->night)
            break;
    }
    series->interrupted = stop_wanted && series->seeds < wanted;
    return r;
}

int simulate_faults(const struct simulate_options *options)
{
    struct series series = {
        .options = options,
        .profile = options->faults != NULL ? options->faults : PROFILE_DEFAULT,
        .begin_us = clock_read_us(CLOCK_MONOTONIC),
        .cpu_begin_us = clock_read_us(CLOCK_PROCESS_CPUTIME_ID),
        .terminal = isatty(STDERR_FILENO) == 1 && !options->history,
    };
    const struct policy *policy = NULL;
    struct edl_error error = { 0 };
    int r = check(&series, &policy, &error);

    if (r == 0 && options->only != NULL)
        r = parse_only(&series, &error);
    if (r < 0) {
        free(series.only);
        return report_error(&error);
    }
    catch_signals();
    /* who reads that the night began may end it before its first seed */
    remember_seed(&series, options->seed != 0 ? options->seed : MAX_OF(options->first_seed, 1));
    if (options->night) {
        (void)fprintf(stderr,
                      "%s faults from seed %" PRIu64 " on; SIGINT or SIGTERM ends the night\n",
                      series.profile, MAX_OF(options->first_seed, 1));
    }
    series.found = json_array();
    r = run_series(&series, policy, &error);
    if (r == 0)
        print_summary(&series);
    json_decref(series.found);
    free(series.only);
    if (r < 0)
        return report_error(&error);
    /* seeds that were asked for and did not run prove nothing */
    return series.violations > 0 || (series.interrupted && !options->night) ? STATUS_FAILED
                                                                            : STATUS_OK;
}
