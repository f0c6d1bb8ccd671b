/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - see engine.h */
#include "scheduler/store/engine.h"

#include <stdlib.h>

int engine_error(struct engine *engine, const char *what, struct edl_error *error)
{
    return engine->calls->error(engine, what, error);
}

struct engine *engine_close(struct engine *engine)
{
    if (engine != NULL)
        engine->calls->disconnect(engine);
    return NULL;
}

int64_t engine_number(struct engine *engine, const char *text)
{
    struct prepared *statement = NULL;
    int64_t number = -1;

    if (engine->calls->prepare(engine, text, &statement) == 0 &&
        engine->calls->next(statement) == 1)
        number = engine->calls->i64(statement, 0);
    (void)engine->calls->finish(statement);
    return number;
}

void store_bind_text(struct prepared *statement, int at, const char *text)
{
    statement->engine->calls->bind_text(statement, at, text, NULL);
}

void store_take_text(struct prepared *statement, int at, char *text)
{
    statement->engine->calls->bind_text(statement, at, text, free);
}

void store_bind_u64(struct prepared *statement, int at, uint64_t value)
{
    statement->engine->calls->bind_i64(statement, at, (int64_t)value);
}

void store_bind_i64(struct prepared *statement, int at, int64_t value)
{
    statement->engine->calls->bind_i64(statement, at, value);
}

void store_bind_real(struct prepared *statement, int at, double value)
{
    statement->engine->calls->bind_real(statement, at, value);
}

int store_next(struct prepared *statement, const char *doing, struct edl_error *error)
{
    int r = statement->engine->calls->next(statement);

    return r < 0 ? engine_error(statement->engine, doing, error) : r;
}

void store_reset(struct prepared *statement)
{
    statement->engine->calls->reset(statement);
}

const char *store_column_text(struct prepared *statement, int at)
{
    const char *text = statement->engine->calls->text(statement, at);

    return text != NULL ? text : "";
}

uint64_t store_column_u64(struct prepared *statement, int at)
{
    return (uint64_t)statement->engine->calls->i64(statement, at);
}

int64_t store_column_i64(struct prepared *statement, int at)
{
    return statement->engine->calls->i64(statement, at);
}

double store_column_real(struct prepared *statement, int at)
{
    return statement->engine->calls->real(statement, at);
}

bool store_column_is_null(struct prepared *statement, int at)
{
    return statement->engine->calls->is_null(statement, at);
}
