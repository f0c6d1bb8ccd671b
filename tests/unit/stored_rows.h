/* SPDX-License-Identifier: Apache-2.0 */
/* stored_rows.h - what holds of the rows of any database of a scheduler, whenever it was killed */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>

#include "shared/macro.h"

static inline int64_t first_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t n;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    n = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return n;
}

#define PROCESS_EVENTS                                                                             \
    "'process-assigned', 'process-preparing', 'process-running', 'process-stopping',"              \
    " 'process-exited', 'process-lost'"

/* of each of these there must be none */
static const char *const rows_never[] = {
    "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check != 'ok'",
    "SELECT count(*) FROM pragma_foreign_key_check",
    /* replayed, the events of each job lead to its row's state */
    "SELECT count(*) FROM job WHERE 'job-' || state IS NOT (SELECT event FROM event"
    " WHERE job_id = job.id AND event IN ('job-queued', 'job-starting', 'job-running',"
    " 'job-resizing', 'job-stopping', 'job-succeeded', 'job-failed', 'job-killed')"
    " ORDER BY revision DESC LIMIT 1)",
    /* those of each process, from its incarnation's first to the next one's, to its row's */
    "WITH begun AS (SELECT p.job_id, p.state, 'trainer-' || p.idx AS name, e.revision AS first"
    " FROM process AS p LEFT JOIN event AS e ON e.job_id = p.job_id AND"
    " e.event = 'process-assigned' AND"
    " e.text = 'trainer-' || p.idx || ': incarnation ' || p.incarnation)"
    " SELECT count(*) FROM begun WHERE 'process-' || state IS NOT (SELECT event FROM event"
    " WHERE job_id = begun.job_id AND (text = name OR text LIKE name || ':%')"
    " AND event IN (" PROCESS_EVENTS ") AND revision >= first AND revision < ifnull("
    " (SELECT min(revision) FROM event WHERE job_id = begun.job_id AND revision > first AND"
    " event = 'process-assigned' AND text LIKE name || ':%'), 9223372036854775807)"
    " ORDER BY revision DESC LIMIT 1)",
    /* and whoever lives by the events has a row */
    "SELECT count(*) FROM event AS a WHERE event = 'process-assigned' AND NOT EXISTS"
    " (SELECT 1 FROM event WHERE job_id = a.job_id AND revision > a.revision AND"
    " event IN ('process-exited', 'process-lost') AND"
    " (text || ':') LIKE substr(a.text, 1, instr(a.text, ':')) || '%') AND NOT EXISTS"
    " (SELECT 1 FROM process WHERE job_id = a.job_id AND"
    " a.text = 'trainer-' || idx || ': incarnation ' || incarnation)",
    /* without a gap */
    "SELECT count(*) FROM event AS a WHERE revision < (SELECT max(revision) FROM event) AND"
    " NOT EXISTS (SELECT 1 FROM event WHERE revision = a.revision + 1) AND NOT EXISTS"
    " (SELECT 1 FROM event WHERE revision = (SELECT min(revision) FROM event WHERE revision >"
    " a.revision) AND event = 'state-restored')",
    /* an answer is there with its effect, and only with it */
    "SELECT count(*) FROM answer WHERE location != '' AND"
    " cast(substr(location, 7) AS INTEGER) NOT IN (SELECT id FROM job)",
};

static inline void rows_check(sqlite3 *db)
{
    for (size_t i = 0; i < ELEMENTS(rows_never); i++)
        if (first_number(db, rows_never[i]) != 0)
            fail_msg("%s", rows_never[i]);
}
