/* SPDX-License-Identifier: Apache-2.0 */
/* store_users.c - people and their groups, tokens and the audit log
 *
 * The log is bounded without a sweep: each line that comes lets the two oldest go that are too old,
 * and when there are too many lines, the two oldest of whoever has the most: nobody can push out
 * what others did. */
#include "scheduler/store/store.h"

#include "scheduler/store/store_internal.h"
#include "shared/error.h"
#include "shared/macro.h"

static int put_user(struct store *store, const struct account_change *change,
                    struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_USER_PUT];

    store_bind_text(statement, 1, change->name);
    store_bind_text(statement, 2, change->role);
    store_bind_u64(statement, 3, change->created_wall_us);
    store_bind_text(statement, 4, change->group);
    return store_step_done(store, ST_USER_PUT, error);
}

static int drop_user(struct store *store, const struct account_change *change,
                     struct edl_error *error)
{
    store_bind_text(store->statements[ST_USER_DELETE], 1, change->name);
    return store_step_done(store, ST_USER_DELETE, error);
}

static int put_token(struct store *store, const struct account_change *change,
                     struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_TOKEN_PUT];

    store_bind_u64(statement, 1, change->id);
    store_bind_text(statement, 2, change->hash);
    store_bind_text(statement, 3, change->name);
    store_bind_text(statement, 4, change->note);
    store_bind_u64(statement, 5, change->created_wall_us);
    store_bind_u64(statement, 6, change->expires_wall_us);
    store_bind_u64(statement, 7, change->made_with);
    return store_step_done(store, ST_TOKEN_PUT, error);
}

static int drop_token(struct store *store, const struct account_change *change,
                      struct edl_error *error)
{
    store_bind_u64(store->statements[ST_TOKEN_DELETE], 1, change->id);
    return store_step_done(store, ST_TOKEN_DELETE, error);
}

static int put_group(struct store *store, const struct account_change *change,
                     struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_GROUP_PUT];

    store_bind_text(statement, 1, change->name);
    store_bind_u64(statement, 2, change->guaranteed_permille);
    store_bind_u64(statement, 3, change->weight);
    store_bind_u64(statement, 4, change->created_wall_us);
    return store_step_done(store, ST_GROUP_PUT, error);
}

static int drop_group(struct store *store, const struct account_change *change,
                      struct edl_error *error)
{
    int r;

    store_bind_text(store->statements[ST_GROUP_LEAVE], 1, change->name);
    r = store_step_done(store, ST_GROUP_LEAVE, error);
    if (r < 0)
        return r;
    store_bind_text(store->statements[ST_GROUP_DELETE], 1, change->name);
    return store_step_done(store, ST_GROUP_DELETE, error);
}

/* Two go at most where one comes: the bound is reached soon after it was lowered. */
static int trim_audit(struct store *store, uint64_t now_us, struct edl_error *error)
{
    const struct store_history *keep = &store->history;
    int r = 0;

    if (keep->audit_us != 0) {
        store_bind_u64(store->statements[ST_AUDIT_OLD], 1, now_us - MIN_OF(now_us, keep->audit_us));
        r = store_step_done(store, ST_AUDIT_OLD, error);
    }
    if (r == 0 && keep->audit != 0 && store_first_number_of(store, ST_AUDIT_LINES) > keep->audit)
        r = store_step_done(store, ST_AUDIT_SHARE, error);
    return r;
}

static int add_audit(struct store *store, const struct account_change *change,
                     struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_AUDIT_ADD];
    int r;

    store_bind_u64(statement, 1, change->created_wall_us);
    store_bind_text(statement, 2, change->name);
    store_bind_text(statement, 3, change->via);
    store_bind_text(statement, 4, change->method);
    store_bind_text(statement, 5, change->target);
    store_bind_u64(statement, 6, change->status);
    store_bind_text(statement, 7, change->request_id);
    r = store_step_done(store, ST_AUDIT_ADD, error);
    return r < 0 ? r : trim_audit(store, change->created_wall_us, error);
}

int store_put_account(struct store *store, const struct account_change *change,
                      struct edl_error *error)
{
    static int (*const puts[])(struct store *, const struct account_change *,
                               struct edl_error *) = {
        [ACCOUNT_PUT_USER] = put_user,     [ACCOUNT_DROP_USER] = drop_user,
        [ACCOUNT_PUT_TOKEN] = put_token,   [ACCOUNT_DROP_TOKEN] = drop_token,
        [ACCOUNT_AUDIT] = add_audit,       [ACCOUNT_PUT_GROUP] = put_group,
        [ACCOUNT_DROP_GROUP] = drop_group,
    };

    return puts[change->kind](store, change, error);
}

static int each_group(struct store *store, store_account_fn fn, void *userdata,
                      struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_GROUP_ALL];
    int step;
    int r = 0;

    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        const struct account_change row = {
            .kind = ACCOUNT_PUT_GROUP,
            .name = (char *)(uintptr_t)store_column_text(statement, 0), /* why: borrowed */
            .guaranteed_permille = (uint32_t)store_column_u64(statement, 1),
            .weight = (uint32_t)store_column_u64(statement, 2),
            .created_wall_us = store_column_u64(statement, 3),
        };

        fn(&row, userdata);
    }
    if (step != SQLITE_DONE)
        r = store_error(store, "reading groups", error);
    (void)sqlite3_reset(statement);
    return r;
}

/* Columns in the order of both statements: id, hash, name, role or note, created, expires, group,
 * made_with. */
static int each_account(struct store *store, enum statement which, enum account_change_kind kind,
                        store_account_fn fn, void *userdata, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[which];
    int step;
    int r = 0;

    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct account_change row = {
            .kind = kind,
            .id = store_column_u64(statement, 0),
            .hash = (char *)(uintptr_t)store_column_text(statement, 1), /* why: borrowed */
            .name = (char *)(uintptr_t)store_column_text(statement, 2),
            .note = (char *)(uintptr_t)store_column_text(statement, 3),
            .created_wall_us = store_column_u64(statement, 4),
            .expires_wall_us = store_column_u64(statement, 5),
            .group = (char *)(uintptr_t)store_column_text(statement, 6),
            .made_with = store_column_u64(statement, 7),
        };

        row.role = kind == ACCOUNT_PUT_USER ? row.note : NULL;
        fn(&row, userdata);
    }
    if (step != SQLITE_DONE)
        r = store_error(store, "reading users", error);
    (void)sqlite3_reset(statement);
    return r;
}

static int last_token(struct store *store, uint64_t *ret, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_TOKEN_LAST];
    int step = sqlite3_step(statement);
    int r = 0;

    if (step == SQLITE_ROW)
        *ret = store_column_u64(statement, 0);
    else if (step != SQLITE_DONE)
        r = store_error(store, "reading tokens", error);
    (void)sqlite3_reset(statement);
    return r;
}

int store_accounts(struct store *store, store_account_fn fn, void *userdata,
                   uint64_t *ret_last_token, struct edl_error *error)
{
    int r = each_group(store, fn, userdata, error);

    if (r == 0)
        r = each_account(store, ST_USER_ALL, ACCOUNT_PUT_USER, fn, userdata, error);
    if (r == 0)
        r = each_account(store, ST_TOKEN_ALL, ACCOUNT_PUT_TOKEN, fn, userdata, error);
    return r < 0 ? r : last_token(store, ret_last_token, error);
}

int store_audit(struct store *store, uint64_t after, uint32_t limit, store_audit_fn fn,
                void *userdata, struct edl_error *error)
{
    sqlite3_stmt *statement = store->statements[ST_AUDIT_AFTER];
    int step;
    int r = 0;

    store_bind_u64(statement, 1, MIN_OF(after, (uint64_t)INT64_MAX));
    store_bind_u64(statement, 2, limit);
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        const struct audit_entry entry = {
            .id = store_column_u64(statement, 0),
            .wall_us = store_column_u64(statement, 1),
            .user = store_column_text(statement, 2),
            .via = store_column_text(statement, 3),
            .method = store_column_text(statement, 4),
            .target = store_column_text(statement, 5),
            .status = (unsigned)store_column_u64(statement, 6),
            .request_id = store_column_text(statement, 7),
        };

        fn(&entry, userdata);
    }
    if (step != SQLITE_DONE)
        r = store_error(store, "reading the audit log", error);
    (void)sqlite3_reset(statement);
    return r;
}
