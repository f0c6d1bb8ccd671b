#!/usr/bin/env bash
# EDL_MANY_FILES files (100,000) of one record each: two trainers of libedl take each once in each of two passes, in tasks of many files.
# Runs at night, and for libedl/: it makes a hundred thousand files
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
n=${EDL_MANY_FILES:-100000}
ln -s "$EDL_BUILD_DIR/libedl.so.0.0.0" "$work/libedl.so.0"
${CC:-cc} -Wall -Wextra -Werror -I"$EDL_SOURCE_DIR/libedl" "$EDL_SOURCE_DIR/tests/lib/print_records.c" "$work/libedl.so.0" -o "$work/print"
mkdir "$work/many" "$work/seen"
(cd "$work/many" && seq 1 "$n" | awk '{ name = sprintf("part-%06d", $1); print $1 > name; close(name) }')
cat >"$work/trainer" <<END
#!/bin/sh
export LD_LIBRARY_PATH=$work
exec "$work/print" >"$work/seen/\$EDL_INDEX"
END
chmod +x "$work/trainer"
cluster_start --nodes 1 --cpu 2000m
jq -n --arg program "$work/trainer" --arg data "$work/many/part-*" '{name: "many", mode: "collective", fault_tolerant: true, dataset: $data,
    roles: [{role: "trainer", min: 2, max: 2, cpu: "200m", command: [$program]}]}' | edl submit - >/dev/null
edl wait many --timeout 900 || fail "many files: $(edl show many; edl logs many)"
exact_counts many
# the program makes two passes
[ "$(job_field many .records_total)" = $((2 * n)) ] || fail "records: $(job_field many .records_total)"
for pass in 0 1; do
    awk -v pass=$pass '$1 == pass { print $2 }' "$work"/seen/* | sort -n | cmp - <(seq 1 "$n") || fail "not each record once in pass $pass"
done
cluster_stop
