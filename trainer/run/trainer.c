/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - a trainer of a job: leases tasks, trains on them against the parameter servers, saves
 * the model */
#include "trainer/run/trainer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "trainer/data/sample_set.h"
#include "trainer/exchange/job_api.h"
#include "trainer/network/network.h"
#include "trainer/exchange/ps_client.h"
#include "trainer/exchange/servers_wait.h"
#include "trainer/run/sgd_mode.h"
#include "trainer/run/trainer_setup.h"

/* What the agent is promised (edl_alive). */
struct alive {
    uint64_t within_us;  /* 0: nothing */
    uint64_t told_us;    /* when */
    uint64_t since_us;   /* the end of the last exchange */
    uint64_t longest_us; /* of a batch */
};

struct trainer {
    const struct trainer_config *config;
    struct workshop workshop;
    struct job_api *api;
    struct ps_client *servers;
    uint32_t n_servers;
    enum sgd_mode mode;
    struct alive alive;
    uint8_t secret[JOB_SECRET_BYTES];
    struct evaluation before; /* samples 0: not known */
    bool has_task;            /* one is leased to it */
};

/* ---- synchronous: others wait for this trainer, as long as it promises to be alive ---- */

#define ALIVE_EACH_US USEC_PER_SEC
#define ALIVE_LEAST_US (3 * USEC_PER_SEC)
#define ALIVE_FIRST_US (60 * USEC_PER_SEC) /* nobody knows yet how long a batch takes */
#define ALIVE_BATCHES 10

static void promise(struct trainer *trainer, uint64_t within_us, uint64_t now_us)
{
    struct alive *alive = &trainer->alive;

    if (within_us == alive->within_us && now_us - alive->told_us < ALIVE_EACH_US)
        return;
    if (within_us == 0 && alive->within_us == 0)
        return;
    job_api_alive(trainer->api, within_us);
    alive->within_us = within_us;
    alive->told_us = now_us;
}

/* Each second of a wait for the others. */
static void tell_alive(void *userdata)
{
    struct trainer *trainer = userdata;

    if (trainer->alive.within_us > 0)
        promise(trainer, trainer->alive.within_us, clock_read_us(CLOCK_MONOTONIC));
}

static uint64_t within_us(const struct alive *alive)
{
    return alive->longest_us == 0 ? ALIVE_FIRST_US
                                  : MAX_OF(ALIVE_BATCHES * alive->longest_us, ALIVE_LEAST_US);
}

/* exchange_alive - an exchange_fn: a trainer that is frozen is killed and replaced, so that it
 * holds no round for ever. The promise is ten times the longest batch, and made only while others
 * wait. */
static int exchange_alive(void *userdata, const struct exchange *exchange, struct edl_error *error)
{
    struct trainer *trainer = userdata;
    struct alive *alive = &trainer->alive;
    uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
    int r;

    if (exchange->push && alive->since_us != 0)
        alive->longest_us = MAX_OF(alive->longest_us, now_us - alive->since_us);
    if (exchange->push || exchange->enters)
        promise(trainer, within_us(alive), now_us);
    r = ps_client_exchange(trainer->servers, exchange, error);
    alive->since_us = clock_read_us(CLOCK_MONOTONIC);
    if (r < 0 || exchange->leaves)
        promise(trainer, 0, alive->since_us);
    return r;
}

static int make_client(struct trainer *trainer, uint32_t n_servers, struct edl_error *error)
{
    struct ps_client_config config = {
        .job_id = trainer->config->job_id,
        .trainer = (uint32_t)trainer->config->index,
        .incarnation = trainer->config->incarnation,
        .declaration = trainer->workshop.declaration,
        .agreement = { .mode = (uint32_t)trainer->mode + 1 },
        .tells_past = true,
        .wait = { .stop = trainer->config->stop, .on_wait = tell_alive, .userdata = trainer },
        .n_servers = n_servers
    };

    memcpy(config.secret, trainer->secret, sizeof config.secret);
    if (n_servers == 0)
        return edl_error_set(error, -EINVAL, "the job has no parameter servers");
    if (trainer->servers != NULL && trainer->n_servers != n_servers)
        return edl_error_set(error, -EINVAL, "the job has %u parameter server%s now, %u before",
                             n_servers, PLURAL(n_servers), trainer->n_servers);
    if (trainer->servers != NULL)
        return 0;
    trainer->n_servers = n_servers;
    return ps_client_new(&config, &trainer->servers, error);
}

static bool worth_retrying(int code)
{
    return code == EDL_EUNREACHABLE || code == EDL_ESTALE || code == -ETIMEDOUT;
}

static int try_connect(void *userdata, struct edl_error *error)
{
    struct trainer *trainer = userdata;
    _cleanup_free_ struct ps_host *hosts = NULL;
    uint64_t leased;
    uint32_t want, n;
    int r = job_api_hosts(trainer->api, "pserver", &hosts, &want, &n, error);

    if (r >= 0)
        r = make_client(trainer, want, error);
    if (r < 0)
        return r;
    if (n < want)
        return edl_error_set(error, EDL_EUNREACHABLE, "parameter servers that run: %u of %u", n,
                             want);
    r = job_api_trained(trainer->api, &leased, error);
    if (r < 0)
        return r;
    ps_client_set_trained(trainer->servers, r > 0);
    return ps_client_connect(trainer->servers, hosts, error);
}

/* ---- a server that has come back without its values ---- */

static bool has_none_yet(int code)
{
    return code == -EINPROGRESS || worth_retrying(code);
}

/* give_back - what is asked for; then whether all servers have values */
static int give_back(void *userdata, struct edl_error *error)
{
    struct trainer *trainer = userdata;
    int r = ps_client_look(trainer->servers, error);

    if (worth_retrying(r))
        r = try_connect(trainer, error);
    if (r >= 0 && ps_client_wished(trainer->servers)) {
        r = ps_client_give(trainer->servers, workshop_held(&trainer->workshop), error);
        if (r >= 0)
            log_info("gave a parameter server back the values that it had before");
        if (r >= 0)
            r = ps_client_look(trainer->servers, error);
    }
    if (r < 0 || ps_client_awaits(trainer->servers) == NULL)
        return r;
    return edl_error_set(error, -EINPROGRESS, "%s has come back without its values",
                         ps_client_awaits(trainer->servers));
}

static int values_are_lost(struct trainer *trainer, struct edl_error *error)
{
    struct edl_error ignored = { 0 };

    (void)
        edl_error_set(error, -ENODATA,
                      "%s has come back without a checkpoint, and no trainer has its values: what "
                      "was trained is lost",
                      ps_client_awaits(trainer->servers));
    (void)edl_error_remedy(error,
                           "submit the job again with checkpoint: {path: DIR}, a folder that "
                           "all nodes see");
    if (!trainer->has_task)
        (void)job_api_values_lost(trainer->api, &ignored);
    return -ENODATA;
}

/* others_train - 1: somebody has a task in hand, and may have the values: it has not noticed yet
 * that the server was gone. A trainer with a task of its own does not wait for them, or two would
 * wait for each other. A scheduler that is away has not said so: it is asked for as long as every
 * call of this trainer, and then nothing is known (negative). */
static int others_train(struct trainer *trainer, struct edl_error *error)
{
    uint64_t leased = 0;
    int r = trainer->has_task ? 0 : job_api_trained(trainer->api, &leased, error);

    return r < 0 ? r : leased > 0;
}

static int await_values(struct trainer *trainer, struct edl_error *error)
{
    const struct servers_wait wait = { .attempt = give_back,
                                       .may_come = has_none_yet,
                                       .userdata = trainer,
                                       .what = "the values of a parameter server",
                                       .wait_us = trainer->config->reconnect_us,
                                       .stop = trainer->config->stop };
    bool late;
    int r, others;

    if (!ps_client_wished(trainer->servers) && ps_client_awaits(trainer->servers) == NULL)
        return 0;
    do {
        r = servers_wait(&wait, &late, error);
        if (r != -EINPROGRESS)
            return r;
        others = others_train(trainer, error);
    } while (others > 0);
    return others < 0 ? others : values_are_lost(trainer, error);
}

/* Asks anew where the servers are each time: one that was replaced comes back somewhere else. */
static int connect_servers(struct trainer *trainer, uint64_t wait_us, struct edl_error *error)
{
    const struct servers_wait wait = { .attempt = try_connect,
                                       .may_come = worth_retrying,
                                       .userdata = trainer,
                                       .what = "the parameter servers",
                                       .wait_us = wait_us,
                                       .stop = trainer->config->stop };
    bool late;
    int r = servers_wait(&wait, &late, error);

    if (late)
        edl_error_prefix(error, "gave up after %" PRIu64 " s: ", wait_us / USEC_PER_SEC);
    if (r >= 0)
        r = await_values(trainer, error);
    if (r >= 0)
        log_info("connected to %u parameter server%s (%" PRIu64 " update%s so far)",
                 trainer->n_servers, PLURAL(trainer->n_servers),
                 ps_client_updates(trainer->servers), PLURAL(ps_client_updates(trainer->servers)));
    return r;
}

static int offer_dataset(struct trainer *trainer, struct edl_error *error)
{
    json_t *tasks = NULL;
    int r = job_api_has_dataset(trainer->api, error);

    if (r != 0)
        return r < 0 ? r : 0;
    r = dataset_tasks(trainer->workshop.dataset, (uint32_t)trainer->config->task_records, &tasks,
                      error);
    if (r < 0)
        return r;
    log_info("indexed the data set: %zu task%s", json_array_size(json_object_get(tasks, "tasks")),
             PLURAL(json_array_size(json_object_get(tasks, "tasks"))));
    r = job_api_put_dataset(trainer->api, tasks, error);
    json_decref(tasks);
    if (r == EDL_ESTALE) {
        /* Somebody else's index stands: the files changed between two trainers' looks at them. */
        log_warning("another index of the data set was put first; using that");
        return 0;
    }
    return r;
}

static json_t *number_or_null(double value, uint64_t samples)
{
    return samples > 0 ? json_real(value) : json_null();
}

/* The stored object is replaced, so every field that is known goes along. */
static int post_metrics(struct trainer *trainer, const struct evaluation *after, const char *model,
                        struct edl_error *error)
{
    json_t *metrics = json_object();
    int r;

    json_object_set_new(metrics, "cost_before",
                        number_or_null(trainer->before.cost, trainer->before.samples));
    if (after != NULL) {
        json_object_set_new(metrics, "cost_after", number_or_null(after->cost, after->samples));
        json_object_set_new(metrics, "error_rate",
                            number_or_null(after->error_rate, after->samples));
        json_object_set_new(metrics, "model", json_string(model));
    }
    json_object_set_new(metrics, "held_out_samples",
                        json_integer((json_int_t)(after != NULL ? after->samples
                                                                : trainer->before.samples)));
    r = job_api_metrics(trainer->api, metrics, error);
    json_decref(metrics);
    return r;
}

/* Start values are the same in every process, so no server has to keep their cost: whoever comes
 * first shows it, and whoever saves the model works it out again. */
static int baseline(struct trainer *trainer, struct edl_error *error)
{
    if (trainer->before.samples > 0)
        return 0;
    ps_client_forget(trainer->servers); /* start values lie where the pulled ones were */
    return workshop_baseline(&trainer->workshop, &trainer->before, error);
}

static int find_mode(struct trainer *trainer, struct edl_error *error)
{
    const struct network *network = trainer->workshop.network;
    const struct sgd_asked asked = { .sync = trainer->config->sync,
                                     .async = trainer->config->async,
                                     .asynchronous =
                                         network != NULL ? network->settings.asynchronous : -1 };
    int r = sgd_mode_of(&asked, &trainer->mode, error);

    if (r >= 0 && trainer->mode == SGD_SYNCHRONOUS)
        log_info("synchronous: each update is the sum of all trainers that have data");
    return r;
}

static int start(struct trainer *trainer, struct edl_error *error)
{
    int r = job_api_new(trainer->config->socket_path, trainer->config->api_retry_us,
                        trainer->config->stop, &trainer->api, error);

    if (r >= 0)
        r = job_api_secret(trainer->api, trainer->secret, error);
    if (r >= 0)
        r = workshop_open(&trainer->workshop, trainer->config, error);
    if (r >= 0)
        r = network_may_share(trainer->workshop.network, error);
    if (r >= 0)
        r = find_mode(trainer, error);
    if (r >= 0)
        r = workshop_prepare_output(&trainer->workshop, error);
    if (r >= 0)
        r = offer_dataset(trainer, error);
    if (r >= 0)
        r = connect_servers(trainer, trainer->config->hosts_wait_us, error);
    if (r >= 0)
        r = trainer->mode == SGD_SYNCHRONOUS
                ? workshop_start(&trainer->workshop, exchange_alive, trainer, true, error)
                : workshop_start(&trainer->workshop, ps_client_exchange, trainer->servers, false,
                                 error);
    if (r < 0 || ps_client_updates(trainer->servers) > 0)
        return r;
    r = baseline(trainer, error);
    if (r < 0 || trainer->before.samples == 0)
        return r;
    printf("Test before training, Cost %f\n", trainer->before.cost);
    return post_metrics(trainer, NULL, NULL, error);
}

/* Trains until the end of the samples, over any number of broken connections. */
static int train_samples(struct trainer *trainer, const struct sample_set *samples,
                         const struct task *task, struct edl_error *error)
{
    const struct dataset_chunk *first = task->n_chunks > 0 ? task->chunks : NULL;
    const uint32_t pass = (uint32_t)MAX_OF(task->pass_number, 0);
    size_t position = 0;
    int r;

    while (worth_retrying(
        r = workshop_train(&trainer->workshop, samples, &position, pass, first, error))) {
        log_warning("%s; connecting again", error->text);
        r = connect_servers(trainer, trainer->config->reconnect_us, error);
        if (r < 0)
            return r;
    }
    return r;
}

static uint64_t order_seed(const struct trainer *trainer, const struct task *task)
{
    uint64_t seed =
        trainer->config->seed + (uint64_t)task->pass_number * UINT64_C(0x9e3779b97f4a7c15);

    return task->n_chunks > 0 ? seed ^ task->chunks[0].offset : seed;
}

/* A task whose data cannot be read is handed back as failed, and the trainer goes on with others.
 */
static int read_task(struct trainer *trainer, const struct task *task, struct sample_set **ret,
                     struct edl_error *error)
{
    int r = workshop_read(&trainer->workshop, task->chunks, task->n_chunks,
                          order_seed(trainer, task), ret, error);

    if (r >= 0)
        return 1;
    (void)log_failure(error, "task");
    r = job_api_fail(trainer->api, task, false, error->text, error);
    return r == EDL_ESTALE ? 0 : MIN_OF(r, 0);
}

static void tell_progress(struct trainer *trainer)
{
    const struct progress *progress = &trainer->workshop.progress;
    json_t *told;

    if (progress->samples == 0)
        return;
    told = json_pack("{s:I, s:I, s:I, s:f}", "pass", (json_int_t)progress->pass + 1, "batches",
                     (json_int_t)progress->batches, "samples", (json_int_t)progress->samples,
                     "cost", progress->cost_sum / (double)progress->samples);
    job_api_progress(trainer->api, told);
    json_decref(told);
}

static int do_task(struct trainer *trainer, const struct task *task, struct edl_error *error)
{
    struct edl_error ignored = { 0 };
    struct sample_set *samples = NULL;
    int r = read_task(trainer, task, &samples, error);

    if (r <= 0)
        return r;
    progress_pass(&trainer->workshop.progress, task->pass_number);
    trainer->has_task = true;
    r = train_samples(trainer, samples, task, error);
    trainer->has_task = false;
    (void)sample_set_free(samples);
    if (r < 0) {
        /* Not the data's fault: the task is somebody else's now. */
        (void)job_api_fail(trainer->api, task, true, r == -EINTR ? "stopped" : error->text,
                           &ignored);
        return r;
    }
    tell_progress(trainer);
    r = job_api_finish(trainer->api, task, error);
    if (r == EDL_ESTALE) {
        log_info("the task was given to somebody else meanwhile; going on");
        return 0;
    }
    return r;
}

static int result(struct trainer *trainer, struct evaluation *ret, struct edl_error *error)
{
    int r;

    while (worth_retrying(r = workshop_result(&trainer->workshop, ret, error))) {
        log_warning("%s; connecting again", error->text);
        r = connect_servers(trainer, trainer->config->reconnect_us, error);
        if (r < 0)
            return r;
    }
    return r;
}

static int save(struct trainer *trainer, struct edl_error *error)
{
    struct evaluation after;
    char path[PATH_MAX];
    int r;

    job_api_owe_model(trainer->api);
    r = result(trainer, &after, error);
    if (r < 0)
        return r;
    printf("Test after training, Cost %f, {'classification_error_evaluator': %.6g}\n", after.cost,
           after.error_rate);
    r = workshop_save(&trainer->workshop, path, sizeof path, error);
    if (r >= 0)
        r = baseline(trainer, error);
    if (r >= 0)
        r = post_metrics(trainer, &after, path, error);
    if (r >= 0)
        r = job_api_save_model(trainer->api, path, error);
    if (r >= 0)
        log_info("saved the model to %s", path);
    return r;
}

static int work(struct trainer *trainer, struct edl_error *error)
{
    for (;;) {
        struct task task = { 0 };
        bool save_model = false;
        int r;

        if (*trainer->config->stop)
            return edl_error_set(error, -EINTR, "told to stop");
        r = job_api_lease(trainer->api, &task, &save_model, error);
        if (r == LEASE_FINISHED) {
            progress_end(&trainer->workshop.progress);
            return save_model ? save(trainer, error) : 0;
        }
        if (r == LEASE_TASK) {
            r = do_task(trainer, &task, error);
            task_clear(&task);
        }
        if (r < 0)
            return r;
    }
}

int trainer_run(const struct trainer_config *config, struct edl_error *error)
{
    struct trainer trainer = { .config = config };
    int r = start(&trainer, error);

    if (r >= 0)
        r = work(&trainer, error);
    workshop_close(&trainer.workshop);
    trainer.servers = ps_client_free(trainer.servers);
    trainer.api = job_api_free(trainer.api);
    explicit_bzero(trainer.secret, sizeof trainer.secret);
    (void)fflush(stdout);
    return r;
}
