/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - all rows of one database into another
 *
 * All of it is one transaction. The rows that the schema itself begins with go. Each table is
 * written, and then read back. Counts and digests of both are compared. */
#include "scheduler/store/copy/copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/store/copy/copy_line.h"
#include "scheduler/store/sqlite/sqlite_copy.h"
#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"

#define ROWS_BETWEEN_WORDS 4096

/* Of one engine alone: its leader, its schedulers, and archives, which the other has as files. */
static bool is_own(const char *table)
{
    static const char *const own[] = { "leader", "scheduler", "workspace", "workspace_piece" };

    for (size_t i = 0; i < ELEMENTS(own); i++)
        if (streq(own[i], table))
            return true;
    return false;
}

struct copy_place *copy_close(struct copy_place *place)
{
    if (place != NULL)
        place->calls->disconnect(place);
    return NULL;
}

void copy_sum_done(struct copy_sum *sum)
{
    free(sum->tables);
    *sum = (struct copy_sum){ 0 };
}

/* --- schemas --- */

void copy_schema_done(struct copy_schema *schema)
{
    free(schema->tables);
    *schema = (struct copy_schema){ 0 };
}

static struct copy_table *add_table(struct copy_schema *schema, const char *name)
{
    struct copy_table *tables = xcalloc(schema->n + 1, sizeof *tables);

    if (schema->n > 0)
        memcpy(tables, schema->tables, schema->n * sizeof *tables);
    free(schema->tables);
    schema->tables = tables;
    (void)snprintf(tables[schema->n].name, COPY_NAME_MAX, "%s", name);
    return &tables[schema->n++];
}

int copy_schema_add(struct copy_schema *schema, const char *table, const struct copy_column *column,
                    struct edl_error *error)
{
    struct copy_table *last;

    if (is_own(table))
        return 0;
    last = schema->n > 0 ? &schema->tables[schema->n - 1] : NULL;
    if (last == NULL || !streq(last->name, table))
        last = add_table(schema, table);
    if (last->n == COPY_COLUMNS_MAX)
        return edl_error_set(error, -EOVERFLOW, "the table %s has more than %d columns", table,
                             COPY_COLUMNS_MAX);
    last->columns[last->n++] = *column;
    return 0;
}

static const struct copy_column *key_at(const struct copy_table *table, unsigned place)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->columns[i].key == place)
            return &table->columns[i];
    return NULL;
}

char *copy_columns(const struct copy_table *table)
{
    size_t size = table->n * (COPY_NAME_MAX + 4) + 1, used = 0;
    char *text = xcalloc(size, 1);

    for (size_t i = 0; i < table->n; i++)
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", i > 0 ? ", " : "",
                                 table->columns[i].name);
    return text;
}

char *copy_select(const struct copy_table *table, const char *suffix)
{
    _cleanup_free_ char *columns = copy_columns(table);
    size_t size = strlen(columns) + table->n * (COPY_NAME_MAX + 32) + 2 * COPY_NAME_MAX;
    size_t used;
    char *text = xcalloc(size, 1);

    used = (size_t)snprintf(text, size, "SELECT %s FROM \"%s\"", columns, table->name);
    for (unsigned place = 1; place <= table->n; place++) {
        const struct copy_column *column = key_at(table, place);

        if (column == NULL)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\"%s",
                                 place == 1 ? " ORDER BY " : ", ", column->name,
                                 column->kind == COPY_TEXT ? suffix : "");
    }
    return text;
}

static int differ(const struct copy_wishes *wishes, const char *table, const char *column,
                  struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "%s has another table %s%s%s", wishes->where, table,
                        column != NULL ? ", see its column " : "", column != NULL ? column : "");
    return edl_error_remedy(error, "both have to be made by this release, and changed by nobody");
}

static bool is_same(const struct copy_column *one, const struct copy_column *other)
{
    return streq(one->name, other->name) && one->kind == other->kind && one->kind != COPY_OTHER &&
           one->key == other->key;
}

/* Both are sorted by name: of the first two that differ, the one that the other table lacks. */
static int compare_tables(const struct copy_table *a, const struct copy_table *b,
                          const struct copy_wishes *wishes, struct edl_error *error)
{
    size_t i = 0;

    while (i < a->n && i < b->n && is_same(&a->columns[i], &b->columns[i]))
        i++;
    if (i == a->n && i == b->n)
        return 0;
    if (i == a->n || (i < b->n && strcmp(b->columns[i].name, a->columns[i].name) < 0))
        a = b;
    return differ(wishes, a->name, a->columns[i].name, error);
}

static int compare_schemas(const struct copy_schema *a, const struct copy_schema *b,
                           const struct copy_wishes *wishes, struct edl_error *error)
{
    if (a->version != b->version)
        return edl_error_set(error, -EINVAL, "%s has schema %d, and the source has %d",
                             wishes->where, b->version, a->version);
    for (size_t i = 0; i < MAX_OF(a->n, b->n); i++) {
        const struct copy_schema *more = i >= a->n ? b : a;
        int r;

        if (i < a->n && i < b->n && streq(a->tables[i].name, b->tables[i].name)) {
            r = compare_tables(&a->tables[i], &b->tables[i], wishes, error);
            if (r < 0)
                return r;
            continue;
        }
        if (i < a->n && i < b->n && strcmp(b->tables[i].name, a->tables[i].name) < 0)
            more = b;
        return differ(wishes, more->tables[i].name, NULL, error);
    }
    return 0;
}

/* --- empty --- */

static int64_t count(struct copy_place *place, const char *table)
{
    char sql[COPY_NAME_MAX + 40];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", table);
    return place->calls->number(place, sql);
}

#define MADE_US "SELECT applied_us FROM schema_migration ORDER BY version LIMIT 1"

bool copy_same_cluster(struct copy_place *a, struct copy_place *b)
{
    return a->calls->number(a, MADE_US) == b->calls->number(b, MADE_US);
}

static int say_not_empty(struct copy_place *from, struct copy_place *to,
                         const struct copy_wishes *wishes, struct edl_error *error)
{
    int64_t jobs = count(to, "job"), nodes = count(to, "node");
    bool same = copy_same_cluster(from, to);

    (void)edl_error_set(error, -EEXIST,
                        "%s holds %s cluster already; jobs: %" PRId64 ", nodes: %" PRId64,
                        wishes->where, same ? "this" : "another", jobs, nodes);
    return edl_error_remedy(error, "%s", wishes->clear);
}

/* A table of an empty database has the rows that its schema begins with, and no more. */
static int check_empty(struct copy_place *from, struct copy_place *to,
                       const struct copy_schema *schema, const struct copy_wishes *wishes,
                       struct edl_error *error)
{
    struct copy_place *fresh = NULL;
    int r = sqlite_copy_fresh(&fresh, error);

    for (size_t i = 0; r == 0 && i < schema->n; i++)
        if (!streq(schema->tables[i].name, "schema_migration") &&
            count(to, schema->tables[i].name) > count(fresh, schema->tables[i].name))
            r = say_not_empty(from, to, wishes, error);
    (void)copy_close(fresh);
    return r;
}

/* --- one table --- */

struct passing {
    const struct copy_table *table;
    const struct copy_wishes *wishes;
    struct copy_place *to; /* NULL: it is only summed up */
    struct content_hash *hash;
    bool has_real;
    struct copy_line canonical;
    char *buffer;
    size_t buffer_size;
    uint64_t rows, all;
};

/* Each engine writes numbers with a fraction in its own way: for the digest there is one. */
static void add_canonical(struct passing *passing, const char *line, size_t size)
{
    const char *field;
    size_t at = 0;

    if (size + 1 > passing->buffer_size) {
        free(passing->buffer);
        passing->buffer_size = 2 * size + 1;
        passing->buffer = xcalloc(passing->buffer_size, 1);
    }
    copy_line_clear(&passing->canonical);
    for (size_t i = 0; copy_field_next(line, size, &at, passing->buffer, &field); i++) {
        if (field != NULL && i < passing->table->n && passing->table->columns[i].kind == COPY_REAL)
            copy_line_add_real(&passing->canonical, strtod(field, NULL));
        else
            copy_line_add(&passing->canonical, field);
    }
    copy_line_end(&passing->canonical);
    content_hash_add(passing->hash, passing->canonical.text, passing->canonical.size);
}

static int pass(const char *line, size_t size, void *userdata, struct edl_error *error)
{
    struct passing *passing = userdata;
    const struct copy_wishes *wishes = passing->wishes;

    if (passing->has_real)
        add_canonical(passing, line, size);
    else
        content_hash_add(passing->hash, line, size);
    if (++passing->rows % ROWS_BETWEEN_WORDS == 0) {
        if (wishes->progress != NULL)
            wishes->progress(passing->table->name, passing->to != NULL ? "copied" : "compared",
                             passing->rows, passing->all, wishes->userdata);
        if (wishes->give_up != NULL && atomic_load(wishes->give_up))
            return edl_error_set(error, -ECANCELED, "nobody waits for the copy any more");
    }
    return passing->to != NULL ? passing->to->calls->write(passing->to, line, size, error) : 0;
}

/* sum_up - of a table of `from`, which goes to `to` on the way */
static int sum_up(struct copy_place *from, struct copy_place *to, const struct copy_table *table,
                  const struct copy_wishes *wishes, struct copy_table_sum *ret,
                  struct edl_error *error)
{
    struct passing passing = { .table = table, .wishes = wishes, .to = to };
    int64_t all = count(from, table->name);
    int r = content_hash_new(&passing.hash, error);

    if (r < 0)
        return r;
    passing.all = all > 0 ? (uint64_t)all : 0;
    for (size_t i = 0; i < table->n; i++)
        passing.has_real = passing.has_real || table->columns[i].kind == COPY_REAL;
    r = from->calls->read(from, table, pass, &passing, error);
    (void)snprintf(ret->name, sizeof ret->name, "%s", table->name);
    ret->rows = passing.rows;
    content_hash_end(passing.hash, ret->digest);
    (void)content_hash_free(passing.hash);
    copy_line_done(&passing.canonical);
    free(passing.buffer);
    return r;
}

static int copy_table(struct copy_place *from, struct copy_place *to,
                      const struct copy_table *table, const struct copy_wishes *wishes,
                      struct copy_table_sum *ret, struct edl_error *error)
{
    int r = to->calls->write_begin(to, table, error);

    if (r == 0)
        r = sum_up(from, to, table, wishes, ret, error);
    if (r == 0)
        r = to->calls->write_end(to, error);
    if (r < 0)
        edl_error_prefix(error, "the table %s: ", table->name);
    return r;
}

static int check_table(struct copy_place *to, const struct copy_table *table,
                       const struct copy_wishes *wishes, const struct copy_table_sum *written,
                       struct edl_error *error)
{
    struct copy_table_sum found = { 0 };
    int r = sum_up(to, NULL, table, wishes, &found, error);

    if (r < 0 || (found.rows == written->rows && streq(found.digest, written->digest)))
        return r;
    return edl_error_set(error, EDL_ECORRUPT,
                         "the table %s of %s is not what was written: rows: %" PRIu64
                         ", SHA-256 %.12s...; written: %" PRIu64 ", %.12s...",
                         table->name, wishes->where, found.rows, found.digest, written->rows,
                         written->digest);
}

/* --- all of them --- */

/* Backwards is no better: keys are checked at the commit. */
static int clear(struct copy_place *to, const struct copy_schema *schema, struct edl_error *error)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < schema->n; i++) {
        char sql[COPY_NAME_MAX + 24];

        (void)snprintf(sql, sizeof sql, "DELETE FROM \"%s\"", schema->tables[i].name);
        if (count(to, schema->tables[i].name) != 0)
            r = to->calls->run(to, sql, error);
    }
    return r;
}

static int copy_tables(struct copy_place *from, struct copy_place *to,
                       const struct copy_schema *schema, const struct copy_wishes *wishes,
                       struct copy_sum *ret, struct edl_error *error)
{
    int r = to->calls->begin(to, error);

    if (r == 0)
        r = clear(to, schema, error);
    for (size_t i = 0; r == 0 && i < schema->n; i++) {
        r = copy_table(from, to, &schema->tables[i], wishes, &ret->tables[i], error);
        ret->rows += ret->tables[i].rows;
    }
    for (size_t i = 0; r == 0 && i < schema->n; i++)
        r = check_table(to, &schema->tables[i], wishes, &ret->tables[i], error);
    if (r == 0 && wishes->also != NULL)
        r = to->calls->run(to, wishes->also, error);
    if (r == 0 && wishes->behind != NULL)
        r = wishes->behind(from, to, wishes->behind_what, error);
    ret->mended = from->mended;
    return r == 0 ? to->calls->commit(to, error) : r;
}

int copy_all(struct copy_place *from, struct copy_place *to, const struct copy_wishes *wishes,
             struct copy_sum *ret, struct edl_error *error)
{
    struct copy_schema schema = { 0 }, other = { 0 };
    int r = from->calls->schema(from, &schema, error);

    *ret = (struct copy_sum){ 0 };
    if (r == 0)
        r = to->calls->schema(to, &other, error);
    if (r == 0)
        r = compare_schemas(&schema, &other, wishes, error);
    if (r == 0 && !wishes->replace)
        r = check_empty(from, to, &schema, wishes, error);
    if (r == 0) {
        ret->tables = xcalloc(schema.n, sizeof *ret->tables);
        ret->n = schema.n;
        r = copy_tables(from, to, &schema, wishes, ret, error);
    }
    copy_schema_done(&schema);
    copy_schema_done(&other);
    return r;
}
