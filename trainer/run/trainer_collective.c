/* SPDX-License-Identifier: Apache-2.0 */
/* trainer_collective.c - a network trained by a group of processes without servers */
#include "trainer/run/trainer_collective.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu_kind.h"
#include "kernels/kernels.h"
#include "libedl/edl/edl.h"
#include "shared/batch_history.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "trainer/data/sample_set.h"
#include "trainer/exchange/table.h"
#include "trainer/files/file_write.h"
#include "trainer/learn/device.h"
#include "trainer/learn/group_member.h"
#include "trainer/model/model_file.h"
#include "trainer/network/network.h"
#include "trainer/run/collective_rules.h"
#include "trainer/run/group_signature.h"
#include "trainer/run/network_local.h"
#include "trainer/run/network_study.h"
#include "trainer/server/checkpoint.h"

#define FIRST_BATCHES 4 /* for the averages that a network keeps, before there is one */
#define CHECKPOINT_US (10 * USEC_PER_SEC)
#define ALIVE_US (3 * USEC_PER_SEC) /* at least, between two calls of the group */
#define ALIVE_MICRO_BATCHES 10      /* and so many micro-batches long */
#define LOOK_STEPS 50               /* from one look for a better batch to the next */

/* A step that this rank began, to be compared with the next one. */
struct step_begun {
    uint64_t generation, step, micro_batches, at_us;
};

struct training {
    struct study study;
    const struct network_job *job;
    struct group_member *member;
    struct edl_client *client; /* NULL: alone */
    struct edl_group *group;
    struct batch_rules rules;
    struct batch_history given; /* of --batches; none: the rule's */
    struct step_begun last;
    uint64_t passes; /* of the whole training */
    uint64_t rank, generation;
    const char *device; /* the back-end's name */
    uint64_t alive_us;  /* the longest time between two calls of the group */
    bool leaves;        /* told to stop */
    bool late;          /* the others had finished when it came */
    char model[PATH_MAX], batches[PATH_MAX], checkpoint[PATH_MAX],
        next[PATH_MAX]; /* "": none is kept; the next one lies
                           beside it until it is stable */
    pid_t writer;       /* of the next one; 0: nobody writes */
    uint64_t next_step; /* of the next one; 0: there is none */
    bool next_whole;    /* it is written */
    bool next_stale;    /* and not wanted any more */
    uint64_t saved_us;
};

/* failed - r with the group's words; an end that was asked for is none of the group's */
static int failed(const struct training *t, int r, struct edl_error *error)
{
    return edl_error_set(error, r == -ERANGE ? -EDOM : r, "%s", edl_group_error(t->group));
}

/* ---- begin and end ---- */

/* Options of the other ways to train. */
static int check_options(const struct network_job *job, struct edl_error *error)
{
    const struct {
        const char *name;
        bool given;
    } others[] = {
        { "servers", job->servers != NULL },
        { "save_dir", job->save_dir != NULL },
        { "init_model_path", job->init_model != NULL },
        { "push-every", job->push_every != 1 },
        { "num_batches_per_send_parameter", job->send_every != 1 },
        { "sync", job->sync },
        { "async", job->async },
    };

    for (size_t i = 0; i < ELEMENTS(others); i++)
        if (others[i].given) {
            (void)edl_error_set(error, -EINVAL, "--%s beside --collective", others[i].name);
            return edl_error_remedy(error, "leave one of them out");
        }
    if (job->micro_batches > EDL_GROUP_MICRO_BATCHES_MAX)
        return edl_error_set(error, -EINVAL,
                             "--micro-batches is %" PRIu64 "; at most %d are possible",
                             job->micro_batches, EDL_GROUP_MICRO_BATCHES_MAX);
    return 0;
}

/* micro_batches_for - of a step with so many ranks, for the group */
static uint64_t micro_batches_for(void *userdata, uint64_t ranks)
{
    const struct training *t = userdata;

    return group_member_choice(t->member, (uint32_t)ranks, group_member_place(t->member).steps + 1);
}

static bool is_complete(const struct training *t)
{
    return group_member_place(t->member).epoch >= t->passes;
}

static int open_member(struct training *t, struct edl_error *error)
{
    struct group_member_config config = { .network = t->study.network,
                                          .declaration = &t->study.declaration,
                                          .samples = t->study.data.train,
                                          .seed = t->job->seed,
                                          .in_order = !study_shuffles(&t->study),
                                          .on_batch = progress_batch,
                                          .batch_userdata = &t->study.progress };
    struct collective_rules given;
    int r = collective_rules_read(t->job, study_batch(&t->study), &given, error);

    if (r >= 0 && t->study.network->settings.average_window > 0)
        r = edl_error_set(error, -EINVAL, "average_window and --collective exclude each other");
    if (r >= 0 && sample_set_n(t->study.data.train) == 0)
        r = edl_error_set(error, -ENOMEDIUM, "%s has no samples to train", t->job->data);
    if (r >= 0)
        r = study_declare(&t->study, error);
    if (r >= 0)
        r = device_backend_for(t->job->device, t->study.network, &config.backend, error);
    if (r < 0)
        return r;
    if (!config.backend->host_memory && t->job->exact > 0)
        log_warning(
            "sums are exact, but gradients on %s are not the same twice: the model has other "
            "bits each time",
            config.backend->name);
    t->device = config.backend->name;
    t->rules = config.rules = given.rules;
    t->given = given.batches;
    config.given = t->given.n > 0 ? &t->given : NULL;
    t->passes = study_passes(&t->study);
    return group_member_new(&config, &t->member, error);
}

static int open_client(struct training *t, struct edl_error *error)
{
    int r = t->job->socket != NULL ? edl_client_new(t->job->socket, &t->client) : 0;

    if (t->client != NULL) /* a wait for other ranks ends when this one is told to stop */
        edl_client_set_stop(t->client, t->job->stop);
    return r < 0 ? edl_error_set(error, r, "EDL_SOCKET is no path of a socket: %s", t->job->socket)
                 : 0;
}

/* One micro-batch tells how long one takes: a rank that is silent for much longer is frozen. */
static int measure_alive(struct training *t, struct edl_error *error)
{
    uint64_t n_buckets, n_values = 0, begun_us;
    const struct group_member_bucket *buckets = group_member_buckets(t->member, &n_buckets);
    _cleanup_free_ float *gradient = NULL;
    uint32_t samples;
    int r;

    for (uint64_t i = 0; i < n_buckets; i++)
        n_values += buckets[i].n_values;
    gradient = xcalloc(n_values, sizeof *gradient);
    begun_us = clock_read_us(CLOCK_MONOTONIC);
    r = group_member_gradient(t->member, 0, gradient, &samples, error);
    t->alive_us =
        MAX_OF(ALIVE_US, ALIVE_MICRO_BATCHES * (clock_read_us(CLOCK_MONOTONIC) - begun_us));
    return r;
}

static void sign(const struct training *t, char ret[EDL_GROUP_SIGNATURE_BYTES_MAX + 1])
{
    const struct batch_rules *rules = &t->rules;
    struct group_settings settings = { .network = t->study.network->name,
                                       .text = t->study.file.text,
                                       .text_bytes = t->study.file.size,
                                       .declaration = &t->study.declaration,
                                       .samples = sample_set_n(t->study.data.train),
                                       .passes = study_passes(&t->study),
                                       .micro_batch = rules->micro_batch,
                                       .micro_batches = rules->start / rules->micro_batch,
                                       .shuffles = study_shuffles(&t->study),
                                       .batch_rule = batch_rule_to_string(rules->rule),
                                       .given = t->given.n > 0 ? &t->given : NULL };
    char blas[100];

    if (rules->rule != BATCH_CONSTANT) {
        settings.most = rules->most;
        settings.warm_up = rules->warm_up;
    }
    if (t->job->exact > 0) {
        cpu_kind_blas(blas, sizeof blas);
        settings.device = t->device;
        settings.kernels = cpu_kind_kernels();
        settings.blas = blas;
    }
    group_signature(&settings, ret);
}

static int open_group(struct training *t, struct edl_error *error)
{
    char signature[EDL_GROUP_SIGNATURE_BYTES_MAX + 1];
    uint64_t n_buckets, n_parts;
    const struct group_member_bucket *buckets = group_member_buckets(t->member, &n_buckets);
    const struct group_member_part *parts = group_member_parts(t->member, &n_parts);
    _cleanup_free_ struct edl_group_bucket *named = xcalloc(n_buckets, sizeof *named);
    _cleanup_free_ struct edl_group_part *state = xcalloc(n_parts, sizeof *state);
    const struct edl_group_options options = { .micro_batches =
                                                   t->rules.start / t->rules.micro_batch,
                                               .micro_batches_of = micro_batches_for,
                                               .userdata = t,
                                               .buckets = named,
                                               .n_buckets = n_buckets,
                                               .state = state,
                                               .n_parts = n_parts,
                                               .step = group_member_place(t->member).steps,
                                               .exact = t->job->exact > 0,
                                               .alive_us = t->client != NULL ? t->alive_us : 0,
                                               .signature = signature };
    int r;

    sign(t, signature);
    for (uint64_t i = 0; i < n_buckets; i++)
        named[i] = (struct edl_group_bucket){ buckets[i].name, buckets[i].n_values };
    for (uint64_t i = 0; i < n_parts; i++)
        state[i] = (struct edl_group_part){ parts[i].bytes, parts[i].n_bytes };
    r = edl_group_new(t->client, &options, &t->group);
    return r < 0 ? edl_error_set(error, r, "no group can be made: %s",
                                 t->group != NULL ? edl_group_error(t->group) : strerror(-r))
                 : 0;
}

static void training_close(struct training *t)
{
    if (t->writer > 0)
        (void)waitpid(t->writer, NULL, 0);
    if (t->next_step > 0)
        (void)unlink(t->next);
    t->group = edl_group_free(t->group);
    if (t->client != NULL)
        (void)edl_client_free(t->client);
    t->member = group_member_free(t->member);
    study_close(&t->study);
}

/* ---- checkpoints ---- */

static int make_paths(struct training *t, struct edl_error *error)
{
    const char *dir = t->job->output_dir;
    const struct {
        char *path;
        const char *end;
    } paths[] = {
        { t->model, "model" },
        { t->batches, "batches" },
        { t->checkpoint, "checkpoint/collective.ckpt" },
    };

    for (size_t i = 0; i < ELEMENTS(paths) && dir != NULL; i++)
        if (snprintf(paths[i].path, PATH_MAX, "%s/%s", dir, paths[i].end) >= PATH_MAX)
            return edl_error_set(error, -ENAMETOOLONG, "path is too long: %s", dir);
    /* why a name of its own: a former rank 0 may be writing yet */
    return dir != NULL ? checkpoint_next(t->checkpoint, t->next, PATH_MAX, error) : 0;
}

/* Each process reads it where it can: those that cannot get the state from one that could. */
static int restore(struct training *t, struct edl_error *error)
{
    struct checkpoint_more more = { 0 };
    struct table *table = NULL;
    int r = *t->checkpoint == '\0'
                ? -ENOENT
                : checkpoint_read(t->checkpoint, t->job->job_id, 0, &table, &more, error);

    if (r == -ENOENT)
        return 0;
    if (r >= 0)
        r = group_member_restore(t->member, table,
                                 &(struct group_member_kept){ .epoch = more.epoch,
                                                              .place = more.place,
                                                              .micro_batches = more.micro_batches,
                                                              .n_averages = more.n_averages,
                                                              .n_choices = more.n_choices,
                                                              .averages = more.averages,
                                                              .choices = more.choices },
                                 error);
    if (r >= 0)
        log_info("going on behind step %" PRIu64 ", from %s", group_member_place(t->member).steps,
                 t->checkpoint);
    else
        edl_error_prefix(error, "%s: ", t->checkpoint);
    free(more.averages);
    free(more.choices);
    if (table != NULL)
        (void)table_free(table);
    return r;
}

static int write_next(struct training *t, struct edl_error *error)
{
    const struct group_member_place place = group_member_place(t->member);
    struct checkpoint_more more = { .epoch = place.epoch,
                                    .place = place.place,
                                    .identity = t->generation,
                                    .micro_batches = group_member_micro_batches(t->member) };
    int r;

    /* what a rank left that was killed, or that is rank 0 no more */
    checkpoint_next_sweep(t->checkpoint, t->next);
    more.averages = group_member_averages(t->member, &more.n_averages);
    more.choices = group_member_choices(t->member, &more.n_choices);
    r = checkpoint_write(t->next, t->job->job_id, group_member_table(t->member), &more, NULL,
                         error);
    free(more.averages);
    free(more.choices);
    return r;
}

/* The values of this step lie beside the checkpoint until all ranks have the step. A child writes
 * them: the peers do not wait for a disk, and notice the end of this process while it writes. */
static void keep(struct training *t, uint64_t step)
{
    const uint64_t now_us = clock_read_us(CLOCK_MONOTONIC);
    struct edl_error error = { 0 };

    if (*t->checkpoint == '\0' || t->rank != 0 || t->next_step > 0 || t->writer > 0 ||
        (now_us - t->saved_us < CHECKPOINT_US && !is_complete(t)))
        return;
    t->saved_us = now_us;
    (void)fflush(NULL);
    t->writer = fork();
    if (t->writer == 0) {
        (void)close_range(3, UINT_MAX, 0);
        if (write_next(t, &error) < 0) {
            (void)log_failure(&error, "checkpoint");
            _exit(EXIT_FAILURE);
        }
        _exit(0);
    }
    if (t->writer < 0)
        log_warning("no checkpoint of step %" PRIu64 ": %s", step, strerror(errno));
    else
        t->next_step = step;
    t->next_whole = false;
}

/* look_at_writer - options: of waitpid(2) */
static void look_at_writer(struct training *t, int options)
{
    int status;

    if (t->writer <= 0 || waitpid(t->writer, &status, options) != t->writer)
        return;
    t->writer = 0;
    t->next_whole = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!t->next_whole)
        t->next_step = 0;
}

/* drop_next - of a rank that is rank 0 no more, or was not in between: another one's checkpoint may
 * be newer */
static void drop_next(struct training *t)
{
    t->next_stale = t->writer > 0;
    if (t->next_step == 0 || t->writer > 0)
        return;
    t->next_step = 0;
    if (unlink(t->next) < 0 && errno != ENOENT)
        log_warning("cannot remove %s: %s", t->next, strerror(errno));
}

static void publish(struct training *t, uint64_t stable)
{
    struct edl_error error = { 0 };

    if (t->rank != 0 || t->next_stale)
        drop_next(t);
    if (t->next_step == 0 || !t->next_whole || stable < t->next_step)
        return;
    t->next_step = 0;
    if (rename(t->next, t->checkpoint) < 0 || name_sync(t->checkpoint, &error) < 0)
        log_warning("cannot put the checkpoint %s in its place: %s", t->checkpoint,
                    strerror(errno));
}

/* ---- the loop ---- */

static void follow(struct training *t, const struct edl_group_step *step)
{
    const struct group_member_place place = group_member_place(t->member);

    if (step->generation != t->generation && step->rank == 0 && step->size > step->micro_batches)
        log_warning("micro-batches of a step: %" PRIu64 ", ranks: %" PRIu64
                    "; some have nothing to do: raise --micro-batches",
                    step->micro_batches, step->size);
    if (step->generation != t->generation)
        log_info("rank %" PRIu64 " of %" PRIu64 ", step %" PRIu64 ", micro-batches %" PRIu64,
                 step->rank, step->size, step->step, step->micro_batches);
    group_member_begin(t->member, (uint32_t)step->micro_batches);
    if (step->generation != t->generation && step->rank == 0 && t->rules.rule == BATCH_GOODPUT &&
        group_member_noise(t->member) >= 0)
        log_info("samples of a batch: %" PRIu64 ", noise scale %.0f; each teaches %.2f of one of "
                 "the first batch",
                 step->micro_batches * t->rules.micro_batch, group_member_noise(t->member),
                 group_member_worth(t->member));
    t->generation = step->generation;
    t->rank = step->rank;
    look_at_writer(t, WNOHANG);
    publish(t, step->stable);
    progress_pass(&t->study.progress, (int64_t)place.epoch);
    if (!t->leaves && t->job->stop != NULL && *t->job->stop) {
        t->leaves = true;
        edl_group_leave(t->group);
    }
}

static int compute(struct training *t, const struct edl_group_step *step, uint64_t *ret_samples,
                   struct edl_error *error)
{
    uint64_t micro_batch;
    int r;

    *ret_samples = 0;
    while ((r = edl_group_take(t->group, &micro_batch)) == 1) {
        uint32_t samples;

        r = group_member_gradient(t->member, micro_batch, step->gradient, &samples, error);
        if (r < 0)
            return r;
        *ret_samples += samples;
    }
    return r < 0 ? failed(t, r, error) : 0;
}

/* tell_last - how long the step before this one took, when it was one of the same kind */
static void tell_last(struct training *t, const struct edl_group_step *step, uint64_t now_us)
{
    const struct step_begun *last = &t->last;

    if (step->rank != EDL_NO_RANK && last->generation == step->generation &&
        last->step + 1 == step->step && last->micro_batches == step->micro_batches)
        group_member_tell_step(t->member, (uint32_t)step->size,
                               (double)(now_us - last->at_us) / USEC_PER_SEC);
    t->last = (struct step_begun){ step->generation, step->step, step->micro_batches, now_us };
}

/* wants_other - whether the next step shall have another batch than this one. Rank 0 alone looks:
 * all meet anew then, and the choice is made there. */
static bool wants_other(const struct training *t, const struct edl_group_step *step)
{
    if (step->rank != 0 || t->rules.rule == BATCH_CONSTANT ||
        (t->given.n == 0 && step->step % LOOK_STEPS != 0))
        return false;
    return group_member_choice(t->member, (uint32_t)step->size, step->step + 1) !=
           step->micro_batches;
}

static int take_step(struct training *t, const struct edl_group_step *step, struct edl_error *error)
{
    const uint64_t begun_us = clock_read_us(CLOCK_MONOTONIC);
    uint64_t samples, computed_us;
    const float *sum;
    int r;

    tell_last(t, step, begun_us);
    r = compute(t, step, &samples, error);
    computed_us = clock_read_us(CLOCK_MONOTONIC);
    if (r < 0)
        return r;
    if (wants_other(t, step))
        edl_group_replan(t->group);
    r = edl_group_sum(t->group, &sum);
    if (r <= 0)
        return r < 0 ? failed(t, r, error) : 0;
    (void)edl_step(t->client, step->step, samples, computed_us - begun_us,
                   clock_read_us(CLOCK_MONOTONIC) - computed_us);
    r = group_member_move(t->member, sum, error);
    if (r < 0)
        return r;
    r = edl_group_commit(t->group);
    if (r < 0)
        return failed(t, r, error);
    if (is_complete(t))
        edl_group_end(t->group);
    keep(t, step->step);
    return 0;
}

static int train(struct training *t, struct edl_error *error)
{
    struct edl_group_step step = { 0 };
    int r;

    while ((r = edl_group_begin(t->group, &step)) == 1) {
        r = step.state_came ? group_member_state_came(t->member, error) : 0;
        follow(t, &step);
        if (r >= 0 && is_complete(t)) /* so is the state that came */
            edl_group_end(t->group);
        else if (r >= 0)
            r = take_step(t, &step, error);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return failed(t, r, error);
    t->group = edl_group_free(t->group); /* this rank may be silent while it measures and saves */
    look_at_writer(t, 0);
    publish(t, step.stable);
    progress_end(&t->study.progress);
    t->late = !is_complete(t) && !t->leaves && !(t->job->stop != NULL && *t->job->stop);
    if (t->late)
        log_info("the others have finished the training: nothing is left to do");
    if (!is_complete(t) && !t->late)
        return edl_error_set(error, -EINTR, "told to stop");
    return 0;
}

/* ---- before and behind ---- */

static int evaluate(struct training *t, struct evaluation *ret, struct edl_error *error)
{
    *ret = (struct evaluation){ 0 };
    return sample_set_n(t->study.data.test) == 0
               ? 0
               : network_learner_evaluate(group_member_learner(t->member), t->study.data.test, ret,
                                          error);
}

/* save_batches - those that changed, for another training that makes the same bits */
static int save_batches(const struct training *t, struct edl_error *error)
{
    const struct batch_history *history = group_member_history(t->member);
    _cleanup_free_ char *text = NULL;

    if (history == NULL)
        return 0;
    text = batch_history_to_text(history);
    if (text != NULL)
        return whole_file_write(t->batches, text, 0644, error);
    log_warning("%s is not written: changes of the batch: %" PRIu64 ", at most %d are kept",
                t->batches, history->n, BATCH_CHANGES_MAX);
    return 0;
}

static int save(struct training *t, const struct evaluation *after, struct edl_error *error)
{
    float *const *values = network_learner_values(group_member_learner(t->member));
    _cleanup_free_ char *metrics = NULL;
    int r;

    if (*t->model == '\0')
        return 0;
    r = save_batches(t, error);
    if (r < 0)
        return r;
    r = network_save(t->study.network, &t->study.file, values, NULL, NULL, t->model, error);
    if (r < 0)
        return r;
    printf("Model saved to %s\n", t->model);
    if (t->client != NULL && after->samples > 0 &&
        asprintf(&metrics, "{\"cost_after\": %.9g, \"error_rate\": %.9g}", after->cost,
                 after->error_rate) > 0)
        (void)edl_metrics(t->client, metrics);
    return 0;
}

/* Rank 0 alone, of values that all have. */
static int finish(struct training *t, struct edl_error *error)
{
    struct evaluation after;
    int r = evaluate(t, &after, error);

    if (r < 0)
        return r;
    if (after.samples > 0)
        printf("Test after training, Cost %f, {'classification_error_evaluator': %.6g}\n",
               after.cost, after.error_rate);
    return save(t, &after, error);
}

/* The averages of a training that begins are those of some batches of start values, as when a
 * network is trained alone; they count as nothing. */
static int baseline(struct training *t, struct edl_error *error)
{
    struct evaluation before;
    int r = 0;

    if (group_member_place(t->member).steps > 0)
        return 0;
    r = network_learner_measure(group_member_learner(t->member), t->study.data.train, FIRST_BATCHES,
                                error);
    if (r >= 0)
        r = evaluate(t, &before, error);
    if (r >= 0 && before.samples > 0)
        printf("Test before training, Cost %f\n", before.cost);
    return r;
}

/* data_of - the job with data: the folder of the train files, where none is named */
static const struct network_job *data_of(const struct network_job *job, struct network_job *own,
                                         char folder[static PATH_MAX])
{
    const char *slash;

    if (job->data != NULL || job->dataset == NULL)
        return job;
    *own = *job;
    slash = strrchr(job->dataset, '/');
    (void)snprintf(folder, PATH_MAX, "%.*s", slash != NULL ? (int)(slash - job->dataset) : 1,
                   slash != NULL ? job->dataset : ".");
    own->data = *folder != '\0' ? folder : "/";
    return own;
}

/* is_saved - of a training that was over when this process came: rank 0 has saved its model */
static bool is_saved(const struct training *t)
{
    char done[PATH_MAX + 8];

    (void)snprintf(done, sizeof done, "%s/done", t->model);
    return *t->model == '\0' || access(done, F_OK) == 0;
}

static int open_training(struct training *t, struct edl_error *error)
{
    int r = network_may_train(t->study.network, error);

    if (r >= 0 && *t->model != '\0')
        r = model_file_prepare(t->model, error);
    if (r >= 0)
        r = open_member(t, error);
    if (r >= 0)
        r = restore(t, error);
    if (r >= 0)
        r = open_client(t, error);
    return r;
}

static int train_in_group(struct training *t, struct edl_error *error)
{
    int r = measure_alive(t, error);

    if (r >= 0)
        r = baseline(t, error);
    if (r >= 0)
        r = open_group(t, error);
    (void)fflush(stdout);
    return r < 0 ? r : train(t, error);
}

int network_collective(const struct network_job *job, struct edl_error *error)
{
    struct network_job own;
    char folder[PATH_MAX];
    struct training t = { .job = job };
    bool saves = false;
    int r = check_options(job, error);

    if (r >= 0)
        r = make_paths(&t, error);
    if (r >= 0)
        r = study_read(&t.study, data_of(job, &own, folder), error);
    if (r >= 0)
        r = open_training(&t, error);
    if (r >= 0 && !is_complete(&t)) {
        r = train_in_group(&t, error);
        saves = t.rank == 0 && !t.late;
    } else if (r >= 0) {
        saves = !is_saved(&t);
    }
    if (r >= 0 && saves)
        r = finish(&t, error);
    training_close(&t);
    (void)fflush(stdout);
    return r;
}
