#!/usr/bin/env bash
# Every unit test of the store that is of both engines, over PostgreSQL: the archive, history, families, what jobs held.
# Runs at night, and for scheduler/store/: each test begins with an empty schema
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
. "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"
postgresql_start db
EDL_TEST_POSTGRESQL=$(postgresql_url db postgres)
export EDL_TEST_POSTGRESQL
for file in test_store_archive test_store_families test_store_history test_store_held; do
    timeout 300 "$EDL_BUILD_DIR/tests/unit/list_scheduler" "$file" >"$work/said" 2>&1 || {
        cat "$work/said"
        fail "$file over PostgreSQL"
    }
    cat "$work/said"
done
