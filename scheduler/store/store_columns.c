/* SPDX-License-Identifier: Apache-2.0 */
/* store_columns.c - the texts of statements and the rows that a table of columns makes */
#include "scheduler/store/store_columns.h"

#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/macro.h"

/* The document of an archived job is shared; the differences from job to job are in its row, and
 * are filled in as it is read (column_json.c). */
#define JOB_DOCUMENT                                                                               \
    "coalesce((SELECT text FROM document WHERE document.id = job.document), spec) AS spec"

static const struct record_table *const tables[] = {
    &node_table, &job_table,        &process_table,      &queue_table,     &queue_end_table,
    &task_table, &rendezvous_table, &array_notice_table, &join_token_table
};

int store_columns_n(const struct record_table *table)
{
    int n = 0;

    while ((size_t)n < table->n && table->columns[n].kind != COLUMN_PART)
        n++;
    return n;
}

int store_place(const struct record_table *table, const char *name)
{
    int place = 0;

    while (!streq(table->columns[place].name, name))
        place++;
    return place;
}

enum style { NAME, NUMBER, ASSIGNED, READ };

/* Unquoted it is the user of the session, to some engines. */
static bool is_word_of_sql(const char *name)
{
    return streq(name, "user");
}

static void write_column(FILE *out, const struct column *column, int number, enum style style)
{
    if (style == NUMBER)
        (void)fprintf(out, "?%d", number);
    else if (style == READ && column->kind == COLUMN_SPEC)
        (void)fputs(JOB_DOCUMENT, out);
    else
        (void)fprintf(out, is_word_of_sql(column->name) ? "\"%s\"" : "%s", column->name);
    if (style == ASSIGNED)
        (void)fprintf(out, "=?%d", number);
}

/* The columns with a flag out of only (0: all) and none out of without. */
static void write_columns(FILE *out, const struct record_table *table, unsigned only,
                          unsigned without, enum style style, const char *separator)
{
    const char *before = "";

    for (int i = 0; i < store_columns_n(table); i++) {
        const struct column *column = &table->columns[i];

        if ((only != 0 && (column->flags & only) == 0) || (column->flags & without) != 0)
            continue;
        (void)fprintf(out, "%s", before);
        write_column(out, column, i + 1, style);
        before = separator;
    }
}

static void write_read(FILE *out, const struct record_table *table)
{
    write_columns(out, table, 0, 0, READ, ", ");
}

/* An upsert, not REPLACE: that would delete the old row first and trip over the foreign keys. */
static void write_put(FILE *out, const struct record_table *table)
{
    (void)fprintf(out, "INSERT INTO %s (", table->name);
    write_columns(out, table, 0, 0, NAME, ", ");
    (void)fprintf(out, ") VALUES (");
    write_columns(out, table, 0, 0, NUMBER, ", ");
    (void)fprintf(out, ") ON CONFLICT (");
    write_columns(out, table, COLUMN_KEY, 0, NAME, ", ");
    (void)fprintf(out, ") DO UPDATE SET ");
    write_columns(out, table, 0, COLUMN_KEY | COLUMN_ONCE, ASSIGNED, ", ");
}

static void write_change(FILE *out, const struct record_table *table)
{
    (void)fprintf(out, "UPDATE %s SET ", table->name);
    write_columns(out, table, 0, COLUMN_KEY | STORE_KEPT, ASSIGNED, ", ");
    (void)fprintf(out, " WHERE ");
    write_columns(out, table, COLUMN_KEY, 0, ASSIGNED, " AND ");
}

static const struct {
    const char *verb;
    void (*write)(FILE *out, const struct record_table *table);
} verbs[] = { { "", write_read }, { "put ", write_put }, { "change ", write_change } };

/* of_engine - a mark of the engine that the text begins with; its length, or 0 */
static size_t of_engine(FILE *out, const struct engine_calls *engine, const char *text)
{
    for (const struct engine_mark *mark = engine->marks; mark->name != NULL; mark++) {
        size_t name = strlen(mark->name), word;

        if (*text != '{' || strncmp(text + 1, mark->name, name) != 0 || text[name + 1] != ' ')
            continue;
        word = strcspn(text + name + 2, "}");
        if (mark->before != NULL)
            (void)fprintf(out, "%s%.*s%s", mark->before, (int)word, text + name + 2, mark->after);
        return name + word + strlen("{ }");
    }
    return 0;
}

/* write_mark - the mark that the text begins with; its length. 0: there is none, or it names
 * nothing
 */
static size_t write_mark(FILE *out, const struct engine_calls *engine, const char *text)
{
    for (size_t i = 0; *text == '{' && i < ELEMENTS(verbs) * ELEMENTS(tables); i++) {
        size_t verb = i % ELEMENTS(verbs);
        const struct record_table *table = tables[i / ELEMENTS(verbs)];
        char mark[64];

        (void)snprintf(mark, sizeof mark, "{%s%s}", verbs[verb].verb, table->name);
        if (strncmp(text, mark, strlen(mark)) != 0)
            continue;
        verbs[verb].write(out, table);
        return strlen(mark);
    }
    return of_engine(out, engine, text);
}

char *store_text_of(const struct engine_calls *engine, const char *text)
{
    char *ret = NULL;
    size_t size;
    FILE *out = open_memstream(&ret, &size);

    if (out == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    while (*text != '\0') {
        size_t n = write_mark(out, engine, text);

        if (n == 0)
            (void)fputc(*text++, out);
        text += n;
    }
    (void)fclose(out);
    return ret;
}

int store_put_record(struct store *store, enum statement which, const struct record_table *table,
                     const void *record, unsigned without, struct edl_error *error)
{
    for (size_t i = 0; i < table->n; i++)
        if ((table->columns[i].flags & without) == 0)
            column_bind(store->statements[which], (int)i + 1, &table->columns[i], record);
    return store_step_done(store, which, error);
}

void store_read_record(struct row *row, int first, const struct record_table *table, void *record)
{
    for (size_t i = 0; i < table->n; i++)
        column_read(row, first + (int)i, &table->columns[i], record);
}
