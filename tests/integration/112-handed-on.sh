#!/usr/bin/env bash
# `edl deploy`, `edl doctor` and `edl model` hand options and words on to another program; a word behind -- stays a word.
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
mkdir "$work/beside"
cp "$EDL_BUILD_DIR/edl" "$work/beside"
for program in edl-deploy edl-doctor edl-trainer; do
    printf '#!/bin/sh\nprintf "%%s|" "$@"\n' >"$work/beside/$program"
    chmod +x "$work/beside/$program"
done
handed() { # EXPECTED ARGUMENT...
    local expected=$1 said
    shift
    said=$("$work/beside/edl" "$@") || fail "edl $*: status $?"
    [ "$said" = "$expected" ] || fail "edl $*: $said"
}
handed '--conf=conf.py|--remove|--yes|--json|--|h1|--upgrade|' deploy -c conf.py h1 -y --remove --json -- --upgrade
handed '--node=a b|--ca=c|--json|' doctor --json '--node=a b' --ca c
handed 'model|--count=5|--|nearest|d|-w|' model nearest -n5 d -- -w

# without the program there is a remedy
rm "$work/beside/edl-deploy"
status=0
"$work/beside/edl" deploy 2>"$work/told" || status=$?
[ $status = 1 ] || fail "status $status"
grep -q '^try: it comes with edl-client: apt-get install edl-client$' "$work/told" || fail "$(cat "$work/told")"
