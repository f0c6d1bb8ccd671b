#!/usr/bin/env bash
# edl recordio and edl dataset, without a server: bytes as PaddlePaddle's tools write them, each record once whatever the files, what is
# damaged named with offset and records, nothing left of a call that fails.
# Takes 17 s: some hundred commands, and 180 damaged files that the command and Python read
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}" "${EDL_SOURCE_DIR:?the checkout}"
work=$(mktemp -d /tmp/edl-recordio-XXXXXX)
trap 'rm -rf "$work"' EXIT
. "$EDL_SOURCE_DIR/tests/lib/await.sh"
edl=$EDL_BUILD_DIR/edl
cd "$work"

refused() { # STATUS TEXT ARGUMENT...: it ends so, and says so
    local wanted=$1 text=$2 status=0
    shift 2
    "$edl" "$@" >out 2>err </dev/null || status=$?
    [ $status = "$wanted" ] || fail "edl $*: exit status $status, not $wanted: $(cat out err)"
    grep -qF -e "$text" err || fail "edl $*: no \"$text\" in: $(cat err)"
}
files() { find "$1" -type f | LC_ALL=C sort | xargs; }

# the published bytes
printf 'Hello\nWorld!' | "$edl" recordio convert - --lines --out golden/hello --records 9 --compress none >out
[ "$(od -An -v -tx1 golden/hello-00000 | tr -d ' \n')" = 04030201837e47590000000013000000020000000500000048656c6c6f06000000576f726c6421 ] ||
    fail 'not the published bytes'
[ "$("$edl" recordio cat --raw golden/hello-00000 | od -An -v -tx1 | tr -d ' \n')" = 0500000048656c6c6f06000000576f726c6421 ] || fail 'cat --raw'
[ "$("$edl" recordio cat -0 golden/hello-00000 | tr '\0' '|')" = 'Hello|World!|' ] || fail 'cat -0'

# each record once, in order, with every compressor, in several files of several chunks; empty lines are records
{ seq 1 2000; echo; seq 2001 4000; } >numbers
for how in none snappy gzip; do
    "$edl" recordio convert numbers --lines --out $how/n --records 1500 --chunk 1024 --compress $how >out
    [ "$(files $how)" = "$how/n-00000 $how/n-00001 $how/n-00002" ] || fail "$how: $(files $how)"
    "$edl" recordio cat $how/n-* | cmp - numbers || fail "$how: not the records"
    "$edl" recordio check $how/n-* >out || fail "$how: $(cat out)"
    "$edl" recordio index --json $how/n-* | holds --arg how $how \
        '([.files[].records] == [1500, 1500, 1001]) and ([.files[].chunks[]] | length > 12 and all(.compressor == $how))' || fail "$how: the index"
done
"$edl" recordio split none/n-* --out parts/p --parts 7 --compress snappy >out
"$edl" recordio cat parts/p-* | cmp - numbers || fail 'split: not the records'
[ "$("$edl" recordio index --json parts/p-* | jq -c '[[.files[].records] | min, max, length]')" = '[571,572,7]' ] || fail 'split: not alike'

# nothing is also a file, and a part without a record is one
: >empty
"$edl" recordio convert empty --lines --out nothing/n --records 5 >out
[ "$(stat -c %s nothing/n-00000)" = 0 ] || fail 'an empty file is not empty'
"$edl" recordio check nothing/n-00000 | grep -qx 'nothing/n-00000: 0 chunks, 0 records, whole' || fail 'an empty file'
"$edl" recordio split golden/hello-00000 --out few/f --parts 3 >out
[ "$("$edl" recordio index --json few/f-* | jq -c '[.files[].records]')" = '[0,1,1]' ] || fail 'three parts of two records'
"$edl" recordio convert numbers empty --files --out whole/w --records 5 >out
[ "$("$edl" recordio cat --raw whole/w-00000 | wc -c)" = $((4 + $(stat -c %s numbers) + 4)) ] || fail 'files as records'

# a damaged chunk loses its records and no others
cp none/n-00000 damaged
second=$("$edl" recordio index --json damaged | jq '.files[0].chunks[1].offset')
lost=$("$edl" recordio index --json damaged | jq '.files[0].chunks[1].records')
printf X | dd of=damaged bs=1 seek=$((second + 30)) conv=notrunc status=none
refused 1 "damaged: chunk at offset $second: the checksum does not match; $lost records are lost" recordio check damaged none/n-00001
grep -qx 'none/n-00001: .*, 1500 records, whole' out || fail "$(cat out)"
"$edl" recordio check --json damaged >out 2>err && fail 'a damaged file passes'
holds --argjson at "$second" --argjson lost "$lost" \
    '.damaged == 1 and .records_lost == $lost and .records == 1500 - $lost and .files[0].damaged[0].offset == $at and .files[0].damaged[0].records_lost == $lost' \
    <out || fail "$(cat out)"
refused 1 "chunk at offset $second" recordio cat damaged
[ "$(wc -l <out)" = $((1500 - lost)) ] || fail "cat of a damaged file: $(wc -l <out) records"
refused 1 "chunk at offset $second" recordio split damaged --out cut/c --records 10
[ "$(files cut)" = '' ] || fail "a split that failed left $(files cut)"
head -c -5 golden/hello-00000 >short
refused 1 'the file ends inside the chunk; the rest of the file is lost, 34 bytes, with 2 records' recordio check short

# a damaged header takes its chunk along, and the next whole one is found
third=$("$edl" recordio index --json none/n-00000 | jq '.files[0].chunks[2].offset')
cp none/n-00000 headless
printf XXXX | dd of=headless bs=1 seek="$second" conv=notrunc status=none
told="headless: chunk at offset $second: no chunk starts here (wrong magic number); $((third - second)) bytes are lost, up to the next whole chunk, with $lost records"
refused 1 "$told" recordio check headless
refused 1 "$told" recordio index headless
refused 1 "$told" recordio cat headless
[ "$(wc -l <out)" = $((1500 - lost)) ] || fail "cat behind a damaged header: $(wc -l <out) records"
"$edl" recordio check --json headless >out 2>err && fail 'a damaged header passes'
holds --argjson at "$second" --argjson bytes $((third - second)) --argjson lost "$lost" '.damaged == 1 and .records_lost == $lost and .bytes_lost == $bytes and
    .records == 1500 - $lost and (.files[0].damaged | map([.offset, .bytes_lost, .records_lost])) == [[$at, $bytes, $lost]]' <out || fail "$(cat out)"
dd if=/dev/zero of=headless bs=1 seek="$second" count=20 conv=notrunc status=none
refused 1 "$((third - second)) bytes are lost, up to the next whole chunk, with an unknown number of records" recordio check headless
"$edl" recordio check --json headless | holds '.files[0].damaged[0].records_lost == null' || fail 'records that nobody knows are counted'

# the module of Python finds the same chunks, gaps and records in files that are damaged anywhere
mkdir any
cat >same.py <<'END'
"""Damages files, and compares what edl recordio and the module make of them."""
import json, random, subprocess, sys
from edl import _recordio, _survey
edl, seed = sys.argv[1], int(sys.argv[2])
random.seed(seed)
paths = []
for how in ("none", "snappy", "gzip"):
    whole = open(f"{how}/n-00000", "rb").read()
    heads = [chunk.offset for chunk in _survey.survey(open(f"{how}/n-00000", "rb")).chunks]
    for i in range(60):
        data = bytearray(whole)
        for _ in range(random.randrange(1, 5)):
            at = random.choice(heads) + random.randrange(24) if random.random() < 0.7 else random.randrange(len(data))
            if random.random() < 0.8:
                data[at:at + 1] = bytes([random.randrange(256)])
            else:  # some bytes more or fewer
                data[at:at + random.randrange(50)] = random.randbytes(random.randrange(50))
        paths.append(f"any/{how}-{i}")
        open(paths[-1], "wb").write(data)
def said(verb):
    return json.loads(subprocess.run([edl, "recordio", verb, "--json", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)["files"]
gaps = 0
for path, listed, checked in zip(paths, said("index"), said("check")):
    with open(path, "rb") as file:
        found = _survey.survey(file)
        assert [[c["offset"], c["bytes"] + 20, c["records"]] for c in listed["chunks"]] == [list(c) for c in found.chunks], path
        assert [[g["offset"], g["bytes"], g["records_lost"], g["reason"]] for g in listed["gaps"]] == [list(g) for g in found.gaps], path
        gaps += len(found.gaps)
        read, damaged = 0, [[g.offset, g.size, g.records] for g in found.gaps]
        for chunk in found.chunks:
            try:
                read += len(_recordio.read_chunk(file, path, chunk.offset))
            except _recordio.Damaged:
                damaged.append(list(chunk))
    assert read == checked["records"], path
    assert sorted(damaged) == [[d["offset"], d["bytes_lost"], d["records_lost"]] for d in checked["damaged"]], path
assert gaps > 60, gaps
END
seed=${EDL_SEED:-1}
PYTHONPATH=$EDL_SOURCE_DIR/python PYTHONDONTWRITEBYTECODE=1 "$python" same.py "$edl" "$seed" || fail "with EDL_SEED=$seed"
refused 1 'no chunk starts here' recordio index numbers
refused 1 'is a folder' recordio check golden
refused 1 'No such file' recordio cat golden/none

# what is there is not mixed with what is made
refused 1 'none/n-0000' recordio convert numbers --lines --out none/n --records 10
grep -q '^try: rm none/n-' err || fail "$(cat err)"
refused 1 'No such file' recordio convert numbers gone --lines --out broken/b --records 100
[ "$(files broken)" = '' ] || fail "a call that failed left $(files broken)"
if "$edl" recordio cat none/n-00000 >/dev/full 2>err; then fail 'cat into a full disk passes'; fi
grep -q 'No space left' err || fail "$(cat err)"
if unshare -m true 2>/dev/null; then # a disk that fills up
    mkdir small
    seq 1 400000 >many
    status=0
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount -t tmpfs -o size=256k none small && "$0" recordio convert many --lines --out small/s --records 10000 --compress none
        status=$?; ls -A small; exit $status' "$edl" >out 2>err || status=$?
    [ $status = 1 ] || fail "a full disk: $status $(cat out err)"
    grep -q 'No space left' err || fail "a full disk: $(cat err)"
    [ ! -s out ] || fail "a full disk: this is left: $(cat out)"
fi

# words that cannot be
refused 2 'try: edl recordio check' recordio chek numbers
refused 2 '--lines does not go with it' recordio cat --lines numbers
refused 2 '--out PREFIX is missing' recordio convert numbers --lines --records 5
refused 2 'try: --records N' recordio convert numbers --lines --out x
refused 2 'try: --lines' recordio convert numbers --out x --records 5
refused 2 'try: --compress none' recordio convert numbers --lines --out x --records 5 --compress lz4

# the parts of seed trainers: alike but for a line, together the whole
"$edl" dataset prepare numbers --split 3 --out train_data >out
[ "$(files train_data)" = 'train_data/numbers-00000 train_data/numbers-00001 train_data/numbers-00002' ] || fail "$(files train_data)"
cat train_data/numbers-* | cmp - numbers || fail 'the parts are not the text'
[ "$(wc -l <train_data/numbers-00000) $(wc -l <train_data/numbers-00002)" = '1333 1334' ] || fail "$(wc -l train_data/*)"
refused 1 'is there already' dataset prepare numbers --split 3 --out train_data
refused 2 'fewer than 5000 parts' dataset prepare numbers --split 5000 --out more
refused 2 'is a folder' dataset prepare train_data --split 2 --out more
[ ! -e more ] || fail 'a refused call made a folder'

# a call that fails or is ended leaves nothing of any file
mkdir other
cp numbers other/numbers
cp numbers figures
refused 2 'the parts of numbers and other/numbers have the same names' dataset prepare numbers other/numbers --split 3 --out same
[ ! -e same ] || fail 'a refused call made a folder'
refused 1 'No such file' dataset prepare numbers figures gone --split 3 --out broken
[ "$(files broken)" = '' ] || fail "a call that failed left $(files broken)"
for signal in TERM INT; do
    mkfifo feed
    # the shell ignores SIGINT for what it does not wait for
    "$python" -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$edl" recordio convert - --lines --out ended/e --records 100 <feed >out 2>err &
    made=$!
    exec 7>feed
    seq 1000 >&7 # and no end
    await 120 'the first files' test -e ended/e-00008
    kill -s $signal $made
    status=0
    wait $made || status=$?
    exec 7>&-
    rm feed
    [ $status = $((128 + $(kill -l $signal))) ] || fail "SIG$signal: exit status $status: $(cat err)"
    [ "$(files ended)" = '' ] || fail "SIG$signal left $(files ended)"
    grep -q 'ended by a signal' err || fail "SIG$signal: $(cat err)"
done
# a text that grows while its parts are made
seq 300000 >long
"$edl" dataset prepare long --split 1000 --out grown >out 2>err &
made=$!
until [ -e grown/long-00000 ]; do # it runs for moments, so that it is not over by then
    kill -CONT $made
    read -r -t 0.005 <> <(:) || true
    kill -STOP $made || fail "it has ended: $(cat out err)"
done
echo more >>long
kill -CONT $made
status=0
wait $made || status=$?
[ $status != 0 ] || fail "lines that came meanwhile are lost: $(cat out)"
grep -q 'long has changed meanwhile' err || fail "$(cat err)"
[ "$(files grown)" = '' ] || fail 'a call that failed left parts'
