/* SPDX-License-Identifier: Apache-2.0 */
/* test_postgresql.c - a store in PostgreSQL: refused databases, failed transactions, leading
 *
 * The tests of texts need no server. */
#include <errno.h>
#include <string.h>

#include "tests/unit/store_fixture.h"
#include "tests/unit/test.h"

/* --- texts --- */

TEST(test_parameters_are_numbered_as_the_server_wants)
{
    static const struct {
        const char *text, *sent;
        unsigned n, places[4];
    } rows[] = {
        { "SELECT 1", "SELECT 1", 0, { 0 } },
        { "a = ?1 AND b = ?2", "a = $1 AND b = $2", 2, { 1, 2 } },
        { "a = ?3 AND b = ?1 AND c = ?3", "a = $1 AND b = $2 AND c = $1", 2, { 2, 0, 1 } },
        { "a = '?1' AND \"?2\" = ?2", "a = '?1' AND \"?2\" = $1", 1, { 0, 1 } },
        { "a = 'it''s ?1' || ?1", "a = 'it''s ?1' || $1", 1, { 1 } },
        { "?12", "$1", 1, { 0 } },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        unsigned places[POSTGRESQL_PARAMETERS_MAX], n;
        _cleanup_free_ char *sent = postgresql_statement(rows[i].text, places, &n);

        assert_string_equal(sent, rows[i].sent);
        assert_int_equal(n, rows[i].n);
        assert_memory_equal(places, rows[i].places, sizeof rows[i].places);
    }
}

TEST(test_bytes_that_are_no_text_are_replaced)
{
    static const struct {
        const char *text, *sent; /* NULL: as it is */
    } rows[] = {
        { "", NULL },
        { "\xc3\xa9 \xf0\x9f\x90\x98", NULL },
        { "a\xff", "a\xef\xbf\xbd" },
        { "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
        { "\xc3", "\xef\xbf\xbd" },
        { "\xc3\x28", "\xef\xbf\xbd(" },
        { "\xed\xa0\x80z", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz" }, /* a surrogate */
        { "\xff\xc3\xa9", "\xef\xbf\xbd\xc3\xa9" },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        _cleanup_free_ char *sent = postgresql_whole_text(rows[i].text);

        if (rows[i].sent == NULL)
            assert_null(sent);
        else
            assert_string_equal(sent, rows[i].sent);
    }
}

TEST(test_states_are_codes_of_the_store)
{
    static const struct {
        const char *state;
        int code;
    } rows[] = {
        { NULL, -ENOTCONN },       { "53100", -ENOSPC },    { "25006", -EROFS },
        { "40001", -EAGAIN },      { "40P01", -EAGAIN },    { "55P03", -EAGAIN },
        { "42501", -EACCES },      { "28P01", -EACCES },    { "28000", -EACCES },
        { "3D000", -EACCES },      { "57P03", -ENOTCONN },  { "08006", -ENOTCONN },
        { "53300", -ENOTCONN },    { "57014", -ETIMEDOUT }, { "23505", EDL_ECORRUPT },
        { "XX001", EDL_ECORRUPT },
    };

    for (size_t i = 0; i < ELEMENTS(rows); i++)
        assert_int_equal(postgresql_code(rows[i].state), rows[i].code);
}

/* --- databases --- */

static bool has_server(void)
{
    if (postgresql_test_server() != NULL)
        return true;
    print_message("EDL_TEST_POSTGRESQL names no server\n");
    return false;
}

#define NEED_SERVER()                                                                              \
    do {                                                                                           \
        if (!has_server())                                                                         \
            skip();                                                                                \
    } while (0)

static void see_refused(const char *url, int code, const char *says, const char *remedy)
{
    struct store *store = NULL;
    struct edl_error error = { 0 };
    int r = code == -ENOTCONN ? postgresql_open(url, 0, &store, &error)
                              : postgresql_test_open(url, &store, &error);

    if (r != code || strstr(error.text, says) == NULL || strstr(error.remedy, remedy) == NULL)
        fail_msg("%s: %d: %s; %s", url, r, error.text, error.remedy);
    assert_null(strstr(error.text, "secret"));
    assert_null(strstr(error.remedy, "secret"));
    assert_null(store);
}

TEST(test_a_url_that_is_none_is_told_without_its_password)
{
    NEED_SERVER();
    see_refused("postgresql://edl:secret@db1:port/edl", -EINVAL, "that can be", "");
    see_refused("postgresql://edl:secret@[db1/edl", -EINVAL, "cannot read the URL",
                "postgresql://");
    see_refused("postgresql://edl:very@secret@db1/edl", -EINVAL, "that can be", "%40");
    see_refused("postgresql://edl:secret/very@db1/edl", -EINVAL, "that can be", "%2F");
    see_refused("postgresql://edl:1234/secret@db1/edl", -EINVAL, "that can be", "%2F");
    see_refused("postgresql:///edl?secret", -EINVAL, "cannot read the URL", "postgresql://");
    see_refused("postgresql://edl%3Asecret@db1/edl", -EINVAL, "that can be", "~/.pgpass");
    see_refused("postgresql:///edl?password=secret&sslmod=off", -EINVAL, "no key \"sslmod\"", "");
    see_refused("postgresql://edl:secret@db1:99999/edl", -EINVAL, "that can be", "65535");
    see_refused("postgresql://edl:secret@db1,db2/edl?port=1,2,3", -EINVAL, "that can be", "");
    see_refused("postgresql://edl:secret@db1/edl?sslmode=maybe", -EINVAL, "\"maybe\"", "--store");
    see_refused("postgresql:///?service=nowhere&password=secret", -EINVAL, "\"nowhere\"",
                "--store");
}

TEST(test_a_server_that_is_not_there_is_away)
{
    NEED_SERVER();
    see_refused("postgresql:///edl?host=/nowhere", -ENOTCONN, "No such file", "does PostgreSQL");
    see_refused("postgresql://edl:secret@127.0.0.1:1/edl", -ENOTCONN, "refused", "does PostgreSQL");
}

TEST(test_the_host_that_answers_is_taken)
{
    char url[POSTGRESQL_TEST_URL_SIZE], two[2 * POSTGRESQL_TEST_URL_SIZE];
    const char *host;
    struct store *store = NULL;
    struct edl_error error = { 0 };

    NEED_SERVER();
    postgresql_test_begin(url);
    host = strstr(url, "host=");
    assert_non_null(host);
    (void)snprintf(two, sizeof two, "%.*shost=/nowhere,%s", (int)(host - url), url,
                   host + strlen("host="));
    if (postgresql_test_open(two, &store, &error) < 0)
        fail_msg("%s", error.text);
    (void)store_free(store);
}

TEST(test_databases_that_cannot_be_used_are_refused)
{
    static const struct {
        const char *sql;
        int code;
        const char *says, *remedy;
    } rows[] = {
        { "CREATE TABLE theirs (id bigint)", -EINVAL, "something else", "of its own" },
        { "CREATE TABLE schema_migration (version bigint, name text, applied_us bigint);"
          " INSERT INTO schema_migration VALUES (9999, '', 0)",
          -EINVAL, "schema 9999", "newer edl-scheduler" },
        { "DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'edl_test_poor') THEN"
          " CREATE ROLE edl_test_poor LOGIN; END IF; END $$",
          -EACCES, "no schema", "OWNER TO" },
    };

    NEED_SERVER();
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char url[POSTGRESQL_TEST_URL_SIZE], as[POSTGRESQL_TEST_URL_SIZE + 40];

        postgresql_test_schema(url);
        postgresql_test_sql(url, rows[i].sql);
        (void)snprintf(as, sizeof as, "%s%s", url,
                       rows[i].code == -EACCES ? "&user=edl_test_poor" : "");
        see_refused(as, rows[i].code, rows[i].says, rows[i].remedy);
        postgresql_test_drop_schema(url);
    }
}

TEST(test_an_encoding_other_than_utf8_is_refused)
{
    char url[POSTGRESQL_TEST_URL_SIZE];

    NEED_SERVER();
    postgresql_test_database(url, "ENCODING 'SQL_ASCII' LOCALE 'C'");
    see_refused(url, -EINVAL, "encoding is SQL_ASCII", "createdb");
    postgresql_test_drop_database(url);
}

TEST(test_a_collation_of_a_database_of_icu_is_refused)
{
    char url[POSTGRESQL_TEST_URL_SIZE];

    NEED_SERVER();
    postgresql_test_database(url, "LOCALE_PROVIDER icu ICU_LOCALE 'en' ENCODING 'UTF8' LOCALE 'C'");
    see_refused(url, -EINVAL, "collation is ICU", "createdb");
    postgresql_test_drop_database(url);
}

/* Settings of the role or the database for others do not break the store. */
TEST(test_settings_of_the_role_do_no_harm)
{
    static const struct {
        const char *name, *value, *expected;
    } rows[] = {
        { "statement_timeout", "60000", "0" },
        { "lock_timeout", "60000", "0" },
        { "idle_session_timeout", "60000", "0" },
        { "idle_in_transaction_session_timeout", "60000", "0" },
        { "bytea_output", "escape", "hex" },
        { "synchronous_commit", "off", "on" },
        { "default_transaction_isolation", "serializable", "read committed" },
        { "standard_conforming_strings", "off", "on" },
        { "array_nulls", "off", "on" },
        { "extra_float_digits", "0", "1" },
        { "temp_tablespaces", "pg_default", "\"\"" },
    };

    NEED_SERVER();
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        char url[POSTGRESQL_TEST_URL_SIZE], sql[120];

        postgresql_test_url(url, "postgres");
        (void)snprintf(url + strlen(url), sizeof url - strlen(url), "&options=-c%%20%s%%3D%s",
                       rows[i].name, rows[i].value);
        (void)snprintf(sql, sizeof sql, "SELECT 1 / (current_setting('%s') = '%s')::integer",
                       rows[i].name, rows[i].expected);
        postgresql_test_sql(url, sql);
    }
}

TEST(test_a_database_that_is_not_there_is_named)
{
    char url[POSTGRESQL_TEST_URL_SIZE];

    NEED_SERVER();
    postgresql_test_url(url, "edl_test_nowhere");
    see_refused(url, -EACCES, "does not exist", "createdb");
}

/* --- a store of its own --- */

static struct store *open_it(const char *url)
{
    struct store *store = NULL;
    struct edl_error error = { 0 };

    if (postgresql_test_open(url, &store, &error) < 0)
        fail_msg("%s", error.text);
    return store;
}

static struct prepared *prepare(const struct store *store, const char *text)
{
    struct prepared *statement = NULL;

    assert_int_equal(store->engine->calls->prepare(store->engine, text, &statement), 0);
    return statement;
}

/* run_in - in a transaction, whose errors may come with its commit */
static void run_in(const struct store *store, const char *text)
{
    struct prepared *statement = prepare(store, text);

    (void)store->engine->calls->run(statement);
    (void)store->engine->calls->finish(statement);
}

static int commit_of(const struct store *store)
{
    return store->engine->calls->commit(store->engine);
}

TEST(test_a_transaction_that_failed_is_not_committed)
{
    static const char *const failing[] = {
        "INSERT INTO away VALUES (1, 0)",                            /* a key twice */
        "INSERT INTO log_tail VALUES (77, 'a', 0, 0, 0, '', '', 0)", /* at the commit alone */
        "INSERT INTO nowhere VALUES (1)",
    };
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct store *store;

    NEED_SERVER();
    postgresql_test_begin(url);
    store = open_it(url);
    for (size_t i = 0; i < ELEMENTS(failing); i++) {
        struct edl_error error = { 0 };
        struct prepared *last;

        assert_int_equal(store->engine->calls->begin(store->engine), 0);
        run_in(store, "INSERT INTO job_series VALUES (1, '', '', 0, '')");
        run_in(store, failing[i]);
        last = NULL;
        if (store->engine->calls->prepare(store->engine, "SELECT 1", &last) == 0 && i != 1)
            assert_true(store->engine->calls->next(last) < 0); /* no row is not "no row" */
        (void)store->engine->calls->finish(last);
        assert_int_equal(commit_of(store), EDL_ECORRUPT);
        (void)store_error(store, "writing", &error);
        assert_non_null(strstr(error.text, i == 0   ? "duplicate key"
                                           : i == 1 ? "foreign key"
                                                    : "does not exist"));
        store->engine->calls->rollback(store->engine);
        assert_int_equal(engine_number(store->engine, "SELECT count(*) FROM job_series"), 0);
    }
    (void)store_free(store);
}

/* The last thing before the commit is a run, and its statement is used again. */
TEST(test_what_ran_last_is_committed)
{
    char url[POSTGRESQL_TEST_URL_SIZE];
    const struct engine_calls *calls;
    struct prepared *statement;
    struct store *store;

    NEED_SERVER();
    postgresql_test_begin(url);
    store = open_it(url);
    calls = store->engine->calls;
    statement = prepare(store, "INSERT INTO forgotten (job_id, whole) VALUES (?1, ?2)");
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(calls->begin(store->engine), 0);
        for (int64_t k = 0; k <= i % 3; k++) { /* alone, and as arrays */
            store_bind_i64(statement, 1, 10 * i + k);
            store_bind_i64(statement, 2, 0);
            assert_int_equal(calls->run(statement), 0);
        }
        if (i < 3)
            assert_int_equal(commit_of(store), 0);
        else
            calls->rollback(store->engine);
    }
    assert_int_equal(engine_number(store->engine, "SELECT count(*) FROM forgotten"), 6);
    (void)calls->finish(statement);
    (void)store_free(store);
}

/* Runs that go as arrays come to the same as one by one. */
TEST(test_runs_of_a_transaction_are_as_one_by_one)
{
    static const char upsert[] =
        "INSERT INTO job_series (job_id, rate_of, cost_name, period_us, points)"
        " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (job_id) DO UPDATE SET rate_of=?2, points=?5";
    static const char change[] = "UPDATE job_series SET rate_of=?2 WHERE job_id=?1";
    static const char drop[] = "DELETE FROM job_series WHERE job_id = ?1";
    static const struct {
        const char *text;
        int64_t id;
        const char *rate_of;
    } runs[] = {
        { upsert, 1, "a" }, { upsert, 2, "b\xff\"\\" }, { change, 1, "c" }, { upsert, 1, "d" },
        { drop, 2, NULL },  { upsert, 2, "e" },         { change, 2, "f" }, { upsert, 3, "g" },
        { drop, 3, NULL },  { change, 3, "h" },         { upsert, 4, "i" }, { upsert, 4, "j\xff" },
    };
    char url[POSTGRESQL_TEST_URL_SIZE];
    const struct engine_calls *calls;
    struct prepared *rows;
    struct store *store;

    NEED_SERVER();
    postgresql_test_begin(url);
    store = open_it(url);
    calls = store->engine->calls;
    assert_int_equal(calls->begin(store->engine), 0);
    for (size_t i = 0; i < ELEMENTS(runs); i++) {
        static struct prepared *statements[3];
        size_t at = runs[i].text == upsert ? 0 : runs[i].text == change ? 1 : 2;

        if (i == 0)
            memset(statements, 0, sizeof statements);
        if (statements[at] == NULL)
            statements[at] = prepare(store, runs[i].text);
        store_bind_i64(statements[at], 1, runs[i].id);
        store_bind_text(statements[at], 2, runs[i].rate_of);
        store_bind_text(statements[at], 3, "cost");
        store_bind_i64(statements[at], 4, 7);
        store_bind_text(statements[at], 5, "[]");
        assert_int_equal(calls->run(statements[at]), 0);
        for (size_t k = 0; i + 1 == ELEMENTS(runs) && k < ELEMENTS(statements); k++)
            (void)calls->finish(statements[k]);
    }
    assert_int_equal(commit_of(store), 0);
    rows = prepare(store, "SELECT string_agg(job_id || rate_of || period_us || points, ' ' ORDER BY"
                          " job_id) FROM job_series");
    assert_int_equal(calls->next(rows), 1);
    assert_string_equal(store_column_text(rows, 0), "1d7[] 2f7[] 4j\xef\xbf\xbd"
                                                    "7[]");
    (void)calls->finish(rows);
    (void)store_free(store);
}

/* Changes of jobs are sent together, and the server counts their rows: nobody waits for each. */
TEST(test_changed_rows_are_counted_by_the_server)
{
    static const char change[] = "UPDATE forgotten SET whole=?2 WHERE job_id=?1";
    static const struct {
        int64_t ids[3]; /* 0: no more; 1 to 3 are there */
        int r;
    } rows[] = { { { 1, 2, 3 }, 0 },
                 { { 2 }, 0 },
                 { { 3, 2, 3 }, 0 },
                 { { 9 }, -ENOENT },
                 { { 1, 9, 3 }, -ENOENT } };
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct postgresql_engine *engine;
    const struct engine_calls *calls;
    struct prepared *statement;
    struct store *store;

    NEED_SERVER();
    postgresql_test_begin(url);
    store = open_it(url);
    calls = store->engine->calls;
    engine = postgresql_engine_of(store->engine);
    for (int i = 1; i <= 3; i++) {
        statement = prepare(store, "INSERT INTO forgotten (job_id, whole) VALUES (?1, 0)");
        store_bind_i64(statement, 1, i);
        assert_int_equal(calls->run(statement), 0);
        (void)calls->finish(statement);
    }
    statement = prepare(store, change);
    for (int i = 0; i < (int)ELEMENTS(rows); i++) {
        assert_int_equal(calls->begin(store->engine), 0);
        for (size_t k = 0; k < ELEMENTS(rows[i].ids) && rows[i].ids[k] != 0; k++) {
            store_bind_i64(statement, 1, rows[i].ids[k]);
            store_bind_i64(statement, 2, i + 1);
            assert_int_equal(calls->run_one(statement), 0);
            assert_int_equal(engine->n_pending, 0); /* it waits, here */
        }
        assert_int_equal(commit_of(store), rows[i].r);
        if (rows[i].r < 0)
            calls->rollback(store->engine);
    }
    assert_int_equal(engine_number(store->engine, "SELECT sum(whole) FROM forgotten"), 1 + 3 + 3);
    store_bind_i64(statement, 1, 9); /* outside of a transaction */
    assert_int_equal(calls->run_one(statement), -ENOENT);
    store_bind_i64(statement, 1, 1);
    assert_int_equal(calls->run_one(statement), 0);
    (void)calls->finish(statement);
    (void)store_free(store);
}

TEST(test_a_cluster_claims_its_database)
{
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct edl_error error = { 0 };
    struct store *store;

    NEED_SERVER();
    postgresql_test_begin(url);
    store = open_it(url);
    for (int i = 0; i < 2; i++)
        assert_int_equal(postgresql_claim(store, "sha256:aa", &error), 0);
    assert_int_equal(postgresql_claim(store, "sha256:bb", &error), -EINVAL);
    assert_non_null(strstr(error.text, "of another cluster"));
    (void)store_free(store);
}

TEST(test_a_reader_sees_one_state)
{
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct edl_error error = { 0 };
    struct engine *reader = NULL;
    struct store *store;

    NEED_SERVER();
    postgresql_test_begin(url);
    store = open_it(url);
    assert_int_equal(postgresql_open_reader(url, 0, &reader, &error), 0);
    assert_int_equal(reader->calls->begin(reader), 0);
    assert_int_equal(engine_number(reader, "SELECT count(*) FROM job_series"), 0);
    run_in(store, "INSERT INTO job_series VALUES (1, '', '', 0, '')");
    assert_int_equal(engine_number(reader, "SELECT count(*) FROM job_series"), 0);
    assert_int_equal(reader->calls->commit(reader), 0);
    assert_int_equal(engine_number(reader, "SELECT count(*) FROM job_series"), 1);
    assert_int_equal(engine_number(reader, "DELETE FROM job_series RETURNING 1"), -1);
    assert_int_equal(engine_error(reader, "", &error), -EROFS);
    (void)engine_close(reader);
    (void)store_free(store);
}

/* --- leading --- */

static int add_series(const struct store *store, int64_t id)
{
    const struct engine_calls *calls = store->engine->calls;
    struct prepared *statement = NULL;
    int r = calls->prepare(store->engine,
                           "INSERT INTO job_series (job_id, rate_of, cost_name, period_us, points)"
                           " VALUES (?1, '', '', 0, '')",
                           &statement);

    if (r < 0)
        return r;
    store_bind_i64(statement, 1, id);
    r = calls->begin(store->engine);
    if (r == 0)
        r = calls->run(statement);
    if (r == 0)
        r = calls->commit(store->engine);
    if (r < 0)
        calls->rollback(store->engine);
    (void)calls->finish(statement);
    return r;
}

#define SILENT_FOR_EVER "SELECT length(set_config('idle_session_timeout', '0', false))"
/* lead_above - patient: the server does not end it while the machine is busy */
static void lead_above(struct store *store, const char *name, uint64_t least, uint64_t term,
                       bool patient)
{
    struct edl_error error = { 0 };
    uint64_t found = 0;

    if (postgresql_lead(store, name, "https://here:7010", least, NULL, &found, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(found, term);
    assert_int_equal(postgresql_term(store), term);
    if (patient)
        assert_int_equal(engine_number(store->engine, SILENT_FOR_EVER), 1);
}

static void lead(struct store *store, const char *name, uint64_t term, bool patient)
{
    lead_above(store, name, 0, term, patient);
}

TEST(test_a_leader_that_was_deposed_stores_nothing)
{
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct edl_error error = { 0 };
    struct leader_facts facts;
    struct store *first, *second;

    NEED_SERVER();
    postgresql_test_begin(url);
    first = open_it(url);
    second = open_it(url);
    lead(first, "first", 1, true);
    assert_int_equal(add_series(first, 1), 0);
    postgresql_test_sql(url, "UPDATE leader SET term = 2"); /* the lock is not replicated */
    assert_int_equal(add_series(first, 2), -ESTALE);
    assert_int_equal(store_error(first, "writing", &error), -ESTALE);
    assert_non_null(strstr(error.text, "another scheduler leads"));
    assert_int_equal(first->engine->calls->probe(first->engine, &error), -ESTALE);
    assert_int_equal(engine_number(second->engine, "SELECT count(*) FROM job_series"), 1);
    (void)store_free(first); /* and with it the lock */
    lead(second, "second", 3, true);
    assert_int_equal(add_series(second, 2), 0);
    assert_int_equal(second->engine->calls->probe(second->engine, &error), 0);
    assert_int_equal(postgresql_leader(second->engine, &facts, &error), 0);
    assert_string_equal(facts.name, "second");
    assert_string_equal(facts.address, "https://here:7010");
    assert_int_equal(facts.term, 3);
    assert_true(facts.since_wall_us > 1700000000000000 && facts.turn == 3);
    assert_int_equal(facts.n_copies, 0);
    (void)store_free(second);
}

TEST(test_a_leader_that_loads_may_be_silent_for_longer)
{
    static const char silence[] =
        "SELECT setting::bigint FROM pg_settings WHERE name = 'idle_session_timeout'";
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct edl_error error = { 0 };
    struct store *store;
    int64_t found = -1;

    NEED_SERVER();
    postgresql_test_begin(url);
    for (uint64_t term = 1; found == -1; term++) { /* again where it was silent here for longer */
        lead(store = open_it(url), "first", term, false);
        postgresql_loaded(store);
        assert_int_equal(engine_number(store->engine, silence), 30000); /* the first plan is made */
        assert_int_equal(store_probe(store, &error), 0);
        found = engine_number(store->engine, silence);
        (void)store_free(store);
    }
    assert_int_equal(found, 1500);
}

/* As when agents know terms that the database has lost. */
TEST(test_a_term_begins_above_a_number)
{
    static const uint64_t least[] = { 0, 7, 3, 8 }, terms[] = { 1, 7, 8, 9 };
    char url[POSTGRESQL_TEST_URL_SIZE];

    NEED_SERVER();
    postgresql_test_begin(url);
    for (size_t i = 0; i < ELEMENTS(terms); i++) {
        struct store *store = open_it(url);

        lead_above(store, "first", least[i], terms[i], true);
        assert_int_equal(add_series(store, i), 0);
        (void)store_free(store);
    }
}

TEST(test_who_waits_can_give_up)
{
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct edl_error error = { 0 };
    struct store *first, *second;
    atomic_bool give_up = true;
    uint64_t term = 0;

    NEED_SERVER();
    postgresql_test_begin(url);
    first = open_it(url);
    second = open_it(url);
    lead(first, "first", 1, true);
    assert_int_equal(postgresql_lead(second, "second", "", 0, &give_up, &term, &error), -ECANCELED);
    assert_int_equal(postgresql_term(second), 0);
    (void)store_free(first);
    (void)store_free(second);
}

TEST(test_a_session_that_was_ended_is_away)
{
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct edl_error error = { 0 };
    struct store *first, *second;

    NEED_SERVER();
    postgresql_test_begin(url);
    first = open_it(url);
    second = open_it(url);
    lead(first, "first", 1, true);
    postgresql_test_sql(url, "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype ="
                             " 'advisory' AND granted AND pid <> pg_backend_pid() AND database ="
                             " (SELECT oid FROM pg_database WHERE datname = current_database())");
    lead(second, "second", 2, true);
    assert_int_equal(add_series(first, 1), -ENOTCONN);
    assert_int_equal(store_error(first, "writing", &error), -ENOTCONN);
    assert_int_equal(first->engine->calls->check(first->engine, &error), -ENOTCONN);
    assert_int_equal(first->engine->calls->begin(first->engine), -ENOTCONN);
    assert_int_equal(engine_number(first->engine, "SELECT 1"), -1);
    assert_int_equal(add_series(second, 1), 0);
    (void)store_free(first);
    (void)store_free(second);
}

/* A leader that says nothing is ended by the server, one in the middle of a transaction's messages
 * by who waits. */
TEST(test_a_leader_that_stands_still_is_followed)
{
    struct edl_error error = { 0 };

    NEED_SERVER();
    for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
        char url[POSTGRESQL_TEST_URL_SIZE];
        struct store *first, *second;

        postgresql_test_begin(url);
        first = open_it(url);
        second = open_it(url);
        lead(first, "first", 1, in_transaction == 1);
        postgresql_loaded(first);
        assert_int_equal(in_transaction == 1 ? 0 : store_probe(first, &error), 0);
        if (in_transaction == 1) {
            assert_int_equal(first->engine->calls->begin(first->engine), 0);
            assert_int_equal(engine_number(first->engine, "SELECT 1"), 1);
        }
        lead(second, "second", 2, true); /* waits until then */
        assert_int_equal(add_series(second, 1), 0);
        if (in_transaction == 1)
            assert_int_equal(commit_of(first), -ENOTCONN);
        else
            assert_int_equal(add_series(first, 1), -ENOTCONN);
        (void)store_free(first);
        (void)store_free(second);
    }
}

TEST(test_room_is_looked_for_and_given_back)
{
    char url[POSTGRESQL_TEST_URL_SIZE];
    struct edl_error error = { 0 };
    struct store *store;

    NEED_SERVER();
    postgresql_test_begin(url);
    store = open_it(url);
    lead(store, "first", 1, true);
    for (int i = 0; i < 2; i++) /* nothing stays of the first look */
        if (store_room(store, 1 << 20, &error) < 0)
            fail_msg("%s", error.text);
    assert_int_equal(engine_number(store->engine,
                                   "SELECT count(*) FROM pg_class WHERE relname = 'edl_room'"),
                     0);
    assert_int_equal(add_series(store, 1), 0);
    postgresql_test_sql(url, "UPDATE leader SET term = 2");
    assert_int_equal(store_room(store, 1 << 20, &error), -ESTALE);
    (void)store_free(store);
}
