/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_main.c - edl-trainer: trains a network, as one of a job's trainers or alone */
#include <cblas.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/parse.h"
#include "trainer/run/data_main.h"
#include "trainer/learn/device.h"
#include "trainer/run/model_main.h"
#include "trainer/run/network_main.h"
#include "trainer/model/network_python.h"
#include "trainer/run/options.h"
#include "trainer/run/trainer.h"

/* By which status an end is told. That there is no data (EX_NOINPUT) is told from a failure that
 * another try may mend: see edl-job(5), restart. */
static int exit_status(int r)
{
    if (r == -EINVAL)
        return options_bad_usage();
    return r == -ENOMEDIUM ? EX_NOINPUT : r < 0 ? EXIT_FAILURE : 0;
}

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    stop = number;
}

/* In a job the agent has ordered the end, and its work goes on elsewhere. A person's trainer did
 * not do what it was started for: the status is that of a program that the signal ended. */
static int stopped_status(void)
{
    const bool in_job = getenv("EDL_SOCKET") != NULL;

    log_info(in_job ? "stopped as told" : "stopped as told, before the training was over");
    return in_job ? 0 : 128 + stop;
}

/* Without SA_RESTART: a wait in progress ends early and looks at the flag. */
static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
}

struct settings {
    struct trainer_config trainer;
    const char *socket, *local, *hosts_wait, *reconnect, *api_retry, *device;
    uint64_t passes;
};

static int parse_waits(struct settings *settings, struct edl_error *error)
{
    const struct {
        const char *name, *text;
        uint64_t *us;
    } waits[] = {
        { "hosts-wait", settings->hosts_wait, &settings->trainer.hosts_wait_us },
        { "reconnect-wait", settings->reconnect, &settings->trainer.reconnect_us },
        { "scheduler-wait", settings->api_retry, &settings->trainer.api_retry_us },
    };

    for (size_t i = 0; i < ELEMENTS(waits); i++)
        if (parse_seconds(waits[i].text, waits[i].us) < 0)
            return edl_error_set(error, -EINVAL, "--%s is \"%s\", not a time like 60s",
                                 waits[i].name, waits[i].text);
    return 0;
}

/* A network that a program in Python describes is written first; its data are the job's. */
static int train_in_job(const struct settings *settings, struct edl_error *error)
{
    struct trainer_config trainer = settings->trainer;
    struct network_python python = { 0 };
    int r = 0;

    trainer.socket_path = settings->socket;
    if (network_python_wants(trainer.network)) {
        r = network_python_open(trainer.network, trainer.network_arguments, false, &stop, &python,
                                error);
        trainer.network = python.network;
        trainer.network_arguments = NULL;
    }
    if (r >= 0)
        r = trainer_run(&trainer, error);
    network_python_close(&python);
    return r;
}

static int train(struct settings *settings, struct edl_error *error)
{
    char text[PATH_MAX];

    if (settings->local == NULL)
        return train_in_job(settings, error);
    if ((size_t)snprintf(text, sizeof text, "%s/train-*.recordio", settings->local) >= sizeof text)
        return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", settings->local);
    settings->trainer.dataset = text;
    return trainer_run_local(&settings->trainer, settings->passes, error);
}

static int run(struct settings *settings, struct edl_error *error)
{
    struct device device = { 0 };
    int r = parse_waits(settings, error);

    if (r < 0)
        return r;
    if (settings->local == NULL && (settings->socket == NULL || settings->trainer.dataset == NULL ||
                                    settings->trainer.output_dir == NULL)) {
        (void)edl_error_set(error, -EINVAL, "EDL_SOCKET, EDL_DATASET or EDL_OUTPUT_DIR is not set");
        (void)edl_error_remedy(error, "submit it as a job's trainer, or train alone: --local DIR");
        return -EINVAL;
    }
    r = device_open(settings->device, &device, error);
    if (r < 0)
        return r;
    settings->trainer.device = &device;
    r = train(settings, error);
    device_close(&device);
    return r;
}

static int start(int argc, char **argv, struct settings *s, struct edl_error *error)
{
    struct trainer_config *t = &s->trainer;
    const struct option_row rows[] = {
        { .name = "config", .text = &t->network, .help = "network (ngram_lm)" },
        { .name = "config_args", .text = &t->network_arguments, .help = "NAME=NUMBER,..." },
        { .name = "batch", .fallback = "0", .u64 = &t->batch, .help = "0: the network's, or 32" },
        { .name = "push-every",
          .fallback = "1",
          .u64 = &t->push_every,
          .help = "batches whose gradients are summed and pushed at once" },
        { .name = "sync", .flag = &t->sync, .help = "updates are of all trainers with data" },
        { .name = "async", .flag = &t->async, .help = "each trainer pushes on its own" },
        { .name = "log-period",
          .fallback = "100",
          .u64 = &t->log_period,
          .help = "batches between lines; 0: none" },
        { .name = "learning-rate", .real = &t->learning_rate, .help = "instead of the network's" },
        { .name = "epsilon", .real = &t->epsilon, .help = "instead of the network's" },
        { .name = "l2-rate", .real = &t->l2_rate, .help = "instead of the network's" },
        { .name = "dropout", .real = &t->dropout, .help = "of ngram_lm (0.5)" },
        { .name = "embedding",
          .fallback = "0",
          .u64 = &t->embedding,
          .help = "columns per word of ngram_lm; 0: 32" },
        { .name = "hidden",
          .fallback = "0",
          .u64 = &t->hidden,
          .help = "units of ngram_lm; 0: 256" },
        { .name = "seed", .fallback = "1", .u64 = &t->seed, .help = "of start values and dropout" },
        { .name = "task-records",
          .environment = "EDL_TASK_RECORDS",
          .fallback = "2000",
          .u64 = &t->task_records,
          .help = "records of a task, when this trainer indexes the data set" },
        { .name = "evaluate-max",
          .fallback = "20000",
          .u64 = &t->evaluate_max,
          .help = "held-out samples for the costs before and after" },
        { .name = "hosts-wait",
          .fallback = "300s",
          .text = &s->hosts_wait,
          .help = "for the parameter servers to start" },
        { .name = "reconnect-wait",
          .fallback = "60s",
          .text = &s->reconnect,
          .help = "for a parameter server to come back" },
        { .name = "scheduler-wait",
          .fallback = "300s",
          .text = &s->api_retry,
          .help = "for the scheduler to answer" },
        { .name = "device",
          .environment = "EDL_DEVICE",
          .fallback = "auto",
          .text = &s->device,
          .help = "cpu, cuda, or auto: a GPU that was granted, else the CPU" },
        { .name = "local",
          .text = &s->local,
          .help = "train alone on the data set in this folder" },
        { .name = "passes",
          .environment = "EDL_PASSES",
          .fallback = "1",
          .u64 = &s->passes,
          .help = "with --local" },
        { .name = "output-dir",
          .environment = "EDL_OUTPUT_DIR",
          .text = &t->output_dir,
          .help = "the model goes to model/ in it" },
        { .name = "dataset",
          .environment = "EDL_DATASET",
          .text = &t->dataset,
          .help = "glob of RecordIO files" },
        { .name = "socket",
          .environment = "EDL_SOCKET",
          .text = &s->socket,
          .help = "the agent's socket" },
        { .name = "job-id",
          .environment = "EDL_JOB_ID",
          .fallback = "0",
          .u64 = &t->job_id,
          .help = "number of the job" },
        { .name = "index",
          .environment = "EDL_INDEX",
          .fallback = "0",
          .u64 = &t->index,
          .help = "number of this trainer" },
        { .name = "incarnation",
          .environment = "EDL_INCARNATION",
          .fallback = "1",
          .u64 = &t->incarnation,
          .help = "life of this index" },
    };
    int r =
        options_parse(argc, argv, "edl-trainer",
                      "Usage: edl-trainer [OPTION VALUE]...\n\n"
                      "Trains a network: as one of a job's trainers, or alone with --local DIR.\n"
                      "More of training alone: edl-trainer --local --config NAME --help\n"
                      "Data sets are made with: edl-trainer data --help\n\nOptions:\n",
                      rows, ELEMENTS(rows), NULL, error);

    return r == OPTIONS_RUN ? run(s, error) : MIN_OF(r, 0);
}

int main(int argc, char **argv)
{
    struct settings settings = { .trainer = { .stop = &stop,
                                              .learning_rate = -1.0f,
                                              .epsilon = -1.0f,
                                              .l2_rate = -1.0f,
                                              .dropout = -1.0f } };
    struct edl_error error = { 0 };
    int r;

    log_init("edl-trainer");
    if (argc > 1 && streq(argv[1], "data"))
        return data_main(argc - 1, argv + 1);
    if (argc > 1 && streq(argv[1], "model"))
        return model_main(argc - 1, argv + 1);
    openblas_set_num_threads(1); /* the scheduler counts cores; one process is one thread of work */
    catch_signals();
    r = network_main_wants(argc, argv) ? network_main(argc, argv, &stop, &error)
                                       : start(argc, argv, &settings, &error);
    if (r == -EINTR)
        return stopped_status();
    if (r < 0)
        (void)log_failure(&error, "cannot go on");
    return exit_status(r);
}
