# shellcheck shell=bash
# state_sql.sh - one way for scripts to look into the scheduler's state, in whichever engine it is
#
#   . "$EDL_SOURCE_DIR/tests/lib/state_sql.sh"     # behind daemons.sh or cluster.sh
#   state_sql SQL                                  rows, columns parted by "|"; nothing is changed
# With EDL_TEST_STORE, the URL of a database of PostgreSQL, that is looked into; else the edl.db below $work. SQL that both take:
# "user" in quotes, coalesce, count(*) FROM ... WHERE in place of a condition as a value.
state_sql() {
    if [ -n "${EDL_TEST_STORE:-}" ]; then
        psql -XAtq -v ON_ERROR_STOP=1 -d "$EDL_TEST_STORE" -c "$1"
    else
        sqlite3 -readonly "$(find "${work:?a test folder}" -name edl.db -print -quit)" "$1"
    fi
}
