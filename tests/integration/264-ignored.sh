#!/usr/bin/env bash
# What of a folder is sent: .gitignore and .edlignore are followed, .git stays here, a virtual environment runs where it arrives;
# what no node would take is refused before anything is sent; what was left out is told, and --list shows it without a server.
# Takes 9 s: ten jobs, most of which pack, send and unpack a folder
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"

project=$work/project
mkdir -p "$project/src/deep" "$project/build" "$project/data"
cd "$project"
printf '*.o\n/build/\nvenv/\n' >.gitignore
printf '/data/\n!/src/keep.o\n' >.edlignore
printf '!kept.o\n' >src/deep/.gitignore
mkdir -p .git && echo secret >.git/config
touch src/a.o src/keep.o src/deep/b.o src/deep/kept.o build/run.sh data/large.bin
echo 'cd "$EDL_WORKSPACE" && find . -type f | LC_ALL=C sort >"$EDL_OUTPUT_DIR/files" && cat "$EDL_OUTPUT_DIR/files"' >main.sh
wanted='./.edlignore ./.gitignore ./main.sh ./src/deep/.gitignore ./src/deep/kept.o ./src/keep.o'

# without a server: what would be sent, what not and why
env -u EDL_SERVER edl workspace add --list . >"$work/list" 2>"$work/err" || fail "$(cat "$work/err")"
[ "$(awk '$1 != "left" { print "./" $2 }' "$work/list" | LC_ALL=C sort | xargs)" = "$wanted" ] || fail "$(cat "$work/list")"
grep -qx '  left out  data/  by .edlignore:1' "$work/list" || fail "$(cat "$work/list")"
grep -qx '  left out  src/deep/b.o  by .gitignore:1' "$work/list" || fail "$(cat "$work/list")"
grep -qx 'note: left out 5 files, 7 bytes, by .edlignore, .gitignore and .git (always)' "$work/err" || fail "$(cat "$work/err")"
edl workspace add --list . --json 2>/dev/null | holds '.files == 6 and .left_out_files == 5 and
    (.left_out[] | select(.path == ".git") | .folder and .by == ".git")' || fail "$(edl workspace add --list . --json)"
if edl workspace list --list 2>"$work/err"; then fail '--list is taken where it says nothing'; fi
grep -q 'goes with add FOLDER' "$work/err" || fail "$(cat "$work/err")"

# the status that tells the agent of a bad workspace-folder is for that alone
status=0
"$EDL_BUILD_DIR/edl-workspace" list main.sh 2>"$work/err" || status=$?
[ "$status" -eq 1 ] || fail "a file as the folder: exit status $status, $(cat "$work/err")"

cluster_start --nodes 2
ends_well() { # JOB
    await 120 "$1 ended" job_is "$1" succeeded failed
    job_is "$1" succeeded || fail "$1: $(api GET "/jobs/$1/processes?state=all" | jq -r '.processes[].reason') $(edl logs "$1")"
}

# what arrives is that list; what was left out is told in one line
edl submit --name sent --upload . -- sh main.sh >/dev/null 2>"$work/err"
grep -qx 'note: left out 5 files, 7 bytes, by .edlignore, .gitignore and .git (always); edl workspace add --list shows what is sent' \
    "$work/err" || fail "$(cat "$work/err")"
ends_well sent
[ "$(edl logs sent | sed 's/^.*| *//' | grep -o '\./.*' | xargs)" = "$wanted" ] || fail "$(edl logs sent)"
api GET /workspaces | holds '.workspaces | length == 1' || fail "$(api GET /workspaces)"
edl workspace add . --json 2>/dev/null | holds '.files == 6 and .left_out_files == 5 and (.workspace | startswith("sha256:"))' ||
    fail "$(edl workspace add . --json)"

# a program that is left out is told, with what brings it back
edl submit --name gone --upload . -- ./build/run.sh >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
grep -q 'note: ./build/run.sh is left out by .gitignore:2; to send it, write !/build/ into .edlignore' "$work/err" || fail "$(cat "$work/err")"
await 120 'it failed' job_is gone failed

# a virtual environment: left out by .gitignore here; brought back, its interpreter runs in the copy
/usr/bin/python3 -m venv --without-pip venv
echo 'import sys, os; assert sys.prefix == os.path.join(os.getcwd(), "venv"), sys.prefix' >where.py
echo '!/venv/' >>.edlignore
edl submit --name venv --upload . -- venv/bin/python where.py >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
grep -q 'note: venv/ is a virtual environment and goes along; it runs where the node has /.*python3.* too; to leave it out, write /venv/' \
    "$work/err" || fail "$(cat "$work/err")"
ends_well venv
# one that is active here is none of the job's, and the note says how to use the copy
VIRTUAL_ENV=$project/venv edl submit --name active --upload . -- python3 where.py >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
path=$(sed -n 's/^note: the job does not see the virtual environment .* to use it: --env \(PATH=.*\)$/\1/p' "$work/err")
[ "$path" = PATH=venv/bin:/usr/bin:/bin ] || fail "$(cat "$work/err")"
edl submit --name copied --env "$path" --upload . -- python3 where.py >/dev/null 2>&1
ends_well copied

# a folder as it is typed
mkdir "$work/home" && ln -s "$project" "$work/home/p"
edl submit --name typed --upload "$project/src/.." -- sh main.sh >/dev/null 2>&1
# shellcheck disable=SC2088
HOME=$work/home edl submit --name tilde --upload '~/p' -- sh main.sh >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
# shellcheck disable=SC2088
HOME=$work/home edl submit --name home --workspace '~/p/src' -- sh -c '[ "$(pwd -P)" = "'"$(cd "$project/src" && pwd -P)"'" ]' >/dev/null
(cd src && edl submit --name above --workspace .. -- sh -c '[ -f main.sh ]' >/dev/null)
(cd src && edl submit --name beside --workspace ./deep -- sh -c '[ -f kept.o ]' >/dev/null)
for name in typed tilde home above beside; do ends_well $name; done
if edl submit --workspace '$HOME/p' -- true 2>"$work/err"; then fail 'a variable is taken for a folder'; fi
grep -q 'is no folder of this machine' "$work/err" || fail "$(cat "$work/err")"
# shellcheck disable=SC2088
for path in src ./src '~/p' '$HOME/p' ../project; do
    jq -n --arg path "$path" '{metadata: {name: "refused"}, spec: {trainer: {entrypoint: "true", workspace: $path}}}' >"$work/refused.json"
    if edl submit "$work/refused.json" 2>"$work/err"; then fail "the API takes the workspace $path"; fi
    grep -q 'absolute path' "$work/err" || fail "$path: $(cat "$work/err")"
done

# what no node would take is refused here, by name, with what to type; nothing is sent
sent() { api GET /workspaces | jq '.workspaces | length'; }
before=$(sent)
refused() { # WORDS REMEDY
    if edl submit --upload . -- true >/dev/null 2>"$work/err"; then fail "taken: $1"; fi
    grep -q "$1" "$work/err" && grep -qF "$2" "$work/err" || fail "$1: $(cat "$work/err")"
}
ln -s /mnt/data dataset
refused 'dataset is a link to /mnt/data, which is outside' '.edlignore: /dataset;'
rm dataset
head -c 80000000 /dev/zero >zeros
refused 'zeros: up to here the folder packs to less than 1/200' '.edlignore: /zeros'
rm zeros
truncate -s 65G sparse
refused 'holds more than 68719476736 bytes' '.edlignore: /sparse'
echo /sparse >>.edlignore
edl workspace add . >/dev/null 2>&1 || fail 'the line that was told does not help'
[ "$(sent)" = $((before + 1)) ] || fail "$before workspaces became $(sent)"
cluster_stop
