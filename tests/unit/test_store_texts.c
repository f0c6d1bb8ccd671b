/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_texts.c - the store's statements are of the SQL that its engines have in common */
#include <regex.h>
#include <string.h>

#include "scheduler/store/store_columns.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

/* What SQLite takes and PostgreSQL does not, or takes for something else. */
static const char *const of_one_engine[] = {
    "INSERT OR ",
    "INDEXED BY",
    "AS BLOB",
    "ifnull\\(",
    "json_",
    "PRAGMA",
    "printf\\(",
    "iif\\(",
    "(^|[^_\"a-z])user($|[^_\"a-z])",           /* unquoted it is the user of the session */
    "(max|min)\\([^()]*(\\([^()]*\\))?[^()]*,", /* of two */
    "SET ([a-z_]+) = \\1 ",                     /* of which table, in an upsert? */
    ", ([a-z_]+) = \\1 ",
    "FROM \\(SELECT [^()]*\\)($|[^ ]| [^A]| A[^S])", /* without a name */
};

static bool has(const char *pattern, const char *text)
{
    regex_t regex;
    bool found;

    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static const char *found_in(const char *text)
{
    for (size_t i = 0; i < ELEMENTS(of_one_engine); i++)
        if (has(of_one_engine[i], text) &&
            !(strncmp(text, "UPDATE ", 7) == 0 && strchr(of_one_engine[i], '=') != NULL))
            return of_one_engine[i];
    return NULL;
}

TEST(test_statements_are_of_no_engine_alone)
{
    /* marks are left out, those of tables are filled in */
    static const struct engine_mark marks[] = { { "bytes", NULL, NULL },
                                                { "index", NULL, NULL },
                                                { NULL, NULL, NULL } };
    static const struct engine_calls engine = { .marks = marks };

    for (int i = 0; i < ST_N; i++) {
        _cleanup_free_ char *text = store_text_of(&engine, store_statement_text((enum statement)i));
        const char *found = found_in(text);

        if (found != NULL)
            fail_msg("\"%s\" is not of each engine: %s", found, text);
        if (strchr(text, '{') != NULL)
            fail_msg("a mark that nobody knows: %s", text);
    }
}

TEST(test_what_is_of_one_engine_is_seen)
{
    static const char *const texts[] = {
        "INSERT OR REPLACE INTO clock (id) VALUES (1)",
        "SELECT id FROM job INDEXED BY job_archived",
        "SELECT name FROM job WHERE user = ?1",
        "SELECT user, name FROM job",
        "SELECT max(a, 0) FROM job",
        "SELECT max(coalesce(a, 0), b) FROM job",
        "INSERT INTO c (s) VALUES (1) ON CONFLICT (s) DO UPDATE SET jobs = jobs + 1",
        "INSERT INTO c (s) VALUES (1) ON CONFLICT (s) DO UPDATE SET jobs=?1, n = n + 1",
        "SELECT count(*) FROM (SELECT 1 FROM forgotten LIMIT ?1)",
        "SELECT ifnull(a, 0) FROM job",
        "SELECT json_extract(spec, '$.name') FROM job",
    };

    for (size_t i = 0; i < ELEMENTS(texts); i++)
        if (found_in(texts[i]) == NULL)
            fail_msg("%s", texts[i]);
}

TEST(test_marks_of_an_engine_are_filled_in)
{
    static const struct engine_mark marks[] = { { "bytes", "octet_length(", ")" },
                                                { "index", NULL, NULL },
                                                { NULL, NULL, NULL } };
    static const struct engine_calls engine = { .marks = marks };
    _cleanup_free_ char *text =
        store_text_of(&engine, "SELECT {bytes reason} FROM job {index a_b} WHERE {other x}");

    assert_string_equal(text, "SELECT octet_length(reason) FROM job  WHERE {other x}");
}
