/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - one shard of the parameters with the optimizer's slots
 *
 * One block of floats for the values and one for each slot, all laid out by shard_shape: the dense
 * parameters first, so that the whole dense part is sent from where it lies. Asynchronous SGD:
 * every push is applied at once.
 *
 * A sparse parameter is updated row by row, only the rows that come. Each row has the number of the
 * push that touched it last. A row that comes again first pays the decay of the batches it missed
 * (catch_up in kernels/optimizer.h). A row that is pulled is sent as if it had paid. */
#pragma once

#include "trainer/exchange/exchange.h"
#include "trainer/parameters/shard.h"
#include "trainer/wire/wire.h"

struct edl_error;
struct table;

/* table_new - creates and initialises; -EINVAL: declaration_check; -ENOMEM: the shard does not fit
 */
int table_new(const struct declaration *declaration, uint32_t shard, uint32_t n_shards,
              struct table **ret, struct edl_error *error);
struct table *table_free(struct table *table);

const struct shard_shape *table_shape(const struct table *table);
const struct declaration *table_declaration(const struct table *table);
uint64_t table_updates(const struct table *table);
void table_set_updates(struct table *table, uint64_t updates);

/* table_samples - behind all pushes, for the rate schedules; rates follow samples that are set */
uint64_t table_samples(const struct table *table);
void table_set_samples(struct table *table, uint64_t samples);

/* table_set_pass - rates as of the last push, which was of this pass; behind samples that were set
 */
void table_set_pass(struct table *table, uint32_t pass);

/* table_set_factors - of the rates of the pushes that follow, and of what stands beside a gradient:
 * L1, L2 and the threshold of clipping; 1 and 1 at first */
void table_set_factors(struct table *table, double rate, double beside);

/* table_values, table_slot - blocks of shape.total_values floats; slot < table_n_slots */
float *table_values(struct table *table);
uint32_t table_n_slots(const struct table *table);
float *table_slot(struct table *table, uint32_t slot);

/* table_touched - of each row of each sparse parameter the push that touched it last, and of each
 * dense parameter its number of updates; *ret_n of them. 0: never. With TABLE_UNTOUCHED: not since
 * its values were set, after so many pushes; a row pays no decay for the batches that it missed
 * before it comes again */
#define TABLE_UNTOUCHED (UINT64_C(1) << 63)
uint64_t *table_touched(struct table *table, size_t *ret_n);

/* table_check - ids of this shard, gradients finite; -EINVAL. A push is applied as a whole or not
 * at all. */
int table_check(const struct table *table, const struct wire_push_pull *request,
                struct edl_error *error);

/* table_push - applies a checked request */
void table_push(struct table *table, const struct wire_push_pull *request);

/* table_awaits_values - of a declaration that awaits them: until table_set, or table_set_restored
 * when they come from a checkpoint */
bool table_awaits_values(const struct table *table);
void table_set_restored(struct table *table);

/* table_set - all values of the shard, from a checked request; those that are there already may be
 * set again, with the same bits. -EINVAL: some are missing, or others are there; -EALREADY: pushes
 * have been applied */
int table_set(struct table *table, const struct wire_push_pull *request, struct edl_error *error);

/* table_await_values - of one without updates: it serves none until table_seed
 *
 * table_seed - from a checked request: dense values, and rows as far as there are any; slots begin
 * anew. The table then counts as after so many updates and samples. -EINVAL: the dense ones are
 * missing
 *
 * table_seed_rows - rows alone, of those that have start values still
 *
 * table_rows_missing - of how many that is, since table_seed; 0 without it. table_rows - of all */
void table_await_values(struct table *table);
int table_seed(struct table *table, const struct wire_push_pull *request, uint64_t updates,
               uint64_t samples, struct edl_error *error);
void table_seed_rows(struct table *table, const struct wire_push_pull *request);
uint64_t table_rows_missing(const struct table *table);
uint64_t table_rows(const struct table *table);

/* table_pull_rows - rows of all sections of a checked request, one after the other, into out */
void table_pull_rows(const struct table *table, const struct wire_push_pull *request, float *out);

/* table_exchange - exchange_fn on a table that is the only shard (training without servers) */
int table_exchange(void *table, const struct exchange *exchange, struct edl_error *error);
