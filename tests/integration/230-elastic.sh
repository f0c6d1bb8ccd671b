#!/usr/bin/env bash
# Three jobs on a small cluster: the first spreads to its maximum, later ones squeeze in, nobody is killed, all succeed.
# Takes 13 s: three jobs grow and shrink beside each other
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 1000m --max-load 0.9
small_corpus 60 60000
hold_at one 700000
for name in two three; do hold_at $name 60000; done
training_job one 1 5 16 >"$work/one.yaml"
for name in two three; do training_job $name 1 5 2 >"$work/$name.yaml"; done
edl submit "$work/one.yaml"
await 120 'one has its maximum' at_least one trainer 5
edl submit "$work/two.yaml"
await 120 'two runs' at_least two trainer 1
edl submit "$work/three.yaml"
await 120 'three runs beside the others' at_least three trainer 1
for name in one two three; do
    [ "$(running $name trainer)" -ge 1 ] || fail "$name fell below its minimum"
done
api GET /nodes | holds '.nodes | all(.cpu_granted_millicores <= .cpu_millicores)' || fail 'a node is over-committed'
# its tasks have told how fast it is
has_outlook() { edl why one | grep -Eq '^with its [1-5] instances? it is over in [0-9][0-9a-z]*, at 20'; }
await 120 'it is known when one will be over' while_job one has_outlook
# what is scarce has a price, which the moves were told with
edl policy >"$work/policy"
{ grep -q '^goodput: ' "$work/policy" && grep -Eq '^cpu +([0-9.e-]+|-) +core' "$work/policy" &&
    ! grep -q '^gpu' "$work/policy"; } || fail "edl policy: $(cat "$work/policy")"
api GET /metrics | grep -Eq '^edl_price_ratio\{resource="cpu"\} [0-9]' || fail 'no price of cores is told'
resizes=$(job_field one .resizes)
let_go one two three
for name in one two three; do
    edl wait $name --timeout 900 || fail "$name: $(job_field $name .reason)"
    exact_counts $name
    # one that is stopped while it still starts ends by the signal itself; nothing was begun
    hurt=$(api GET "/jobs/$name/processes?state=all" | jq '[.processes[] | select(.exit_signal > 0 or .exit_code > 0 or .state == "lost")
        | select((.exit_signal == 15 and .ended_us - .started_us < 5000000) | not)] | length')
    [ "$hurt" = 0 ] || fail "$hurt processes of $name were killed instead of shrunk"
done
[ "$resizes" -ge 1 ] || fail 'one was never resized'
# each change of size has its reason
api GET /jobs/one/resizes | holds --argjson n "$(job_field one .resizes)" '
    (.resizes | length == $n and all(.role == "trainer" and .from != .to and .code != "other" and .reason != ""))
    and .resizes[0].code == "grown" and (.resizes[0].reason | test("worth [0-9.e-]+, price 0 per core, load "))
    and all(.resizes[] | select(.code == "grown" or .code == "shrunk"); .reason | test(", (price [0-9.e-]+ per|no) core"))' || fail "resizes: $(api GET /jobs/one/resizes)"
cluster_stop
