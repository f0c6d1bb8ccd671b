#!/usr/bin/env bash
# `edl logs` reads what the nodes have: 200,000 lines followed into a file byte for byte, and the whole of it after the end; the
# last lines, those since a time, those that match, those of a rank; what a lost node keeps is told by its bytes. A disk that is
# full is an error, and the file ends with a whole line.
# Takes 20 s: a node is lost after its lease of 6 s
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
. "$EDL_SOURCE_DIR/tests/lib/conditions.sh"
chmod 711 "$work"
scheduler_begin() { # ADDRESS LEASE
    begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen "$1" --lease "$2"
    scheduler=$pid
}
scheduler_begin 127.0.0.1:0 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
declare -A agents
agent_begin() { # NAME PORTS
    # shellcheck disable=SC2046
    begin "$1" "adopted" edl-agent --node "$1" --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" --conf '' --cpu 1 \
        --state-dir "$work/$1" --runtime direct --no-foreign --heartbeat 300ms --address 127.0.0.1 --stop-processes-on-exit --ports "$2" \
        $([ "$(id -u)" != 0 ] || echo --default-user nobody)
    agents[$1]=$pid
}
agent_begin n1 21000-21099
agent_begin n2 21100-21199
refuses() { # STATUS WHAT COMMAND...: it fails and says so
    local status=$1 what=$2 got=0
    shift 2
    "$@" >"$work/out" 2>"$work/err" || got=$?
    [ $got = "$status" ] || fail "$*: exit status $got, $(cat "$work/err")"
    grep -q -e "$what" "$work/err" || fail "$*: it says $(cat "$work/err") and not: $what"
}
rank_of() { sed -n "s/^\[trainer-$1\] //p"; } # RANK: its lines, as it wrote them
lines_of() { # RANK: what it writes in all
    seq -f "rank $1 line %06.0f of a program that talks, µ" 100000
    echo "rank $1 waits"
    echo "rank $1 loss 0.25"
    printf 'rank %s and no end' "$1"
}

# two ranks on two nodes, 100,000 lines each at once; then they wait to be told, and write three more
mkfifo -m 666 "$work/gate-0" "$work/gate-1"
cat >"$work/talk.sh" <<'END'
seq -f "rank $RANK line %06.0f of a program that talks, µ" 100000
echo "rank $RANK waits"
read -r <"$1/gate-$RANK"
echo "rank $RANK loss 0.25"
printf 'rank %s and no end' "$RANK"
END
chmod a+r "$work/talk.sh"
edl submit --name talk --min 2 --max 2 --cpu 700m --memory 64Mi -- bash "$work/talk.sh" "$work" >/dev/null
edl logs -f talk -o "$work/run.log" 2>"$work/notes" &
follower=$!
pids="$pids $follower"
both_wait() { [ "$(grep -c ' waits$' "$work/run.log")" = 2 ]; }
await 120 'both have written, and the file has it' while_runs $follower both_wait
[ "$(tail -c 1 "$work/run.log" | od -An -c | tr -d ' ')" = '\n' ] || fail 'the file ends in the middle of a line'

# while they run: all from the nodes
edl logs talk >"$work/live"
for rank in 0 1; do rank_of $rank <"$work/live" | cmp - <(lines_of $rank | head -n 100001) || fail "rank $rank while it runs"; done
[ "$(edl logs talk --tail 1 --rank 1)" = '[trainer-1] rank 1 waits' ] || fail 'the last line'
[ "$(edl logs talk --tail 20000 --rank 1 | rank_of 1 | head -n 1)" = 'rank 1 line 080002 of a program that talks, µ' ] || fail 'the last 20,000 lines'

then_us=$(date +%s%6N)
for rank in 0 1; do echo >"$work/gate-$rank"; done
edl wait talk --timeout 120 || fail "talk: $(edl show talk)"
wait $follower || fail "it was followed with status $?: $(cat "$work/notes")"
for rank in 0 1; do rank_of $rank <"$work/run.log" | cmp - <(lines_of $rank && echo) || fail "rank $rank as it was followed"; done

# after the end
edl logs talk -o "$work/whole.log"
for rank in 0 1; do rank_of $rank <"$work/whole.log" | cmp - <(lines_of $rank && echo) || fail "rank $rank after the end"; done
[ "$(wc -l <"$work/whole.log")" = 200006 ] || fail "$(wc -l <"$work/whole.log") lines"
[ ! -e "$work/whole.log.part" ] || fail 'a part is left'
edl logs talk --rank 1 --json | jq -j .text | cmp - <(lines_of 1) || fail 'JSON'
[ "$(edl logs talk --grep 'loss 0\.[0-9]+$' | sort | paste -sd,)" = '[trainer-0] rank 0 loss 0.25,[trainer-1] rank 1 loss 0.25' ] || fail "--grep: $(edl logs talk --grep 'loss 0\.[0-9]+$')"
[ "$(edl logs talk --grep 'line 0000' --tail 3 | wc -l)" = 3 ] || fail '--grep and --tail'
[ "$(edl logs talk --tail 4 | sort | paste -sd,)" = "$(for rank in 0 1; do for what in 'and no end' 'loss 0.25'; do echo "[trainer-$rank] rank $rank $what"; done; done | paste -sd,)" ] || fail "--tail: $(edl logs talk --tail 4)"
since=$(date -u -d "@$((then_us / 1000000)).$(printf %06d $((10#${then_us: -6})))" +%FT%T.%6NZ)
[ "$(edl logs talk --since "$since" | grep -vc waits)" = 4 ] || fail "--since $since: $(edl logs talk --since "$since" | head)"
[ "$(edl logs talk --since 1h | wc -l)" = 200006 ] || fail '--since 1h'
edl logs talk -t --tail 1 --rank 0 | grep -Eq '^\[trainer-0\] 20[0-9-]+T[0-9:.]+Z rank 0 and no end$' || fail "-t: $(edl logs talk -t --tail 1 --rank 0)"
edl logs talk -t --rank 0 | cut -d' ' -f2 | sort -c || fail 'the times of a rank fall'

# the page reads the same
if command -v node >/dev/null && [ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ]; then
    mkdir "$work/node"
    cp "$EDL_SOURCE_DIR"/scheduler/web/*.js "$work/node"
    echo '{"type": "module"}' >"$work/node/package.json"
    cat >"$work/node/whole.mjs" <<'END'
import { wholeLog } from "./logs.js";
const [server, token] = process.argv.slice(2);
const ask = globalThis.fetch;
globalThis.location = new URL(server + "/");
globalThis.localStorage = { getItem: () => null };
globalThis.sessionStorage = { getItem: () => token };
globalThis.fetch = (url, options) => ask(new URL(url, server + "/"), options);
const lines = wholeLog("talk", new AbortController().signal);
const text = [];
let step;
while (!(step = await lines.next()).done)
    text.push(`[${step.value.who}] ${step.value.text}\n`);
for (const line of step.value.join.rest())
    text.push(`[${line.who}] ${line.text}\n`);
process.stdout.write(text.join(""));
END
    node "$work/node/whole.mjs" "$EDL_SERVER" "$(cat "$EDL_TOKEN_FILE")" >"$work/page.log" || fail 'the page does not read it'
    for rank in 0 1; do rank_of $rank <"$work/page.log" | cmp - <(lines_of $rank && echo) || fail "rank $rank on the page"; done
else
    echo "the page's reading was not run: there is no Node.js"
fi

# what is wrong is refused
refuses 1 'its ranks are 0 to 1' edl logs talk --rank 2
refuses 2 'is no regular expression' edl logs talk --grep '('
refuses 2 'is no time' edl logs talk --since yesterday
refuses 2 'is no whole number' edl logs talk --tail some
refuses 2 'so --index says nothing' edl logs talk --rank 1 --index 0
refuses 2 'so --raw says nothing' edl logs talk --raw -o "$work/other"
refuses 1 'cannot write' edl logs talk -o "$work/none/run.log"

# an operator may read what is kept; the rest is its owner's
edl user add eve --role operator >/dev/null
(umask 077 && edl token create --user eve >"$work/eve.token" 2>/dev/null)
EDL_TOKEN_FILE=$work/eve.token edl logs talk --rank 0 >"$work/out"
head -n 1 "$work/out" | grep -q "^\[trainer-0\] \[edl: bytes 0 to [0-9,]* of trainer-0 are on node n[12], where only the job's owner and admins read them\]$" ||
    fail "to an operator it says: $(head -n 1 "$work/out")"
[ "$(tail -n 1 "$work/out")" = '[trainer-0] rank 0 and no end' ] || fail "an operator sees: $(tail -n 1 "$work/out")"

# a disk that is full: an error, whole lines, and what was there of before
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir "$work/small"
    # shellcheck disable=SC2016
    refuses 1 'cannot write .*No space left on device' unshare -m sh -c 'mount -t tmpfs -o size=256k none "$1" && echo before >"$1/run.log" &&
        { edl logs talk -o "$1/run.log"; status=$?; cat "$1/run.log"; ls "$1"; exit $status; }' - "$work/small"
    [ "$(paste -sd, "$work/out")" = 'before,run.log' ] || fail "a full disk leaves $(paste -sd, "$work/out")"
    # shellcheck disable=SC2016
    refuses 1 'cannot write .*No space left on device' unshare -m sh -c 'mount -t tmpfs -o size=256k none "$1" &&
        { edl logs -f talk -o "$1/run.log"; status=$?; cat "$1/run.log"; exit $status; }' - "$work/small"
    [ "$(tail -c 1 "$work/out" | od -An -c | tr -d ' ')" = '\n' ] || fail "a full disk cuts a line: $(tail -n 1 "$work/out")"
    grep -v '^\[trainer-[01]\] rank . line [0-9]* of a program that talks, µ$' "$work/out" >"$work/cut" || true
    [ ! -s "$work/cut" ] || fail "a full disk cuts a line: $(cat "$work/cut")"
fi

# of a node that is lost the bytes are told; what it had sent is there. As long as the job ran no stall of an agent was to lose one
end "$scheduler"
scheduler_begin "$EDL_SERVER" 6s
both_ready() { edl nodes --json | holds '[.nodes[] | select(.state == "ready" and .connected != false)] | length == 2'; }
await 120 'both nodes are ready' both_ready
node=$(curl -sSf -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$EDL_SERVER/jobs/talk/processes?state=all" | jq -r '.processes[] | select(.index == 1).node')
end "${agents[$node]}"
lost() { [ "$(edl nodes "$node" --json | jq -r .state)" = lost ]; }
await 120 'the node is lost' lost
edl logs talk --rank 1 >"$work/out"
first=$(head -n 1 "$work/out")
kept=$(rank_of 1 <"$work/out" | tail -n +2 | head -c -1 | wc -c)
before=$(($(lines_of 1 | wc -c) - kept))
comma() { sed ':a;s/\B[0-9]\{3\}\>/,&/;ta'; }
[ "$first" = "[trainer-1] [edl: bytes 0 to $(echo $((before - 1)) | comma) of trainer-1 are on node $node, which is lost]" ] ||
    fail "of a lost node it says: $first, and $before bytes are before what it shows"
rank_of 1 <"$work/out" | tail -n +2 | cmp - <(lines_of 1 | tail -c "$kept" && echo) || fail 'what was kept of it'
[ "$(edl logs talk --rank 1 --tail 1)" = '[trainer-1] rank 1 and no end' ] || fail 'the last line of a lost node'
[ "$(edl logs talk --rank 0 | wc -l)" = 100003 ] || fail 'the other rank'
