/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - one shard of the parameters with the optimizer's slots */
#include "trainer/exchange/table.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/optimizer.h"
#include "kernels/tensor_ops.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

struct table {
    struct declaration declaration;
    struct shard_shape shape;
    const struct optimizer_kind *kind;
    struct rate rate;
    double rate_factor;
    struct optimizer_step steps[DECLARATION_PARAMS_MAX]; /* of each parameter, as of this push */
    uint64_t updates, samples;
    bool awaits_values;
    uint32_t n_slots;
    float *values;
    float *slots[OPTIMIZER_SLOTS_MAX];
    size_t touched_of[DECLARATION_PARAMS_MAX]; /* where a parameter's entries begin */
    size_t n_touched;
    uint64_t *touched;
    bool *seeded; /* [n_touched] rows that were set by table_seed; NULL: it was not called */
    uint64_t rows_missing;
};

/* Values from that place of the whole parameter on. */
static void initialise_run(const struct table *table, uint32_t param, size_t at, size_t n,
                           float *out)
{
    const struct param_spec *spec = &table->declaration.params[param];

    for (size_t i = at; i < at + n; i++)
        *out++ = param_init_value(spec, table->declaration.seed, (uint32_t)(i / spec->columns),
                                  (uint32_t)(i % spec->columns));
}

static void initialise(struct table *table)
{
    for (uint32_t p = 0; p < table->shape.n_params; p++) {
        const struct shard_param *part = &table->shape.params[p];
        float *out = table->values + part->offset;
        struct shard_piece piece;

        for (size_t n = 0; !part->sparse && shard_piece(part, n, &piece); n++) {
            initialise_run(table, p, piece.at, piece.values, out);
            out += piece.values;
        }
        for (uint32_t i = 0; i < part->rows; i++) {
            initialise_run(table, p, (size_t)shard_global_row(&table->shape, p, i) * part->columns,
                           part->columns, out);
            out += part->columns;
        }
    }
}

/* One entry for a dense parameter, one for each row of a sparse one. */
static void lay_out_touched(struct table *table)
{
    for (uint32_t p = 0; p < table->shape.n_params; p++) {
        const struct shard_param *part = &table->shape.params[p];

        table->touched_of[p] = table->n_touched;
        table->n_touched += part->sparse ? part->rows : 1;
    }
}

static bool allocate(struct table *table)
{
    const size_t n = table->shape.total_values + 1; /* a shard may hold nothing */

    table->values = calloc(n, sizeof *table->values);
    table->touched = calloc(table->n_touched + 1, sizeof *table->touched);
    for (uint32_t s = 0; s < table->n_slots; s++) {
        table->slots[s] = calloc(n, sizeof *table->slots[s]);
        if (table->slots[s] == NULL)
            return false;
    }
    return table->values != NULL && table->touched != NULL;
}

static int prepare_optimizer(struct table *table, struct edl_error *error)
{
    const struct declaration *d = &table->declaration;
    const struct optimizer_spec *spec = &d->optimizer;
    bool velocity = false;

    table->kind = optimizer_kind(spec->method);
    table->rate_factor = 1;
    for (uint32_t p = 0; p < d->n_params; p++) {
        table->steps[p] = optimizer_param_step(spec, &d->params[p]);
        velocity = velocity || optimizer_has_velocity(spec, &d->params[p]);
    }
    table->n_slots = table->kind->n_states + velocity;
    return rate_parse(spec->schedule, (double)spec->learning_rate, (double)spec->schedule_a,
                      (double)spec->schedule_b, spec->schedule_args, &table->rate, error);
}

/* The rate of this push, for each parameter. */
static void set_rates(struct table *table, uint32_t pass)
{
    const bool follows = table->kind->abilities & OPTIMIZER_SCHEDULE;
    const double rate = follows ? rate_at(&table->rate, table->samples, pass) : table->rate.base;

    for (uint32_t p = 0; p < table->shape.n_params; p++)
        table->steps[p].rate =
            rate * (double)table->declaration.params[p].learning_rate * table->rate_factor;
}

void table_set_factors(struct table *table, double rate, double beside)
{
    table->rate_factor = rate;
    for (uint32_t p = 0; p < table->shape.n_params; p++) {
        const struct optimizer_step step =
            optimizer_param_step(&table->declaration.optimizer, &table->declaration.params[p]);

        table->steps[p].l1_rate = step.l1_rate * beside;
        table->steps[p].l2_rate = step.l2_rate * beside;
        table->steps[p].clipping = step.clipping * beside;
    }
}

int table_new(const struct declaration *declaration, uint32_t shard, uint32_t n_shards,
              struct table **ret, struct edl_error *error)
{
    struct table *table;
    int r = declaration_check(declaration, error);

    if (r >= 0)
        r = block_placement_check(&declaration->placement, n_shards, error);
    if (r < 0)
        return r;
    table = xcalloc(1, sizeof *table);
    table->declaration = *declaration;
    shard_shape_init(declaration, shard, n_shards, &table->shape);
    lay_out_touched(table);
    r = prepare_optimizer(table, error);
    if (r >= 0 && !allocate(table))
        r = edl_error_set(error, -ENOMEM, "no memory for %zu parameter%s and %u slot%s each",
                          table->shape.total_values, PLURAL(table->shape.total_values),
                          table->n_slots, PLURAL(table->n_slots));
    if (r < 0) {
        (void)table_free(table);
        return r;
    }
    initialise(table);
    table->awaits_values = declaration->awaits_values > 0;
    set_rates(table, 0);
    *ret = table;
    return 0;
}

struct table *table_free(struct table *table)
{
    if (table == NULL)
        return NULL;
    free(table->values);
    free(table->touched);
    free(table->seeded);
    for (uint32_t s = 0; s < table->n_slots; s++)
        free(table->slots[s]);
    free(table);
    return NULL;
}

const struct shard_shape *table_shape(const struct table *table)
{
    return &table->shape;
}

const struct declaration *table_declaration(const struct table *table)
{
    return &table->declaration;
}

uint64_t table_updates(const struct table *table)
{
    return table->updates;
}

void table_set_updates(struct table *table, uint64_t updates)
{
    table->updates = updates;
}

float *table_values(struct table *table)
{
    return table->values;
}

uint64_t table_samples(const struct table *table)
{
    return table->samples;
}

void table_set_samples(struct table *table, uint64_t samples)
{
    table->samples = samples;
    set_rates(table, 0);
}

void table_set_pass(struct table *table, uint32_t pass)
{
    set_rates(table, pass);
}

uint32_t table_n_slots(const struct table *table)
{
    return table->n_slots;
}

float *table_slot(struct table *table, uint32_t slot)
{
    return table->slots[slot];
}

uint64_t *table_touched(struct table *table, size_t *ret_n)
{
    *ret_n = table->n_touched;
    return table->touched;
}

static int check_ids(const struct table *table, uint32_t param, const uint32_t *ids, uint32_t n,
                     struct edl_error *error)
{
    for (uint32_t i = 0; i < n; i++)
        if (shard_local_row(&table->shape, param, ids[i]) < 0)
            return edl_error_set(error, -EINVAL, "row %u of %s is not on server %u of %u", ids[i],
                                 table->declaration.params[param].name, table->shape.shard,
                                 table->shape.n_shards);
    return 0;
}

int table_check(const struct table *table, const struct wire_push_pull *request,
                struct edl_error *error)
{
    if (request->dense != NULL &&
        !tensor_ops_f32()->finite(request->dense, table->shape.dense_values))
        return edl_error_set(error, -EINVAL, "a dense gradient is infinite or not a number");
    for (uint32_t s = 0; s < request->n_sections; s++) {
        const struct wire_section *section = &request->sections[s];
        size_t columns = table->shape.params[section->param].columns;
        int r = check_ids(table, section->param, section->push_ids, section->n_push, error);

        if (r >= 0)
            r = check_ids(table, section->param, section->pull_ids, section->n_pull, error);
        if (r < 0)
            return r;
        if (!tensor_ops_f32()->finite(section->push_rows, section->n_push * columns))
            return edl_error_set(error, -EINVAL, "a gradient of %s is infinite or not a number",
                                 table->declaration.params[section->param].name);
    }
    return 0;
}

static void slots_at(const struct table *table, size_t offset, bool velocity,
                     float *ret[OPTIMIZER_SLOTS_MAX])
{
    for (uint32_t s = 0; s < OPTIMIZER_SLOTS_MAX; s++)
        ret[s] = s < table->kind->n_states + velocity ? table->slots[s] + offset : NULL;
}

static bool has_velocity(const struct table *table, uint32_t param)
{
    return optimizer_has_velocity(&table->declaration.optimizer, &table->declaration.params[param]);
}

/* resume - before the first update of elements whose values were set and whose slots are zeros
 * AdaGrad's steps are small after many updates, because its state sums all squares of gradients. A
 * sum of nothing would make the first steps as large as at the start, far from where the values
 * were. So the sum is estimated: as if each of the updates had been like this one. The other
 * methods forget old gradients anyway. */
static void resume(const struct table *table, float *const slots[], const float *gradient, size_t n,
                   double updates, const struct optimizer_step *step)
{
    double sum = 0;

    if (table->declaration.optimizer.method != OPTIMIZER_ADAGRAD)
        return;
    for (size_t i = 0; i < n; i++) {
        const double g = MIN_OF(fabs((double)gradient[i]), step->clipping);

        sum += g * g;
    }
    for (size_t i = 0; i < n; i++)
        slots[0][i] = (float)(updates * sum / (double)n);
}

static void apply_dense(struct table *table, uint32_t param, const float *gradient)
{
    const struct shard_param *part = &table->shape.params[param];
    struct optimizer_step step = table->steps[param];
    uint64_t *count = &table->touched[table->touched_of[param]];
    float *slots[OPTIMIZER_SLOTS_MAX];

    slots_at(table, part->offset, has_velocity(table, param), slots);
    if (*count & TABLE_UNTOUCHED) {
        resume(table, slots, gradient, part->values, (double)(*count & ~TABLE_UNTOUCHED), &step);
        *count = 0;
    }
    step.count = ++*count;
    step.first = step.count == 1;
    step.batches = 1;
    table->kind->update(table->values + part->offset, slots, gradient, part->values, &step);
}

static bool decays(const struct table *table, uint32_t param)
{
    const struct optimizer_step *step = &table->steps[param];

    return (step->l1_rate > 0 || step->l2_rate > 0) && (table->kind->abilities & OPTIMIZER_DECAY);
}

/* is_missing - the row has its start value still, though values were set; of no use without that */
static bool is_missing(const struct table *table, size_t at)
{
    return !table->seeded[at] && (table->touched[at] & TABLE_UNTOUCHED) != 0;
}

/* A row that has missed batches pays for them first, and then has an update like any other, so that
 * a row that misses none moves exactly as a dense one. A push that does not count, and a row that
 * comes twice, miss nothing, nor does a row that was set. share: of all rows, those that this push
 * has */
static void apply_row(struct table *table, uint32_t param, uint32_t row, const float *gradient,
                      double share)
{
    const struct shard_param *part = &table->shape.params[param];
    const size_t local = (size_t)shard_local_row(&table->shape, param, row);
    const size_t offset = part->offset + local * part->columns;
    uint64_t *last = &table->touched[table->touched_of[param] + local];
    const bool was_set = (*last & TABLE_UNTOUCHED) != 0;
    const uint64_t passed = was_set ? 1 : table->updates - MIN_OF(*last, table->updates);
    struct optimizer_step step = table->steps[param];
    float *slots[OPTIMIZER_SLOTS_MAX];

    slots_at(table, offset, false, slots);
    step.first = *last == 0 || was_set;
    if (was_set)
        resume(table, slots, gradient, part->columns, share * (double)(*last & ~TABLE_UNTOUCHED),
               &step);
    if (passed > 1 && decays(table, param)) {
        step.batches = passed - 1;
        table->kind->catch_up(table->values + offset, slots, part->columns, &step);
    }
    step.count = 1;
    step.batches = MAX_OF(passed, UINT64_C(1));
    table->kind->update(table->values + offset, slots, gradient, part->columns, &step);
    *last = MAX_OF(table->updates, UINT64_C(1));
}

/* The counts and the rates are set before any part of a push is applied. */
static void begin_push(struct table *table, uint32_t samples, uint32_t pass)
{
    table->updates++;
    table->samples += samples;
    set_rates(table, pass);
}

static void push_rows(struct table *table, const struct wire_section *section)
{
    const struct shard_param *part = &table->shape.params[section->param];
    const double share = (double)section->n_push / (double)MAX_OF(part->rows, 1u);

    for (uint32_t i = 0; i < section->n_push; i++)
        apply_row(table, section->param, section->push_ids[i],
                  section->push_rows + (size_t)i * part->columns, share);
}

void table_push(struct table *table, const struct wire_push_pull *request)
{
    if (request->flags & WIRE_PUSH)
        begin_push(table, request->samples, request->pass);
    for (uint32_t p = 0; request->dense != NULL && p < table->shape.n_params; p++)
        if (!table->shape.params[p].sparse)
            apply_dense(table, p, request->dense + table->shape.params[p].offset);
    for (uint32_t s = 0; s < request->n_sections; s++)
        push_rows(table, &request->sections[s]);
}

bool table_awaits_values(const struct table *table)
{
    return table->awaits_values;
}

void table_set_restored(struct table *table)
{
    table->awaits_values = false;
}

/* check_whole - whether the request has each value; its rows are checked, so they are of this shard
 */
static int check_whole(const struct table *table, const struct wire_push_pull *request,
                       struct edl_error *error)
{
    bool seen[DECLARATION_PARAMS_MAX] = { false };

    for (uint32_t s = 0; s < request->n_sections; s++)
        seen[request->sections[s].param] =
            request->sections[s].n_push == table->shape.params[request->sections[s].param].rows;
    for (uint32_t p = 0; p < table->shape.n_params; p++)
        if (table->shape.params[p].sparse && table->shape.params[p].rows > 0 && !seen[p])
            return edl_error_set(error, -EINVAL, "not all rows of %s are set",
                                 table->declaration.params[p].name);
    return request->dense != NULL || table->shape.dense_values == 0
               ? 0
               : edl_error_set(error, -EINVAL, "the dense parameters are not set");
}

/* same_rows - whether the section has the values that are there */
static bool same_rows(const struct table *table, const struct wire_section *section)
{
    const struct shard_param *part = &table->shape.params[section->param];

    for (uint32_t i = 0; i < section->n_push; i++) {
        const size_t local =
            (size_t)shard_local_row(&table->shape, section->param, section->push_ids[i]);

        if (memcmp(table->values + part->offset + local * part->columns,
                   section->push_rows + (size_t)i * part->columns,
                   part->columns * sizeof(float)) != 0)
            return false;
    }
    return true;
}

/* check_same - values that are set again: bit by bit those that are there, as trainers may have
 * pulled them */
static int check_same(const struct table *table, const struct wire_push_pull *request,
                      struct edl_error *error)
{
    bool same = request->dense == NULL || memcmp(table->values, request->dense,
                                                 table->shape.dense_values * sizeof(float)) == 0;

    for (uint32_t s = 0; same && s < request->n_sections; s++)
        same = same_rows(table, &request->sections[s]);
    return same ? 0
                : edl_error_set(error, -EINVAL,
                                "it has the values of another saved model already: restart all "
                                "parameter servers, and then the trainers");
}

static void set_rows(struct table *table, const struct wire_section *section)
{
    const struct shard_param *part = &table->shape.params[section->param];

    for (uint32_t i = 0; i < section->n_push; i++) {
        const size_t local =
            (size_t)shard_local_row(&table->shape, section->param, section->push_ids[i]);

        memcpy(table->values + part->offset + local * part->columns,
               section->push_rows + (size_t)i * part->columns, part->columns * sizeof(float));
    }
}

int table_set(struct table *table, const struct wire_push_pull *request, struct edl_error *error)
{
    int r = table->updates == 0
                ? check_whole(table, request, error)
                : edl_error_set(error, -EALREADY, "values come before the first push");

    if (r >= 0 && !table->awaits_values)
        return check_same(table, request, error);
    if (r < 0)
        return r;
    if (request->dense != NULL)
        memcpy(table->values, request->dense, table->shape.dense_values * sizeof(float));
    for (uint32_t s = 0; s < request->n_sections; s++)
        set_rows(table, &request->sections[s]);
    table->awaits_values = false;
    return 0;
}

/* ---- values that a trainer gives back ---- */

void table_await_values(struct table *table)
{
    table->awaits_values = table->updates == 0;
}

uint64_t table_rows(const struct table *table)
{
    uint64_t n = 0;

    for (uint32_t p = 0; p < table->shape.n_params; p++)
        n += table->shape.params[p].sparse ? table->shape.params[p].rows : 0;
    return n;
}

uint64_t table_rows_missing(const struct table *table)
{
    return table->rows_missing;
}

/* All count as set after so many updates. */
static void begin_anew(struct table *table, uint64_t updates, uint64_t samples)
{
    table->updates = updates;
    table->samples = samples;
    for (uint32_t s = 0; s < table->n_slots; s++)
        memset(table->slots[s], 0, table->shape.total_values * sizeof *table->slots[s]);
    for (size_t i = 0; i < table->n_touched; i++)
        table->touched[i] = updates | TABLE_UNTOUCHED;
    if (table->seeded == NULL)
        table->seeded = xcalloc(table->n_touched + 1, sizeof *table->seeded);
    memset(table->seeded, 0, table->n_touched * sizeof *table->seeded);
    table->rows_missing = table_rows(table);
    set_rates(table, 0);
}

int table_seed(struct table *table, const struct wire_push_pull *request, uint64_t updates,
               uint64_t samples, struct edl_error *error)
{
    if (request->dense == NULL && table->shape.dense_values > 0)
        return edl_error_set(error, -EINVAL, "the dense parameters are not set");
    begin_anew(table, updates, samples);
    if (request->dense != NULL)
        memcpy(table->values, request->dense, table->shape.dense_values * sizeof(float));
    table_seed_rows(table, request);
    table->awaits_values = false;
    return 0;
}

void table_seed_rows(struct table *table, const struct wire_push_pull *request)
{
    for (uint32_t s = 0; table->rows_missing > 0 && s < request->n_sections; s++) {
        const struct wire_section *section = &request->sections[s];
        const struct shard_param *part = &table->shape.params[section->param];

        for (uint32_t i = 0; i < section->n_push; i++) {
            const size_t local =
                (size_t)shard_local_row(&table->shape, section->param, section->push_ids[i]);
            const size_t at = table->touched_of[section->param] + local;

            if (!is_missing(table, at))
                continue;
            memcpy(table->values + part->offset + local * part->columns,
                   section->push_rows + (size_t)i * part->columns, part->columns * sizeof(float));
            table->seeded[at] = true;
            table->rows_missing--;
        }
    }
}

/* As it would be had it paid for the batches it missed; the row itself stays as it is. */
static void pull_row(const struct table *table, uint32_t param, uint32_t row, float *out)
{
    const struct shard_param *part = &table->shape.params[param];
    const size_t local = (size_t)shard_local_row(&table->shape, param, row);
    const size_t offset = part->offset + local * part->columns;
    const uint64_t last = table->touched[table->touched_of[param] + local];

    memcpy(out, table->values + offset, part->columns * sizeof *out);
    if (last < table->updates && decays(table, param)) { /* not of a row that was set */
        struct optimizer_step step = table->steps[param];
        float *slots[OPTIMIZER_SLOTS_MAX];

        slots_at(table, offset, false, slots);
        step.batches = table->updates - last;
        table->kind->catch_up(out, slots, part->columns, &step);
    }
}

void table_pull_rows(const struct table *table, const struct wire_push_pull *request, float *out)
{
    for (uint32_t s = 0; s < request->n_sections; s++) {
        const struct wire_section *section = &request->sections[s];

        for (uint32_t i = 0; i < section->n_pull; i++) {
            pull_row(table, section->param, section->pull_ids[i], out);
            out += table->shape.params[section->param].columns;
        }
    }
}

static struct wire_push_pull section_of(const struct exchange_rows *rows)
{
    return (struct wire_push_pull){ .n_sections = 1,
                                    .sections[0] = { .param = rows->param,
                                                     .n_push = rows->n_push,
                                                     .n_pull = rows->n_pull,
                                                     .push_ids = rows->push_ids,
                                                     .push_rows = rows->push_rows,
                                                     .pull_ids = rows->pull_ids } };
}

/* The same path as over the network, with the shard being everything. Dense parameters are applied
 * from where they lie; rows are gathered through table_pull_rows section by section. */
int table_exchange(void *userdata, const struct exchange *exchange, struct edl_error *error)
{
    struct table *table = userdata;

    for (uint32_t s = 0; s < exchange->n_rows; s++) {
        const struct wire_push_pull request = section_of(&exchange->rows[s]);
        int r = table_check(table, &request, error);

        if (r < 0)
            return r;
    }
    if (exchange->push)
        begin_push(table, exchange->samples, exchange->pass);
    for (uint32_t s = 0; s < exchange->n_rows; s++) {
        const struct wire_push_pull request = section_of(&exchange->rows[s]);

        if (exchange->set)
            set_rows(table, &request.sections[0]);
        else
            push_rows(table, &request.sections[0]);
        table_pull_rows(table, &request, exchange->rows[s].ret_rows);
    }
    for (uint32_t p = 0; p < table->shape.n_params; p++) {
        const struct shard_param *part = &table->shape.params[p];

        if (part->sparse)
            continue;
        if (exchange->dense_gradients != NULL && exchange->set)
            memcpy(table->values + part->offset, exchange->dense_gradients[p],
                   part->values * sizeof(float));
        else if (exchange->dense_gradients != NULL)
            apply_dense(table, p, exchange->dense_gradients[p]);
        if (exchange->ret_dense != NULL)
            memcpy(exchange->ret_dense[p], table->values + part->offset,
                   part->values * sizeof(float));
    }
    return 0;
}
