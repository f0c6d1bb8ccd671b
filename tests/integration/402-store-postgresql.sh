#!/usr/bin/env bash
# The store over PostgreSQL: databases that it refuses, failed transactions, leading; and the unit tests of the store by the same engine.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
postgresql_start db
EDL_TEST_POSTGRESQL=$(postgresql_url db postgres)
export EDL_TEST_POSTGRESQL
for file in test_postgresql test_postgresql_arrays test_postgresql_schema test_store_engine test_columns test_store test_store_lost test_store_workspaces; do
    timeout 300 "$EDL_BUILD_DIR/tests/unit/list_scheduler" "$file" >"$work/said" 2>&1 || {
        cat "$work/said"
        fail "$file over PostgreSQL"
    }
    cat "$work/said"
done
# each read of the history would write a line there
if grep 'can only be used in transaction blocks' "$postgresql_dir/db/log"; then fail 'the server warns of a statement'; fi
