/* SPDX-License-Identifier: Apache-2.0 */
/* store_documents.c - documents of archived jobs, each once for all jobs of a user that have it
 *
 * Jobs of an array, and of one that is submitted again and again, differ by their name and index
 * alone: those stand in the row of each. A document goes with the last of its jobs. Its bytes are
 * in the share of its user. */
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

/* The document that the user has already; *ret 0: it has none of that digest. */
static int find(struct store *store, const char *user, const char *digest, uint64_t *ret,
                struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_DOCUMENT_FIND];

    store_bind_text(statement, 1, user);
    store_bind_text(statement, 2, digest);
    return store_number_of(store, ST_DOCUMENT_FIND, ret, error);
}

static int add(struct store *store, const char *user, const char *digest, const char *text,
               struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_DOCUMENT_PUT];

    store_bind_u64(statement, 1, store->numbers.document);
    store_bind_text(statement, 2, user);
    store_bind_text(statement, 3, digest);
    store_bind_u64(statement, 4, strlen(text));
    store_bind_text(statement, 5, text);
    user_sums_add(&store->sums.archive, user, 0, strlen(text));
    return store_step_done(store, ST_DOCUMENT_PUT, error);
}

static int put(struct store *store, const char *user, const char *text, uint64_t *ret,
               struct edl_error *error)
{
    char digest[WORKSPACE_HEX + 1];
    int r = hash(text, digest, error);

    if (r == 0)
        r = find(store, user, digest, ret, error);
    if (r < 0)
        return r;
    if (*ret == 0) {
        *ret = ++store->numbers.document;
        return add(store, user, digest, text, error);
    }
    store_bind_u64(store->statements[ST_DOCUMENT_MORE], 1, *ret);
    return store_step_done(store, ST_DOCUMENT_MORE, error);
}

int store_leave_document(struct store *store, const struct archived_facts *job,
                         struct edl_error *error)
{
    enum statement which = job->document_jobs > 1 ? ST_DOCUMENT_LESS : ST_DOCUMENT_DROP;

    if (job->document == 0)
        return 0;
    if (which == ST_DOCUMENT_DROP)
        user_sums_take(&store->sums.archive, job->user, 0, job->document_bytes);
    store_bind_u64(store->statements[which], 1, job->document);
    return store_step_done(store, which, error);
}

/* The differences from job to job go out of the document, to *ret. */
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
    ret->state = (enum job_state)row_state(&row, 3, job_state_from_string);
    ret->kept_bytes = row_u64(&row, 4, INT64_MAX);
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
    struct prepared *statement = store->statements[ST_ARCHIVE_FACTS];
    int r, shared = 0;

    *ret = (struct archived_facts){ .id = job_id };
    store_bind_u64(statement, 1, job_id);
    r = store_next(statement, "reading a document", error);
    if (r == 1)
        shared = share(store, statement, ret, error);
    store_reset(statement);
    return shared < 0 ? shared : r;
}
