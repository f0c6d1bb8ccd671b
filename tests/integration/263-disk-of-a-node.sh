#!/usr/bin/env bash
# The disk of a node is full when a program ends: its exit code is told as it was, in both ways to end, and nothing vanished.
if [ -z "${EDL_TEST_IN_NAMESPACE:-}" ]; then
    export EDL_TEST_IN_NAMESPACE=yes
    for as in -m -Urm; do
        unshare "$as" true 2>/dev/null && exec unshare "$as" --propagation private bash "$0"
    done
    echo 'no mount namespace of its own can be made here (unshare -m)'
    exit 77
fi
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
disk=$work/state/nodes/node-1
mkdir -m 700 -p "$work/state" "$work/state/nodes" "$disk"
mount -t tmpfs -o size=4m,mode=0700 none "$disk" || { rm -rf "$work"; echo 'no tmpfs can be mounted here'; exit 77; }
trap 'status=$?; umount -l "$disk"; (exit $status); on_exit' EXIT
cluster_start --nodes 1
for code in 0 7; do
    edl submit --name "ends-$code" -- sh -c 'until [ -e "$0" ]; do sleep 0.1; done; exit "$1"' "$work/end" $code >/dev/null
    await 120 'it runs' job_is "ends-$code" running
done
dd if=/dev/zero of="$disk/fill" bs=4k 2>/dev/null || true
if (echo more >"$disk/more") 2>/dev/null; then fail 'there is room left'; fi
touch "$work/end"
edl wait ends-0 --timeout 300 >"$work/told" || fail "$(cat "$work/told")"
if edl wait ends-7 --timeout 300 >"$work/told"; then fail 'it succeeded'; fi
[ "$(job_field 'ends-7/processes?state=all' '[.processes[] | "\(.state) \(.exit_code) \(.reason)"][0]')" = 'exited 7 exit code 7' ] ||
    fail "$(cat "$work/told"; api GET '/jobs/ends-7/processes?state=all')"
rm -f "$disk/fill"
cluster_stop
