#!/usr/bin/env bash
# What a job wrote comes back from its nodes: while it runs and after, from several processes, after a break where it left off;
# only to its owner; never through a link, on neither side; until its time is over. And whole logs on the same way.
# Takes 32 s: files are sent by nodes that are killed, stand still and come back
. "$EDL_SOURCE_DIR/tests/lib/daemons.sh"
chmod 711 "$work"
begin scheduler "policy" edl-scheduler --state-dir "$work/scheduler" --listen 127.0.0.1:0 --lease 60s
EDL_SERVER=http://$(sed 's,^http://,,' "$work/scheduler/address")
EDL_TOKEN_FILE=$work/scheduler/admin-token
export EDL_SERVER EDL_TOKEN_FILE
declare -A agents
agent_begin() { # NAME ARGUMENT...
    local name=$1
    shift
    # shellcheck disable=SC2046
    begin "$name" "adopted" edl-agent --node "$name" --scheduler "$EDL_SERVER" --join-token-file "$work/scheduler/join-token" --conf '' --cpu 1 \
        --state-dir "$work/$name" --runtime direct --no-foreign --heartbeat 300ms --address 127.0.0.1 --stop-processes-on-exit \
        $([ "$(id -u)" != 0 ] || echo --default-user nobody) "$@"
    agents[$name]=$pid
}
agent_begin n1 --ports 21000-21099
agent_begin n2 --ports 21100-21199
ready() { [ "$(edl logs "$1" | grep -c 'ready$')" = "$2" ]; }
refuses() { # WHAT COMMAND...: it fails and says so
    local what=$1
    shift
    if "$@" >"$work/out" 2>"$work/err"; then fail "it succeeds: $*"; fi
    grep -q -e "$what" "$work/err" || fail "$*: it says $(cat "$work/err") and not: $what"
}
same() { cmp "$1" "$2" || fail "$2 is not $1"; }
there() { # FOLDER: the files in it
    (cd "$1" && find . ! -type d ! -name .edl-fetch | sort | paste -sd' ')
}
work_of() { # NODE GLOB: where a process has its copy
    find "$work/$1/workspaces/copies" -maxdepth 1 -type d -name "$2"
}

# two processes on two nodes, each in a copy of its own
mkdir -p "$work/src/data"
echo given >"$work/src/data/words"
echo first >"$work/src/changed"
chmod -R a+rX "$work/src"
cat >"$work/src/run.sh" <<'END'
mkdir -p output/pass-00000 output/pass-00001 other
for pass in 0 1; do head -c 300000 /dev/urandom >output/pass-0000$pass/model; done
echo "$EDL_INDEX" >>changed
echo "result $EDL_INDEX" >"$EDL_OUTPUT_DIR/result-$EDL_INDEX"
ln -s /etc/hostname output/pass-00000/link
ln -s /etc other/etc
ln -s output escape
ln -s pass-00001 output/LATEST
(umask 077; echo key >private; echo '#!/bin/sh' >mine.sh; chmod 700 mine.sh)
echo odd >'model[1].pt'
touch other/with\ blank "other/$(printf 'bad\033name')"
mkfifo other/pipe
seq 30000
echo ready
exec sleep 1000
END
edl submit --name first --upload "$work/src" --min 2 --max 2 --cpu 700m --memory 64Mi -- sh run.sh >/dev/null 2>&1
await 120 'both have written' ready first 2

edl fetch first -o "$work/all" 2>"$work/notes" >"$work/said" || fail "edl fetch: $(cat "$work/notes")"
[ "$(there "$work/all")" = "$(for i in 0 1; do for file in changed escape mine.sh 'model[1].pt' other/with\ blank output/LATEST output/pass-00000/model output/pass-00001/model private; do echo "./trainer-$i/$file"; done; done | cat - <(for i in 0 1; do echo "./n$(($(edl show first --json | jq '[.processes[] | select(.index == '$i')][0].node[1:] | tonumber')))/EDL_OUTPUT_DIR/result-$i"; done) | sort | paste -sd' ')" ] ||
    fail "it fetched $(there "$work/all")"
for i in 0 1; do
    node=$(edl show first --json | jq -r ".processes[] | select(.index == $i).node")
    copy=$(work_of "$node" "*.trainer.$i.*")
    for file in changed output/pass-00000/model output/pass-00001/model; do same "$copy/$file" "$work/all/trainer-$i/$file"; done
    [ "$(cat "$work/all/$node/EDL_OUTPUT_DIR/result-$i")" = "result $i" ] || fail 'the output folder did not come'
done
for link in output/pass-00000/link other/etc; do
    grep -q "left out the link $link, which leads out of the folder" "$work/notes" || fail "it says: $(cat "$work/notes")"
done
grep -q 'left out 1 files whose names' "$work/notes" || fail "it says: $(cat "$work/notes")"
grep -q '16 files fetched .* 4 links made' "$work/said" || fail "it says: $(cat "$work/said")"
[ "$(stat -c %a "$work"/all/trainer-0/{private,mine.sh,changed} | paste -sd' ')" = '600 700 644' ] || fail "permissions: $(ls -l "$work/all/trainer-0")"
[ "$(readlink "$work/all/trainer-0/output/LATEST" "$work/all/trainer-0/escape" | paste -sd' ')" = 'pass-00001 output' ] || fail 'links that stay within'
edl fetch first -o "$work/all" 2>/dev/null | grep -q ' 0 files fetched .* 16 were there$' || fail 'what is there is fetched again'

# without -o: a folder of that name that is somebody's own is left alone
mkdir -p "$work/here/first/other"
echo mine >"$work/here/first/changed"
cd "$work/here"
refuses 'name another folder with -o, or give --replace' edl fetch first --index 0
[ "$(there first)" = ./changed ] && grep -q mine first/changed || fail 'it was replaced'
edl fetch first --index 0 --replace >/dev/null 2>&1 && ! grep -q mine first/changed || fail '--replace'
rm -r first
for found in 0 8; do
    edl fetch first --index 0 --json 2>/dev/null | holds ".there == $found and .failed == 0" || fail 'it does not go on in its own folder'
done
# a folder that is named may be one's own: what is in it stays as it is
echo mine >changed
ln -s elsewhere escape
refuses 'changed is there, and edl fetch did not put it there' edl fetch first --index 0 -o .
grep -q mine changed && [ "$(readlink escape)" = elsewhere ] && [ -f output/pass-00000/model ] || fail 'it replaced what was there'
edl fetch first --index 0 -o . --replace >/dev/null 2>&1 && ! grep -q mine changed && [ "$(readlink escape)" = output ] || fail '-o . --replace'
cd "$OLDPWD"

# what is named comes, changed or not, and of one process without its name
edl fetch first 'data' --index 1 -o "$work/one" >/dev/null 2>&1 || fail 'a pattern'
[ "$(there "$work/one")" = ./data/words ] && same "$work/src/data/words" "$work/one/data/words"
edl fetch first 'output/pass-*1' --index 0 --json -o "$work/one" 2>/dev/null | holds '.fetched == 1 and .files[0].path == "output/pass-00001/model" and .files[0].state == "fetched"' ||
    fail '--json tells something else'
edl fetch first 'EDL_OUTPUT_DIR/result-0' -o "$work/one" >/dev/null 2>&1 && grep -q 'result 0' "$work/one"/n[12]/EDL_OUTPUT_DIR/result-0 || fail 'the output folder by name'
edl fetch first --list '*' 2>/dev/null | grep -q ' trainer-0/run.sh$' || fail '--list'
edl fetch first output/pass-00001/ --index 0 --json -o "$work/slash" 2>/dev/null | holds '.fetched == 1' || fail 'a slash behind a folder'
edl fetch first 'model[1].pt' --index 0 -o "$work/slash" >/dev/null 2>&1 && [ -f "$work/slash/model[1].pt" ] || fail 'a name with brackets'
edl fetch first output/LATEST --index 0 -o "$work/slash" >/dev/null 2>&1 && [ -L "$work/slash/output/LATEST" ] || fail 'a link by its name'
edl fetch first --list --index 0 2>/dev/null | grep -q ' output/LATEST -> pass-00001$' || fail '--list tells no link'
refuses 'no file of job first matches "nothing/\*"' edl fetch first 'nothing/*' -o "$work/none"
refuses 'job first has no role nope; it has trainer' edl fetch first --role nope -o "$work/none"
refuses 'job first has no process 7' edl fetch first --index 7 -o "$work/none"
[ ! -e "$work/none" ] || fail 'a folder was made for nothing'

# links: on the node none is followed, nor is one here
api() { curl -sS -o "$work/body" -w '%{http_code}' -H "Authorization: Bearer $(cat "$EDL_TOKEN_FILE")" "$EDL_SERVER$1"; }
for path in output/pass-00000/link other/etc/hostname escape/pass-00000/model; do
    [ "$(api "/jobs/first/processes/trainer/0/file?path=$path")" = 403 ] || fail "$path: $(cat "$work/body")"
done
for path in ../../../credential /etc/hostname output//x ./changed; do
    [ "$(api "/jobs/first/processes/trainer/0/file?path=$path")" = 400 ] || fail "$path: $(cat "$work/body")"
done
[ "$(api '/jobs/first/processes/trainer/0/file?path=other/pipe')" = 403 ] || fail "a pipe: $(cat "$work/body")"
[ "$(api '/jobs/first/processes/trainer/7/files')" = 404 ] || fail "no such process: $(cat "$work/body")"
mkdir -p "$work/linked" "$work/elsewhere"
ln -s "$work/elsewhere" "$work/linked/output"
refuses 'is no folder' edl fetch first 'output/pass-00000' --index 0 -o "$work/linked"
rm "$work/linked/output"
mkdir -p "$work/linked/output/pass-00000"
ln -s "$work/elsewhere/target" "$work/linked/output/pass-00000/model.part"
refuses 'no file of its own' edl fetch first 'output/pass-00000' --index 0 -o "$work/linked"
rm "$work/linked/output/pass-00000/model.part"
ln -s "$work/elsewhere/target" "$work/linked/output/pass-00000/model"
refuses 'is no file' edl fetch first 'output/pass-00000' --index 0 -o "$work/linked"
silent ls -A "$work/elsewhere" || fail 'it wrote through a link'

# a part of an earlier try is gone on with; one that does not fit is not believed
model=output/pass-00000/model
mkdir -p "$work/again/output/pass-00000"
head -c 100000 "$work/all/trainer-0/$model" >"$work/again/$model.part"
inode=$(stat -c %i "$work/again/$model.part")
refuses 'model.part is there, and edl fetch did not put it there' edl fetch first $model --index 0 -o "$work/again"
edl fetch first $model --index 0 -o "$work/again" --replace >/dev/null 2>&1 || fail 'it does not go on'
same "$work/all/trainer-0/$model" "$work/again/$model"
[ "$(stat -c %i "$work/again/$model")" = "$inode" ] && [ ! -e "$work/again/$model.part" ] || fail 'it began anew'
mv "$work/again/$model" "$work/again/$model.part"
printf X | dd of="$work/again/$model.part" bs=1 seek=50000 conv=notrunc status=none
edl fetch first $model --index 0 -o "$work/again" >/dev/null 2>&1 || fail 'a part that does not fit'
same "$work/all/trainer-0/$model" "$work/again/$model"

# a node that does not list a file again which changed while it came: that is no removal
cat >"$work/fake.py" <<'END'
import hashlib, http.server, json, sys
listed = []
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, body = 200, b'{"name":"odd","spec":{"roles":[{"role":"trainer"}]}}'
        if '/files?folder=workspace' in self.path and listed:
            status, body = 500, b'{"title":"no answer","status":500,"detail":"node n9 does not answer"}'
        elif '/files?folder=workspace' in self.path:
            listed.append(1)
            lines = [{"path": "a", "bytes": 1, "mtime_us": 1, "mode": 420, "sha256": hashlib.sha256(b'x').hexdigest()},
                     {"end": True, "files": 1, "bytes": 1, "links": 0, "unnamed": 0, "unreadable": 0}]
            body = b''.join(json.dumps(line).encode() + b'\n' for line in lines)
        elif '/files?folder=output' in self.path:
            status, body = 404, b'{"title":"none","status":404,"detail":"none"}'
        elif '/file?' in self.path:
            body = b'y'
        elif '/processes?' in self.path:
            body = b'{"processes":[{"role":"trainer","index":0,"incarnation":1,"node":"n9"}]}'
        self.send_response(status)
        self.send_header('Content-Type', 'application/json' if status == 200 else 'application/problem+json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
print('port', server.server_port, file=sys.stderr, flush=True)
server.serve_forever()
END
begin fake port python3 "$work/fake.py"
fake=$pid
EDL_SERVER=http://127.0.0.1:$(awk '$1 == "port" { print $2 }' "$work/fake.log") refuses 'it could not be listed again' edl fetch odd -o "$work/odd"
grep -q 'the same command goes on' "$work/err" && [ -s "$work/odd/a.part" ] || fail "it says: $(cat "$work/err")"
end "$fake"

# a disk that is full
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir "$work/small"
    # shellcheck disable=SC2016
    refuses 'make room in .*; then the same command goes on' unshare -m sh -c 'mount -t tmpfs -o size=128k none "$1" && edl fetch first output/pass-00000 --index 0 -o "$1"' - "$work/small"
fi

# folders of other kinds: one of each process alone, and one that the job names, of which what was there before stays
mkdir -m 777 "$work/shared"
echo old >"$work/shared/old"
# shellcheck disable=SC2016
for kind in private "$work/shared"; do
    edl submit --name "kind-${kind##*/}" --workspace "$kind" --min 2 --max 2 --cpu 50m --memory 64Mi -- sh -c 'echo $EDL_INDEX >"new-$EDL_INDEX" && echo ready && exec sleep 1000' >/dev/null 2>&1
    await 120 'both have written' ready "kind-${kind##*/}" 2
    edl fetch "kind-${kind##*/}" -o "$work/${kind##*/}-fetched" >/dev/null 2>&1 || fail "$kind"
    edl kill "kind-${kind##*/}" >/dev/null
done
[ "$(there "$work/private-fetched")" = './trainer-0/new-0 ./trainer-1/new-1' ] || fail "private: $(there "$work/private-fetched")"
case $(edl show kind-shared --json | jq -r '[.processes[].node] | unique | join(" ")') in # what both have comes of the first
    'n1 n2') [ "$(there "$work/shared-fetched" | sed 's,\./n[12]/,,g')" = 'new-0 new-1' ] && [ "$(there "$work/shared-fetched" | tr " " "\n" | cut -d/ -f2 | sort -u | wc -l)" = 1 ] ;;
    *) [ "$(there "$work/shared-fetched")" = './new-0 ./new-1' ] ;;
esac || fail "shared: $(there "$work/shared-fetched")"

# nothing at all: the remedy is not the command that was given
edl submit --name bare --workspace private --cpu 50m --memory 64Mi -- sh -c 'echo ready && exec sleep 1000' >/dev/null 2>&1
await 120 'it runs' ready bare 1
refuses 'job bare has no files on its nodes' edl fetch bare '*' -o "$work/none"
# shellcheck disable=SC2016
grep -q 'try: `edl show bare`' "$work/err" || fail "it says: $(cat "$work/err")"
edl kill bare >/dev/null

# an array: each of its jobs in a folder of its name
# shellcheck disable=SC2016
edl submit --name sweep --array 0-1 --workspace private --cpu 50m --memory 64Mi -- sh -c 'echo "$EDL_ARRAY_INDEX" >result && echo ready && exec sleep 1000' >/dev/null 2>&1
for i in 0 1; do await 120 "sweep-$i has written" ready "sweep-$i" 1; done
edl fetch sweep -o "$work/sweep" >"$work/out" 2>&1 || fail "edl fetch ARRAY: $(cat "$work/out")"
[ "$(there "$work/sweep")" = './sweep-0/result ./sweep-1/result' ] || fail "of the array it fetched $(there "$work/sweep")"
edl fetch sweep -o "$work/sweep" --json 2>/dev/null | holds '.array == "sweep" and ([.jobs[].there] | add) == 2' || fail 'edl fetch ARRAY --json'
edl fetch sweep --list 2>/dev/null | grep -q ' sweep-1/result$' || fail 'edl fetch ARRAY --list'
refuses 'no job of array sweep has such a file' edl fetch sweep nothing -o "$work/none"
edl kill sweep >/dev/null

# only its owner, and admins
edl user add eve >/dev/null
(umask 077 && edl token create --user eve >"$work/eve.token" 2>/dev/null)
EDL_TOKEN_FILE=$work/eve.token refuses 'belongs to admin, and you are eve' edl fetch first -o "$work/eve"
EDL_TOKEN_FILE=$work/eve.token refuses 'belongs to admin, and you are eve' edl logs first

# whole logs, longer than what is kept here
edl logs first >"$work/log" || fail 'edl logs'
for i in 0 1; do
    sed -n "s/^\[trainer-$i\] //p" "$work/log" | cmp - <(seq 30000 && echo ready) || fail "the log of trainer-$i is another"
done
edl logs first --index 1 --json | jq -rs 'map(.text) | add' | cmp - <(seq 30000 && echo ready && echo) || fail 'logs --json'

# an agent that dies half way: the client stands still meanwhile, so it is half way
edl submit --name large --upload "$work/src" --cpu 200m --memory 64Mi -- sh -c 'truncate -s 700M big && echo ready && exec sleep 1000' >/dev/null 2>&1
await 120 'it has written' ready large 1
node=$(edl show large --json | jq -r '.processes[0].node')
edl fetch large big -o "$work/large" >"$work/out" 2>"$work/err" &
client=$!
pids="$pids $client"
grown() { [ -s "$work/large/big.part" ]; }
await 120 'the file begins to come' grown
kill -STOP $client
kill -KILL "${agents[$node]}"
wait "${agents[$node]}" || true
kill -CONT $client
if wait $client; then fail 'it fetched all from an agent that was killed'; fi
grep -q 'the same command goes on' "$work/err" || fail "it says: $(cat "$work/err")"
[ -s "$work/large/big.part" ] && [ ! -e "$work/large/big" ] || fail "what came is not kept: $(ls -l "$work/large")"
inode=$(stat -c %i "$work/large/big.part")
refuses 'cannot be reached now\|does not answer' edl fetch large big -o "$work/large"
agent_begin "$node" --ports "$([ "$node" = n1 ] && echo 21000-21099 || echo 21100-21199)"
reachable() { edl fetch large -l >/dev/null 2>&1; }
await 120 'the agent is back' reachable
edl fetch large big -o "$work/large" >"$work/out" 2>&1 || fail "it does not go on: $(cat "$work/out")"
[ "$(stat -c '%i %s' "$work/large/big")" = "$inode $((700 << 20))" ] || fail "it began anew: $(ls -li "$work/large")"

# after the end, until the time is over
edl kill first >/dev/null
edl kill large >/dev/null
edl wait first >/dev/null || true
edl wait large >/dev/null || true
edl fetch first 'output/pass-*' -o "$work/after" >/dev/null 2>&1 || fail 'nothing comes after the end'
for i in 0 1; do same "$work/all/trainer-$i/$model" "$work/after/trainer-$i/$model"; done
edl logs first --index 0 | tail -n 1 | grep -q 'ready$' || fail 'its log is gone with it'
for name in n1 n2; do
    end "${agents[$name]}"
    agent_begin "$name" --ports "$([ $name = n1 ] && echo 21000-21099 || echo 21100-21199)" --keep-outputs 1s
done
no_copies() { silent find "$work/n1/workspaces/copies" "$work/n2/workspaces/copies" -mindepth 1; }
await 120 'what was kept goes' no_copies
no_work() { silent find "$work/n1/work" "$work/n2/work" -mindepth 1; }
await 120 'private workspaces go with their jobs' no_work
over() { ! edl fetch first 'output/pass-*' -o "$work/over" >"$work/out" 2>&1 && grep -q 'on its nodes any more' "$work/out"; }
await 120 'it says that they are gone' over
