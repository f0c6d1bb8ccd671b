/* SPDX-License-Identifier: Apache-2.0 */
/* store_users.c - people and their groups, tokens and the audit log
 *
 * The log is bounded without a sweep: each line that comes lets the two oldest go that are too old.
 * When there are too many lines, it lets the two oldest of the user with the most go: nobody can
 * push out the lines of others. */
#include "scheduler/store/store.h"

#include "scheduler/store/store_internal.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

/* The four of them stand together, in the rows and in the statements that write them. */
static void bind_limits(struct prepared *statement, int first, const struct owner_limits *limits)
{
    store_bind_u64(statement, first, limits->cpu_millicores);
    store_bind_u64(statement, first + 1, limits->gpus);
    store_bind_u64(statement, first + 2, limits->jobs);
    store_bind_u64(statement, first + 3, limits->time_us);
}

static struct owner_limits column_limits(struct prepared *statement, int first)
{
    return (struct owner_limits){
        .cpu_millicores = store_column_u64(statement, first),
        .gpus = store_column_u64(statement, first + 1),
        .jobs = store_column_u64(statement, first + 2),
        .time_us = store_column_u64(statement, first + 3),
    };
}

static int put_user(struct store *store, const struct account_change *change,
                    struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_USER_PUT];

    store_bind_text(statement, 1, change->name);
    store_bind_text(statement, 2, change->role);
    store_bind_u64(statement, 3, change->created_wall_us);
    store_bind_text(statement, 4, change->group);
    bind_limits(statement, 5, &change->limits);
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
    struct prepared *statement = store->statements[ST_TOKEN_PUT];
    int r;

    store_bind_u64(statement, 1, change->id);
    store_bind_text(statement, 2, change->hash);
    store_bind_text(statement, 3, change->name);
    store_bind_text(statement, 4, change->note);
    store_bind_u64(statement, 5, change->created_wall_us);
    store_bind_u64(statement, 6, change->expires_wall_us);
    store_bind_u64(statement, 7, change->made_with);
    store_bind_u64(statement, 8, change->is_login);
    store_bind_u64(statement, 9, change->is_browser);
    r = store_step_done(store, ST_TOKEN_PUT, error);
    return r < 0 ? r : store_put_number(store, "token", &store->numbers.token, change->id, error);
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
    struct prepared *statement = store->statements[ST_GROUP_PUT];

    store_bind_text(statement, 1, change->name);
    store_bind_u64(statement, 2, change->guaranteed_permille);
    store_bind_u64(statement, 3, change->weight);
    store_bind_u64(statement, 4, change->created_wall_us);
    bind_limits(statement, 5, &change->limits);
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

/* drop_old - lines that are too old, two at most where one came */
static int drop_old(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_AUDIT_OLDEST];
    struct store_sums *sums = &store->sums;
    uint64_t now_us = rest->audited_wall_us, keep_us = store->history.audit_us, last = 0;
    int r;

    if (keep_us == 0 || store_rests(sums->audit_rests_us, keep_us, now_us))
        return 0;
    store_bind_u64(statement, 1, 2 * rest->n_audited);
    while ((r = store_next(statement, "reading old lines of the audit log", error)) == 1) {
        uint64_t wall_us = store_column_u64(statement, 2);

        if (wall_us + keep_us >= now_us) {
            sums->audit_rests_us = store_rest_from(keep_us, wall_us, now_us);
            break;
        }
        last = store_column_u64(statement, 0);
        if (sums->audit_known)
            user_sums_take(&sums->audit, store_column_text(statement, 1), 1, 0);
    }
    store_reset(statement);
    if (r < 0 || last == 0)
        return MIN_OF(r, 0);
    sums->audit_first = last + 1;
    store_bind_u64(store->statements[ST_AUDIT_DROP], 1, last);
    return store_step_done(store, ST_AUDIT_DROP, error);
}

/* drop_of_one - the oldest lines of the user with the most, two where one came and as long as it is
 * that; *left: so many lines that came are left. */
static int drop_of_one(struct store *store, size_t *left, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_AUDIT_DROP_OF];
    struct user_sums *sums = &store->sums.audit;
    const struct user_sum *most = user_sums_most(sums, false);
    _cleanup_free_ char *user = xstrdup(most->user);
    uint64_t n = 0;

    while (*left > 0 && sums->n > store->history.audit && streq(most->user, user)) {
        uint64_t now = MIN_OF(most->n, UINT64_C(2));

        n += now;
        (*left)--;
        user_sums_take(sums, user, now, 0);
        most = user_sums_most(sums, false);
        if (most == NULL)
            break;
    }
    store_bind_text(statement, 1, user);
    store_bind_u64(statement, 2, n);
    return store_step_done(store, ST_AUDIT_DROP_OF, error);
}

/* count - the lines that came; false: there are not too many. Their numbers tell how many there are
 * at most. The sums by user are made when that may be too many: it takes a look at each line. */
static int count(struct store *store, const struct turn_rest *rest, bool *ret,
                 struct edl_error *error)
{
    struct store_sums *sums = &store->sums;
    uint64_t keep = store->history.audit;

    sums->audit_last += rest->n_audited;
    for (size_t i = 0; sums->audit_known && i < rest->n_shares; i++)
        if (rest->shares[i].n_audited > 0)
            user_sums_add(&sums->audit, rest->shares[i].user, rest->shares[i].n_audited, 0);
    *ret = keep != 0 && sums->audit_last - sums->audit_first >= keep;
    return *ret && !sums->audit_known ? store_read_audit(store, error) : 0;
}

/* Two go at most where one comes: the bound is reached soon after it was lowered. */
int store_trim_audit(struct store *store, const struct turn_rest *rest, struct edl_error *error)
{
    size_t left = rest->n_audited;
    bool many;
    int r = left > 0 ? count(store, rest, &many, error) : 0;

    if (left == 0 || r < 0)
        return r;
    r = drop_old(store, rest, error);
    while (r == 0 && many && left > 0 && store->sums.audit.n > store->history.audit)
        r = drop_of_one(store, &left, error);
    return r;
}

static int add_audit(struct store *store, const struct account_change *change,
                     struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_AUDIT_ADD];

    store_bind_u64(statement, 1, ++store->numbers.audit);
    store_bind_u64(statement, 2, change->created_wall_us);
    store_bind_text(statement, 3, change->name);
    store_bind_text(statement, 4, change->via);
    store_bind_text(statement, 5, change->method);
    store_bind_text(statement, 6, change->target);
    store_bind_u64(statement, 7, change->status);
    store_bind_text(statement, 8, change->request_id);
    return store_step_done(store, ST_AUDIT_ADD, error);
}

int store_put_accounts(struct store *store, const struct account_change *changes, size_t n,
                       struct edl_error *error)
{
    static int (*const puts[])(struct store *, const struct account_change *,
                               struct edl_error *) = {
        [ACCOUNT_PUT_USER] = put_user,   [ACCOUNT_DROP_USER] = drop_user,
        [ACCOUNT_PUT_TOKEN] = put_token, [ACCOUNT_DROP_TOKEN] = drop_token,
        [ACCOUNT_PUT_GROUP] = put_group, [ACCOUNT_DROP_GROUP] = drop_group,
        [ACCOUNT_AUDIT] = add_audit,
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++)
        r = puts[changes[i].kind](store, &changes[i], error);
    return r;
}

static int each_group(struct store *store, store_account_fn fn, void *userdata,
                      struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_GROUP_ALL];
    int r;

    while ((r = store_next(statement, "reading groups", error)) == 1) {
        const struct account_change row = {
            .kind = ACCOUNT_PUT_GROUP,
            .name = (char *)(uintptr_t)store_column_text(statement, 0), /* why: borrowed */
            .guaranteed_permille = (uint32_t)store_column_u64(statement, 1),
            .weight = (uint32_t)store_column_u64(statement, 2),
            .created_wall_us = store_column_u64(statement, 3),
            .limits = column_limits(statement, 4),
        };

        fn(&row, userdata);
    }
    store_reset(statement);
    return r;
}

/* Columns in the order of both statements: id, hash, name, role or note, created, expires, group,
 * made_with; of a token also is_login and is_browser, of a user, behind that, the limits. */
static int each_account(struct store *store, enum statement which, enum account_change_kind kind,
                        store_account_fn fn, void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[which];
    int r;

    while ((r = store_next(statement, "reading users", error)) == 1) {
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
        if (kind == ACCOUNT_PUT_USER)
            row.limits = column_limits(statement, 9);
        row.is_login = kind == ACCOUNT_PUT_TOKEN && store_column_u64(statement, 8) != 0;
        row.is_browser = kind == ACCOUNT_PUT_TOKEN && store_column_u64(statement, 9) != 0;
        fn(&row, userdata);
    }
    store_reset(statement);
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
    return r < 0 ? r : store_number_of(store, ST_TOKEN_LAST, ret_last_token, error);
}

int store_audit(struct store *store, uint64_t after, uint32_t limit, store_audit_fn fn,
                void *userdata, struct edl_error *error)
{
    struct prepared *statement = store->statements[ST_AUDIT_AFTER];
    int r;

    store_bind_u64(statement, 1, MIN_OF(after, (uint64_t)INT64_MAX));
    store_bind_u64(statement, 2, limit);
    while ((r = store_next(statement, "reading the audit log", error)) == 1) {
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
    store_reset(statement);
    return r;
}
