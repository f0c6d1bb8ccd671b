#!/usr/bin/env bash
# The processes of an elastic job agree on who is together, with nothing but curl and EDL_SOCKET: the job grows, one is killed,
# the scheduler is killed while they wait. Every generation is the same for all of its members, ranked without a gap.
# Takes 14 s: four processes meet again after each of two kills, two kills of the scheduler and two resizes
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
cluster_start --nodes 2 --cpu 2000m
mkfifo "$work/gate"
# what each was told is a line of $work/agreed: its index and incarnation, and the answer
cat >"$work/member" <<'END'
#!/usr/bin/env bash
set -eu
work=$1 generation=0 had=0 asked_again=''
note="$EDL_INDEX.$EDL_INCARNATION \"}]},é"$'\n'
meet() { curl -sS --max-time 120 --unix-socket "$EDL_SOCKET" -d "$1" http://edl/jobs/self/rendezvous; }
# whom it would meet, before it ends their generation
now() { curl -sS --max-time 120 --unix-socket "$EDL_SOCKET" http://edl/jobs/self/rendezvous; }
while :; do
    echo "{\"had\":$generation,\"now\":$(now)}" >>"$work/now"
    # the gate keeps one away, so that the others wait for it
    [ "$EDL_INDEX" != 0 ] || [ ! -e "$work/hold" ] || { touch "$work/kept-away"; read -r _ <"$work/gate"; }
    had=$generation
    answer=$(meet "$(jq -nc --argjson after "$had" --arg note "$note" '{after: $after, note: $note}')")
    case $answer in
    *'"rank"'*) ;;
    *'"wait"'*) continue ;;
    *'"leaving"'*) exit 0 ;;
    *) echo "$answer" | tee -a "$work/refused"; exit 1 ;;
    esac
    echo "{\"index\":$EDL_INDEX,\"incarnation\":$EDL_INCARNATION,\"answer\":$answer}" >>"$work/agreed"
    generation=$(jq .generation <<<"$answer")
    until meet "{\"generation\":$generation,\"wait\":1}" | grep -q '"over":true'; do
        # as if the answer had been lost: the same generation, with the notes that it had
        [ -e "$work/ask-again" ] && [ -z "$asked_again" ] || continue
        asked_again=yes
        echo "$(meet "{\"after\":$had,\"note\":\"late\"}")" >>"$work/again"
    done
done
END
chmod +x "$work/member"
touch "$work/agreed"
cat >"$work/job.json" <<JOB
{"name":"together","mode":"collective","fault_tolerant":true,"restart":{"max":20,"backoff":"200ms"},
 "roles":[{"role":"trainer","command":["$work/member","$work"],"min":2,"max":2,"cpu":"200m"}]}
JOB

# newest N: the newest generation that anybody was given was given to all of its N members
newest() {
    holds -s --argjson n "$1" 'map(.answer) | max_by(.generation).generation as $g | map(select(.generation == $g))
        | (map(.rank) | sort) == [range($n)] and all(.world_size == $n)' <"$work/agreed"
}

# generation: the newest that anybody was given
generation() {
    jq -s 'map(.answer.generation) | max // 0' "$work/agreed"
}

kill_scheduler() {
    kill -9 "$(pgrep -f -- "edl-scheduler .*$work" | head -n 1)"
    await 120 'a scheduler answers' scheduler_answers
}

edl submit "$work/job.json"
await 120 'two are together' while_job together newest 2
edl scale together 2:4 >/dev/null
await 120 'it grew' while_job together newest 4

# one is killed: those that are left go on, and then with the new one
victim=$(pids together trainer 1)
kill -9 "$victim"
replaced() { newest 4 && holds -s --argjson old "$old" 'map(select(.index == 1)) | last | .incarnation > $old' <"$work/agreed"; }
old=$(jq -s 'map(select(.index == 1)) | last | .incarnation' "$work/agreed")
await 120 'the new one is in' while_job together replaced

# the scheduler is killed while all of them watch: nobody is disturbed
before=$(generation) lines=$(wc -l <"$work/agreed")
kill_scheduler
for index in 0 1 2 3; do pids together trainer "$index" | grep -q . || fail "trainer-$index does not run any more"; done
[ "$(generation) $(wc -l <"$work/agreed")" = "$before $lines" ] || fail 'a restart of the scheduler ended a generation'

# who asks again is given what was agreed on before, with every note
touch "$work/again" "$work/ask-again"
all_asked() { [ "$(wc -l <"$work/again")" = 4 ]; }
await 120 'each has asked again' while_job together all_asked
[ "$(jq -c 'del(.rank)' "$work/again" | sort -u)" = "$(jq -c --argjson g "$before" 'select(.answer.generation == $g).answer | del(.rank)' "$work/agreed" | sort -u)" ] ||
    fail "after a restart they are told something else: $(cat "$work/again")"
rm "$work/ask-again"

# and while some have arrived and one has not: its calls are made again
touch "$work/hold"
kill -9 "$(pids together trainer 2)"
gone() { [ "$(api GET '/jobs/together/processes?state=all' | jq '[.processes[] | select(.exit_signal == 9)] | length')" = 2 ]; }
await 120 'it is seen gone' while_job together gone
# our view may be ahead of its own: if the scheduler died in between, it would come by here only when nothing holds it any more
await 120 'one is kept away' while_job together test -e "$work/kept-away"
kill_scheduler
[ "$(generation)" = "$before" ] || fail 'they agreed without one that is there'
rm "$work/hold"
echo go >"$work/gate"
later() { [ "$(generation)" -gt "$before" ] && newest 4; }
await 300 'all are together again' while_job together later

# one that is being stopped leaves, the others go on without it
before=$(generation)
edl scale together 2:3 >/dev/null
fewer() { [ "$(generation)" -gt "$before" ] && newest 3; }
await 120 'it shrank' while_job together fewer

edl kill together >/dev/null
edl wait together --timeout 120 || true
[ ! -e "$work/refused" ] || fail "refused: $(cat "$work/refused")"
echo "$(wc -l <"$work/agreed") answers, $(generation) generations"
# all that were given a generation were given the same; ranks are those of the list, which goes by index without a gap
holds -s 'group_by(.answer.generation) | all(
    (map(.answer | del(.rank)) | unique | length) == 1
    and (map(.answer.rank) | length == (unique | length))
    and all(. as $one | .answer.members[.answer.rank] | .index == $one.index and .incarnation == $one.incarnation)
    and (.[0].answer | (.members | length) == .world_size and (.members | map(.rank)) == [range(.world_size)]
        and (.members | map(.index) | . == (sort | unique))
        and (.members | all(.note == "\(.index).\(.incarnation) \"}]},é\n"))
        and .master == {address: .members[0].address, port: .members[0].ports[0]} and .world_size >= 2))' <"$work/agreed" ||
    fail "they do not agree: $(cat "$work/agreed")"
# whoever looked before it arrived saw one of these generations as its members know it, or none
holds -s --slurpfile agreed "$work/agreed" '($agreed | map(.answer | del(.rank)) | unique) as $known | map(.now)
    | (map(select(.generation)) | length > 0 and all(. as $one | $known | index([$one]) != null)) and (map(select(.generation == null)) | length > 0 and all(.status == 404))' <"$work/now" ||
    fail "they saw something else: $(cat "$work/now")"
# and nobody was given an older one after a newer one
holds -s 'group_by(.incarnation) | all(map(.answer.generation) | . == (sort | unique))' <"$work/agreed" ||
    fail "generations went back: $(cat "$work/agreed")"
cluster_stop
