#!/usr/bin/env bash
# docs/distill.md: each of its blocks is typed beside a cluster, the teachers in terminals of their own, and says what the page shows.
# Takes 18 s: builds a library, and a dozen processes of Python load numpy
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"
"$python" -c 'import numpy' 2>/dev/null || {
    echo 'there is no numpy (python3-numpy)'
    exit 77
}
machines=$work
on_fail() {
    tail -n 20 "$work"/*.errors "$work"/blocks/*.said
    edl ps --all
    edl logs line-student --tail 20
} >&4
exec 4>&2
folder=$work/folder
mkdir "$folder" "$work/bin"
make -s -C "$EDL_BUILD_DIR" install-edllibPROGRAMS install-edlincludeHEADERS install-nodist_pkgconfigDATA install-data-hook DESTDIR="$work/root" >"$work/install.log" 2>&1 ||
    fail "$(cat "$work/install.log")"
library=$(dirname "$(find "$work/root" -name libedl.so.0)")

# the packages, installed: their modules and libraries are found, also by jobs
for name in python python3; do
    printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$work/bin/$name"
done
cat >"$work/bin/pkg-config" <<END
#!/bin/sh
PKG_CONFIG_PATH=$library/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/root exec $(command -v pkg-config) "\$@"
END
cat >"$work/bin/edl" <<END
#!/bin/sh
[ "\$1" = submit ] || exec $(command -v edl) "\$@"
shift
exec $(command -v edl) submit -e "PATH=$work/bin:$PATH" -e PYTHONPATH=$EDL_SOURCE_DIR/python -e PYTHONDONTWRITEBYTECODE=1 -e LD_LIBRARY_PATH=$library "\$@"
END
chmod +x "$work"/bin/*
cluster_start --nodes 2 --cpu 3000m
export PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1 PATH=$work/bin:$PATH

# the port of the page may be another program's: one that is free stands in all blocks instead
free_port() { "$python" -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'; }
another_port() { sed -i "s/$1/$(free_port)/g" "$work"/blocks/*.sh "$work"/blocks/*.text; }
begin_terminal() { # FILE
    (cd "$folder" && exec bash -c "exec $(cat "$1")" </dev/null >"$1.said" 2>&1) &
    terminal=$!
}
terminals=''
trap 'status=$?; set +e; kill $terminals 2>/dev/null; (exit $status); on_exit' EXIT
type_in() { # MACHINE FILE
    local text=${2%.sh}.text output=$2.said
    case $1 in
    here)
        (cd "$folder" && timeout 300 bash -e "$2" </dev/null)
        ;;
    log) # which is a moment behind
        await 120 "the log has: $(paste -sd';' "$text")" log_shows "$2" "$output" "$text"
        cat "$output"
        ;;
    terminal)
        begin_terminal "$2"
        while ! (await 120 "a terminal shows: $(paste -sd';' "$text")" while_runs $terminal shows "$output" "$text"); do
            grep -q 'Address already in use' "$output" || fail "$(cat "$output")"
            another_port "$(grep -oE '[0-9]{4,5}$' "$2")"
            begin_terminal "$2"
        done
        terminals="$terminals $terminal"
        cat "$output"
        ;;
    esac
}
blocks docs/distill.md
[ "$(find "$work/blocks" -name '*.sh' | wc -l)" = 15 ] || fail "the page has other blocks: $(ls "$work/blocks")"
sed -i "s,/usr/share/doc/[^/]*/examples,$EDL_SOURCE_DIR/examples,g" "$work"/blocks/*.sh
another_port 9292
another_port 9293
run_blocks
[ "$(wc -c <"$folder/secret")" = 65 ] || fail 'the secret has another length'

# Ctrl-C ends the teachers in their terminals, as SIGTERM does
for terminal in $terminals; do kill -TERM "$terminal"; done
for terminal in $terminals; do wait "$terminal" || fail "a teacher ended with $?"; done
for job in line-teacher cnn taught; do edl kill $job >/dev/null; done
cluster_stop
