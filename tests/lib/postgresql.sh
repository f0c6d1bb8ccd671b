# shellcheck shell=bash
# postgresql.sh - PostgreSQL servers of a test's own, in a folder of their own, with unix sockets
#
#   . "$EDL_SOURCE_DIR/tests/lib/daemons.sh"         # or cluster.sh, before this
#   . "$EDL_SOURCE_DIR/tests/lib/postgresql.sh"      # skips with the reason where PostgreSQL is not installed
#   postgresql_start NAME [SETTING=VALUE...]    ready when it returns; of a server that was ended: its next start. fsync=off if asked
#   postgresql_standby NAME of PRIMARY          a copy; from now on each commit of PRIMARY waits for it
#   postgresql_promote NAME                     of a standby: it is a primary, and waits for none
#   postgresql_stop NAME                        in good order
#   postgresql_kill NAME                        as pg_ctl stop -m immediate: its next start recovers
#   postgresql_lose NAME                        SIGKILL for all of its processes, as with their machine
#   postgresql_freeze NAME, postgresql_thaw NAME
#   postgresql_url NAME DATABASE                of one that exists: postgres does
#   postgresql_database NAME DATABASE           makes it, with UTF8 and C
#   postgresql_sql NAME DATABASE SQL...         rows, columns parted by "|"
# All of them end with the test, after its daemons were told to.
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/await.sh"
postgresql_dir=$(mktemp -d /tmp/edl-pg.XXXXXX) # short: a path of a socket has 107 bytes at most
chmod 755 "$postgresql_dir"

postgresql() { # VERB ARGUMENT...
    "$python" "$EDL_SOURCE_DIR/tests/lib/postgresql.py" "$postgresql_dir" "$@"
}

postgresql_start() { postgresql start "$@" || fail "PostgreSQL $1 does not start"; }
postgresql_standby() { postgresql standby "$1" "${@:3}" || fail "the standby $1 of $3 does not start"; } # NAME of PRIMARY [SETTING=VALUE...]
postgresql_promote() { postgresql promote "$1"; }
postgresql_stop() { postgresql stop "$1"; }
postgresql_kill() { postgresql kill "$1"; }
postgresql_lose() { postgresql lose "$1"; }
postgresql_freeze() { postgresql freeze "$1"; }
postgresql_thaw() { postgresql thaw "$1"; }
postgresql_url() { echo "postgresql://postgres@/$2?host=$postgresql_dir/$1"; }
postgresql_sql() { postgresql sql "$@"; }
postgresql_database() { postgresql_sql "$1" postgres "CREATE DATABASE \"$2\" TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"; }

# what ends the test otherwise comes after this, and sees its status
postgresql_exit=$(trap -p EXIT)
postgresql_exit=${postgresql_exit#trap -- \'}
postgresql_exit=${postgresql_exit%\' EXIT}
postgresql_exit=${postgresql_exit//\'\\\'\'/\'}
# shellcheck disable=SC2064
trap "postgresql_status=\$?; set +e; postgresql end; (exit \$postgresql_status)${postgresql_exit:+; $postgresql_exit}" EXIT

postgresql_why=$(postgresql url none none) || {
    echo "$postgresql_why"
    exit 77
}
