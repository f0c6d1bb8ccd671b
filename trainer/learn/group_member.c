/* SPDX-License-Identifier: Apache-2.0 */
/* group_member.c - one of some processes that train the same values together */
#include "trainer/learn/group_member.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "kernels/kernels.h"
#include "shared/batch_choice.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/permutation.h"
#include "trainer/data/sample_set.h"
#include "trainer/exchange/table.h"
#include "trainer/learn/network_learner_internal.h"
#include "trainer/learn/step_seed.h"
#include "trainer/network/network.h"

/* Parts of the state beside slots and averages: values, touched, numbers, choices. */
#define BLOCKS 4
#define CHOICES_VERSION 1

/* The state's numbers, as they go from member to member. */
struct numbers {
    uint64_t steps, epoch, place, updates, samples;
    uint64_t micro_batches; /* of the last step */
    uint64_t changed;       /* the step before the first one of so many */
    double from, to;        /* factors of the rate: there, and behind the warm-up */
};

/* What else the state has where the batch changes. */
struct choices {
    struct batch_measures measures;
    struct batch_history history;
};

/* Of a checkpoint. */
struct kept_choices {
    uint64_t version;
    struct numbers numbers;
    struct choices choices;
};

/* This member's own word of the last step, until a micro-batch takes it along. */
struct last_step {
    uint32_t members;
    double seconds; /* 0: it has none */
};

struct group_member {
    struct group_member_config config;
    struct declaration declaration; /* all dense */
    struct table *table;
    struct network_learner *learner;
    struct numbers numbers;
    uint32_t micro_batches; /* of the next step */
    struct group_member_bucket *buckets;
    struct group_member_part *parts;
    uint64_t n_buckets, n_parts;
    uint32_t *averages; /* the network's parameters that are averages */
    uint32_t n_averages;
    float *kept;       /* the averages before a micro-batch, one after the other */
    uint64_t *indices; /* [micro_batch] */
    struct choices choices;
    struct last_step last;
};

/* ---- begin and end ---- */

/* measures - whether steps tell of noise and times */
static bool measures(const struct group_member *m)
{
    return m->config.rules.rule == BATCH_GOODPUT;
}

/* changes - whether the batch may change */
static bool changes(const struct group_member *m)
{
    return m->config.rules.rule != BATCH_CONSTANT;
}

static void add_part(struct group_member *m, void *bytes, uint64_t n_bytes)
{
    m->parts[m->n_parts++] = (struct group_member_part){ bytes, n_bytes };
}

static void open_averages(struct group_member *m)
{
    const struct network *network = m->config.network;
    size_t n = 0;

    m->averages = xcalloc(network->n_params, sizeof *m->averages);
    for (uint32_t p = 0; p < network->n_params; p++)
        if (network->params[p].is_static) {
            m->averages[m->n_averages++] = p;
            n += learner_values_of(m->learner, p);
        }
    m->kept = xcalloc(n + 1, sizeof *m->kept);
}

static void open_buckets(struct group_member *m)
{
    const struct network *network = m->config.network;

    m->buckets = xcalloc(network->n_params + 1, sizeof *m->buckets);
    for (uint32_t d = 0; d < m->declaration.n_params; d++) {
        const struct param_spec *spec = &m->declaration.params[d];

        m->buckets[m->n_buckets++] =
            (struct group_member_bucket){ spec->name, (uint64_t)spec->rows * spec->columns };
    }
    for (uint32_t i = 0; i < m->n_averages; i++)
        m->buckets[m->n_buckets++] =
            (struct group_member_bucket){ network->params[m->averages[i]].spec.name,
                                          learner_values_of(m->learner, m->averages[i]) };
    if (measures(m))
        m->buckets[m->n_buckets++] = (struct group_member_bucket){ "measures", BATCH_TOLD };
}

static void open_parts(struct group_member *m)
{
    const size_t block = table_shape(m->table)->total_values * sizeof(float);
    size_t n_touched;
    uint64_t *touched = table_touched(m->table, &n_touched);

    m->parts = xcalloc(BLOCKS + table_n_slots(m->table) + m->n_averages, sizeof *m->parts);
    add_part(m, table_values(m->table), block);
    for (uint32_t s = 0; s < table_n_slots(m->table); s++)
        add_part(m, table_slot(m->table, s), block);
    add_part(m, touched, n_touched * sizeof *touched);
    for (uint32_t i = 0; i < m->n_averages; i++)
        add_part(m, m->learner->host_values[m->averages[i]],
                 learner_values_of(m->learner, m->averages[i]) * sizeof(float));
    add_part(m, &m->numbers, sizeof m->numbers);
    if (changes(m))
        add_part(m, &m->choices, sizeof m->choices);
}

static int open_learner(struct group_member *m, struct edl_error *error)
{
    const struct network_learner_config learner = { .network = m->config.network,
                                                    .backend = m->config.backend,
                                                    .declaration = m->declaration,
                                                    .batch = m->config.rules.micro_batch,
                                                    .push_every = 1,
                                                    .dropout_seed = m->config.seed,
                                                    .all_dense = true,
                                                    .exchange = table_exchange,
                                                    .exchange_userdata = m->table,
                                                    .on_batch = m->config.on_batch,
                                                    .batch_userdata = m->config.batch_userdata };
    int r = network_learner_new(&learner, &m->learner, error);

    return r < 0 ? r : network_learner_pull(m->learner, error);
}

int group_member_new(const struct group_member_config *config, struct group_member **ret,
                     struct edl_error *error)
{
    struct group_member *m;
    int r;

    r = batch_rules_check(&config->rules, error);
    if (r < 0)
        return r;
    m = xcalloc(1, sizeof *m);
    m->config = *config;
    m->micro_batches = config->rules.start / config->rules.micro_batch;
    m->numbers = (struct numbers){ .micro_batches = m->micro_batches, .from = 1, .to = 1 };
    m->declaration = *config->declaration;
    network_declare_dense(&m->declaration);
    r = table_new(&m->declaration, 0, 1, &m->table, error);
    if (r >= 0)
        r = open_learner(m, error);
    if (r < 0) {
        (void)group_member_free(m);
        return r;
    }
    m->indices = xcalloc(config->rules.micro_batch, sizeof *m->indices);
    open_averages(m);
    open_buckets(m);
    open_parts(m);
    *ret = m;
    return 0;
}

struct group_member *group_member_free(struct group_member *m)
{
    if (m == NULL)
        return NULL;
    m->learner = network_learner_free(m->learner);
    if (m->table != NULL)
        m->table = table_free(m->table);
    free(m->buckets);
    free(m->parts);
    free(m->averages);
    free(m->kept);
    free(m->indices);
    free(m);
    return NULL;
}

struct network_learner *group_member_learner(struct group_member *m)
{
    return m->learner;
}

struct table *group_member_table(struct group_member *m)
{
    return m->table;
}

const struct group_member_bucket *group_member_buckets(const struct group_member *m,
                                                       uint64_t *ret_n)
{
    *ret_n = m->n_buckets;
    return m->buckets;
}

const struct group_member_part *group_member_parts(const struct group_member *m, uint64_t *ret_n)
{
    *ret_n = m->n_parts;
    return m->parts;
}

struct group_member_place group_member_place(const struct group_member *m)
{
    return (struct group_member_place){ m->numbers.steps, m->numbers.epoch, m->numbers.place };
}

uint32_t group_member_micro_batches(const struct group_member *m)
{
    return (uint32_t)m->numbers.micro_batches;
}

void group_member_begin(struct group_member *m, uint32_t micro_batches)
{
    m->micro_batches = micro_batches;
}

/* ---- choices ---- */

uint32_t group_member_choice(const struct group_member *m, uint32_t members, uint64_t step)
{
    const struct batch_rules *rules = &m->config.rules;

    if (m->config.given != NULL)
        return (uint32_t)batch_history_at(m->config.given, step);
    if (measures(m))
        return batch_choice(&m->choices.measures, rules, members,
                            (uint32_t)m->numbers.micro_batches);
    return batch_plan(rules, members, 0).micro_batches;
}

void group_member_tell_step(struct group_member *m, uint32_t members, double seconds)
{
    m->last = (struct last_step){ .members = members, .seconds = seconds };
}

double group_member_noise(const struct group_member *m)
{
    return batch_noise(&m->choices.measures, &m->config.rules);
}

double group_member_worth(const struct group_member *m)
{
    return batch_worth(&m->choices.measures, &m->config.rules, m->micro_batches);
}

const struct batch_history *group_member_history(const struct group_member *m)
{
    return changes(m) ? &m->choices.history : NULL;
}

void *group_member_choices(const struct group_member *m, uint32_t *ret_n)
{
    struct kept_choices *kept;

    *ret_n = changes(m) ? sizeof *kept : 0;
    if (!changes(m))
        return NULL;
    kept = xcalloc(1, sizeof *kept);
    *kept = (struct kept_choices){ CHOICES_VERSION, m->numbers, m->choices };
    return kept;
}

static uint64_t batch_of(const struct group_member *m)
{
    return (uint64_t)m->config.rules.micro_batch * m->micro_batches;
}

/* ---- checkpoints ---- */

static uint32_t average_values(const struct group_member *m)
{
    size_t n = 0;

    for (uint32_t i = 0; i < m->n_averages; i++)
        n += learner_values_of(m->learner, m->averages[i]);
    return (uint32_t)n;
}

float *group_member_averages(const struct group_member *m, uint32_t *ret_n)
{
    float *ret, *at;

    *ret_n = average_values(m);
    ret = at = xcalloc(*ret_n + 1u, sizeof *ret);
    for (uint32_t i = 0; i < m->n_averages; i++) {
        const size_t n = learner_values_of(m->learner, m->averages[i]);

        memcpy(at, m->learner->host_values[m->averages[i]], n * sizeof *at);
        at += n;
    }
    return ret;
}

/* is_of_my_batch - so many steps lead to that place with the batches of this member */
static bool is_of_my_batch(const struct group_member *m, uint64_t steps, uint64_t epoch,
                           uint64_t place)
{
    const uint64_t n = sample_set_n(m->config.samples), batch = batch_of(m);

    if (m->config.rules.rule != BATCH_CONSTANT) /* by the ranks that there were */
        return place % m->config.rules.micro_batch == 0;
    return place % batch == 0 && steps == epoch * ((n + batch - 1) / batch) + place / batch;
}

/* restore_choices - of the very training that the checkpoint is of */
static void restore_choices(struct group_member *m, const struct group_member_kept *kept)
{
    struct kept_choices had;

    if (!changes(m) || kept->n_choices != sizeof had)
        return;
    memcpy(&had, kept->choices, sizeof had);
    if (had.version != CHOICES_VERSION || had.numbers.steps != m->numbers.steps ||
        had.numbers.micro_batches != m->numbers.micro_batches)
        return;
    m->numbers.changed = had.numbers.changed;
    m->numbers.from = had.numbers.from;
    m->numbers.to = had.numbers.to;
    m->choices = had.choices;
}

int group_member_restore(struct group_member *m, struct table *table,
                         const struct group_member_kept *kept, struct edl_error *error)
{
    const uint64_t epoch = kept->epoch, place = kept->place;
    const uint32_t v =
        changes(m) && kept->micro_batches > 0 ? kept->micro_batches : m->micro_batches;
    const float *averages = kept->averages;
    const double factor = batch_plan_of(&m->config.rules, v).factor;
    const size_t block = table_shape(m->table)->total_values * sizeof(float);
    size_t n, n_own;
    const uint64_t *touched = table_touched(table, &n);
    uint64_t *own = table_touched(m->table, &n_own);

    if (!declaration_equal(table_declaration(table), &m->declaration) || n != n_own ||
        kept->n_averages != average_values(m))
        return edl_error_set(error, -EINVAL, "it is of another network, or of other rates");
    if (place >= sample_set_n(m->config.samples))
        return edl_error_set(error, -EINVAL, "it is of more samples than there are");
    if (!is_of_my_batch(m, table_updates(table), epoch, place)) {
        (void)edl_error_set(error, -EINVAL,
                            "it is of another batch than %" PRIu64 ", or of other samples",
                            batch_of(m));
        return edl_error_remedy(error, "give the --batch that it was made with, or another "
                                       "--output-dir");
    }
    memcpy(table_values(m->table), table_values(table), block);
    for (uint32_t s = 0; s < table_n_slots(m->table); s++)
        memcpy(table_slot(m->table, s), table_slot(table, s), block);
    memcpy(own, touched, n * sizeof *own);
    for (uint32_t i = 0; i < m->n_averages; i++) {
        const size_t n_values = learner_values_of(m->learner, m->averages[i]);

        memcpy(m->learner->host_values[m->averages[i]], averages, n_values * sizeof *averages);
        averages += n_values;
    }
    m->numbers = (struct numbers){ .steps = table_updates(table),
                                   .epoch = epoch,
                                   .place = place,
                                   .updates = table_updates(table),
                                   .samples = table_samples(table),
                                   .micro_batches = v,
                                   .from = factor,
                                   .to = factor };
    m->micro_batches = v;
    restore_choices(m, kept);
    return group_member_state_came(m, error);
}

/* ---- samples ---- */

/* samples_of - how many of the n places from first on the epoch still has */
static uint32_t samples_of(const struct group_member *m, uint64_t first, uint64_t n)
{
    const uint64_t all = sample_set_n(m->config.samples);

    return first < all ? (uint32_t)MIN_OF(n, all - first) : 0;
}

/* place_of - of a micro-batch, which draws as in steps of V0: V never makes two places one */
static struct step_place place_of(const struct group_member *m, uint64_t micro_batch)
{
    const uint64_t start = m->config.rules.start / m->config.rules.micro_batch;
    const uint64_t at = m->numbers.place / m->config.rules.micro_batch + micro_batch;

    return (struct step_place){ .epoch = m->numbers.epoch,
                                .step = at / start,
                                .micro_batch = at % start };
}

/* The micro-batch's samples, into indices. */
static uint32_t pick(struct group_member *m, uint64_t micro_batch)
{
    const uint64_t first = m->numbers.place + micro_batch * m->config.rules.micro_batch;
    const uint32_t n = samples_of(m, first, m->config.rules.micro_batch);
    const struct permutation order =
        permutation_of(sample_set_n(m->config.samples), m->config.seed, m->numbers.epoch);

    for (uint32_t i = 0; i < n; i++)
        m->indices[i] = m->config.in_order ? first + i : permutation_at(&order, first + i);
    return n;
}

/* ---- a step ---- */

/* The averages as they were, and before that the way that they were moved onto out; behind these.
 */
static float *take_ways(struct group_member *m, float *out)
{
    const float *kept = m->kept;

    for (uint32_t i = 0; i < m->n_averages; i++) {
        const size_t n = learner_values_of(m->learner, m->averages[i]);
        float *now = m->learner->host_values[m->averages[i]];

        for (size_t k = 0; k < n; k++, kept++) {
            *out++ += now[k] - *kept;
            now[k] = *kept;
        }
    }
    return out;
}

/* tell - of a micro-batch; and once in a step of the one before */
static void tell(struct group_member *m, float *told, double square, uint64_t compute_us)
{
    batch_tell(told, square, (double)compute_us / USEC_PER_SEC);
    if (m->last.seconds > 0)
        batch_tell_step(told, m->last.members, m->last.seconds);
    m->last = (struct last_step){ 0 };
}

static void keep_averages(struct group_member *m)
{
    float *kept = m->kept;

    for (uint32_t i = 0; i < m->n_averages; i++) {
        const size_t n = learner_values_of(m->learner, m->averages[i]);

        memcpy(kept, m->learner->host_values[m->averages[i]], n * sizeof *kept);
        kept += n;
    }
}

int group_member_gradient(struct group_member *m, uint64_t micro_batch, float *gradient,
                          uint32_t *ret_samples, struct edl_error *error)
{
    const struct step_place place = place_of(m, micro_batch);
    const uint32_t n = pick(m, micro_batch);
    float *const *sums;
    uint64_t begun_us = clock_read_us(CLOCK_MONOTONIC);
    double square = 0;
    int r;

    *ret_samples = n;
    if (n == 0)
        return 0;
    network_learner_set_lesson(m->learner, (uint32_t)m->numbers.epoch, 0);
    keep_averages(m);
    r = network_learner_gradient(m->learner, m->config.samples, m->indices, n,
                                 step_seed(m->config.seed, &place), error);
    if (r >= 0)
        r = network_learner_sums(m->learner, &sums, error);
    for (uint32_t d = 0; r >= 0 && d < m->declaration.n_params; d++) {
        tensor_ops_f32()->add(sums[d], m->buckets[d].n_values, gradient);
        if (measures(m))
            square += batch_square(sums[d], m->buckets[d].n_values);
        gradient += m->buckets[d].n_values;
    }
    if (r >= 0)
        gradient = take_ways(m, gradient);
    if (r >= 0 && measures(m))
        tell(m, gradient, square, clock_read_us(CLOCK_MONOTONIC) - begun_us);
    return r;
}

/* measure - what all told of a step with all its samples; told: behind the averages' ways */
static void measure(struct group_member *m, const float *const *dense, const float *told)
{
    double square = 0;

    for (uint32_t i = 0; i < m->n_averages; i++)
        told += learner_values_of(m->learner, m->averages[i]);
    for (uint32_t d = 0; d < m->declaration.n_params; d++)
        square += batch_square(dense[d], m->buckets[d].n_values);
    batch_measure(&m->choices.measures, &m->config.rules, told, m->micro_batches, square,
                  m->numbers.steps + 1);
}

/* The mean of the ways; of the last step of an epoch those of the micro-batches that had samples.
 */
static void move_averages(struct group_member *m, const float *sum, uint64_t samples)
{
    const uint64_t micro_batches =
        (samples + m->config.rules.micro_batch - 1) / m->config.rules.micro_batch;

    for (uint32_t i = 0; i < m->n_averages; i++) {
        const size_t n = learner_values_of(m->learner, m->averages[i]);
        float *now = m->learner->host_values[m->averages[i]];

        for (size_t k = 0; k < n; k++)
            now[k] = (float)((double)now[k] + (double)*sum++ / (double)micro_batches);
    }
}

/* set_rates - of a step with so many micro-batches: with fewer at once, with more by a warm-up */
static void set_rates(struct group_member *m)
{
    const struct batch_rules *rules = &m->config.rules;
    const struct batch_plan plan = batch_plan_of(rules, m->micro_batches);
    struct numbers *n = &m->numbers;
    struct batch_numbers factors;

    if (n->micro_batches != m->micro_batches) {
        n->from = batch_factor(rules, n->from, n->to, n->steps - n->changed);
        n->to = plan.factor;
        n->changed = n->steps;
        n->micro_batches = m->micro_batches;
    }
    factors =
        batch_numbers(rules, &plan, batch_factor(rules, n->from, n->to, n->steps - n->changed),
                      m->declaration.optimizer.method == OPTIMIZER_MOMENTUM);
    table_set_factors(m->table, factors.rate, factors.beside_the_sum);
}

int group_member_move(struct group_member *m, const float *sum, struct edl_error *error)
{
    const uint32_t samples = samples_of(m, m->numbers.place, batch_of(m));
    const float *dense[DECLARATION_PARAMS_MAX];
    struct exchange exchange = { .push = true,
                                 .samples = samples,
                                 .pass = (uint32_t)m->numbers.epoch,
                                 .dense_gradients = dense,
                                 .ret_dense = m->learner->back };
    int r;

    for (uint32_t d = 0; d < m->declaration.n_params; d++) {
        dense[d] = sum;
        sum += m->buckets[d].n_values;
    }
    set_rates(m);
    r = table_exchange(m->table, &exchange, error);
    if (r < 0)
        return r;
    learner_upload_values(m->learner, false);
    move_averages(m, sum, samples);
    if (measures(m) && samples == batch_of(m))
        measure(m, dense, sum);
    if (changes(m))
        batch_history_note(&m->choices.history, m->numbers.steps + 1, m->micro_batches);
    m->numbers.steps++;
    m->numbers.place += samples;
    if (m->numbers.place == sample_set_n(m->config.samples)) {
        m->numbers.epoch++;
        m->numbers.place = 0;
    }
    m->numbers.updates = table_updates(m->table);
    m->numbers.samples = table_samples(m->table);
    return 0;
}

int group_member_state_came(struct group_member *m, struct edl_error *error)
{
    table_set_updates(m->table, m->numbers.updates);
    table_set_samples(m->table, m->numbers.samples);
    table_set_pass(m->table, (uint32_t)m->numbers.epoch);
    return network_learner_pull(m->learner, error);
}
