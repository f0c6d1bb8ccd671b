/* SPDX-License-Identifier: Apache-2.0 */
/* store_documents.c - documents of archived jobs, each once for all jobs of a user that have it
 *
 * Jobs of an array, and of one that is submitted again and again, differ by their name and index
 * alone: those stand in the row of each. Triggers of the schema count the jobs of a document and
 * remove it with the last one. They keep its bytes in the share of its user. */
#include "scheduler/store/store_internal.h"

#include <string.h>

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

int store_share_document(struct store *store, uint64_t job_id, uint64_t *ret,
                         struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_DOCUMENT_OF];
    int r, written = 0;

    store_bind_u64(statement, 1, job_id);
    r = store_next(statement, "reading a document", error);
    if (r == 1)
        written = put(store, store_column_text(statement, 0), store_column_text(statement, 1), ret,
                      error);
    store_reset(statement);
    return written < 0 ? written : r;
}
