/* SPDX-License-Identifier: Apache-2.0 */
/* store_answer_keys.c - the keys of all answers that are kept, for the load of a database */
#include "scheduler/store/store_internal.h"
#include "shared/error.h"

#define KEYS "SELECT \"user\", idempotency_key, answered_wall_us FROM answer ORDER BY sequence"

int store_answer_keys(struct store *store, store_answer_key_fn fn, void *userdata,
                      struct edl_error *error)
{
    struct engine *engine = store->engine;
    struct prepared *statement = NULL;
    int r = engine->calls->prepare(engine, KEYS, &statement);

    if (r < 0)
        return engine_error(engine, "reading the keys of answers", error);
    while ((r = store_next(statement, "reading the keys of answers", error)) == 1)
        fn(store_column_text(statement, 0), store_column_text(statement, 1),
           store_column_u64(statement, 2), userdata);
    (void)engine->calls->finish(statement);
    return r;
}
