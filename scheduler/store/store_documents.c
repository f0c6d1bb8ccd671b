/* SPDX-License-Identifier: Apache-2.0 */
/* store_documents.c - documents of archived jobs, each once for all jobs of a user that have it
 *
 * Jobs of an array, and of one that is submitted again and again, differ by their name and index
 * alone: those stand in the row of each. Triggers of the schema count the jobs of a document and
 * remove it with the last one. They keep its bytes in the share of its user. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "scheduler/store/row.h"
#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/content_hash.h"
#include "shared/error.h"
#include "shared/macro.h"

static int hash(const char *text, char ret[WORKSPACE_HEX + 1], struct edl_error *error)
{
    struct content_hash *state = NULL;
    int r = content_hash_new(&state, error);

    if (r < 0)
        return r;
    content_hash_add(state, text, strlen(text));
    content_hash_end(state, ret);
    (void)content_hash_free(state);
    return 0;
}

static int put(struct store *store, const char *user, const char *text, uint64_t *ret,
               struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_DOCUMENT_PUT];
    char digest[WORKSPACE_HEX + 1];
    int r = hash(text, digest, error);

    if (r < 0)
        return r;
    store_bind_text(statement, 1, user);
    store_bind_text(statement, 2, digest);
    store_bind_u64(statement, 3, strlen(text));
    store_bind_text(statement, 4, text);
    r = store_next(statement, "writing a document", error);
    if (r == 1)
        *ret = store_column_u64(statement, 0);
    store_reset(statement);
    return MIN_OF(r, 0);
}

/* What differs from job to job goes out of the document, to *ret. */
static char *blank(json_t *take_document, struct archived_facts *ret)
{
    json_t *array = json_object_get(take_document, "array");

    (void)json_object_set_new(take_document, "name", json_string(""));
    ret->in_array = array != NULL;
    ret->index = json_integer_value(json_object_get(array, "index"));
    ret->n = json_integer_value(json_object_get(array, "jobs"));
    if (array != NULL)
        (void)json_object_set_new(array, "index", json_integer(0));
    return store_json_text(take_document);
}

static void read_usage(struct row *row, int column, struct usage *ret)
{
    json_t *kinds = row_array(row, column, USAGE_KINDS);
    json_t *kind;
    size_t i;

    json_array_foreach(kinds, i, kind)
    {
        ret->kinds[i] = (struct resource_time){
            .cpu_millicore_ms = row_element(row, column, json_array_get(kind, 0), INT64_MAX),
            .gpu_ms = row_element(row, column, json_array_get(kind, 1), INT64_MAX),
            .memory_mib_ms = row_element(row, column, json_array_get(kind, 2), INT64_MAX),
        };
    }
    json_decref(kinds);
}

static int share(struct store *store, struct prepared *statement, struct archived_facts *ret,
                 struct edl_error *error)
{
    _cleanup_free_ char *text = NULL;
    json_t *document;
    struct row row;

    row_begin(&row, statement, error, "job %" PRIu64, ret->id);
    row_text(&row, 0, ret->user, sizeof ret->user);
    document = row_object(&row, 1);
    read_usage(&row, 2, &ret->usage);
    if (row.r < 0) {
        json_decref(document);
        return row.r;
    }
    text = blank(document, ret);
    return put(store, ret->user, text, &ret->document, error);
}

int store_share_document(struct store *store, uint64_t job_id, struct archived_facts *ret,
                         struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_DOCUMENT_OF];
    int r, shared = 0;

    *ret = (struct archived_facts){ .id = job_id };
    store_bind_u64(statement, 1, job_id);
    r = store_next(statement, "reading a document", error);
    if (r == 1)
        shared = share(store, statement, ret, error);
    store_reset(statement);
    return shared < 0 ? shared : r;
}
