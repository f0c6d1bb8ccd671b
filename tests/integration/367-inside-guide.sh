#!/usr/bin/env bash
# docs/inside.md: each of its blocks is typed beside a cluster, some in terminals of their own, and says what the page shows. Where this
# machine has no TensorBoard or Jupyter, servers stand in for them: what is tried is the way to them.
# Takes 15 s: a dozen sessions, and jobs that come and go
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"
machines=$work
on_fail() { # what a block says is in files
    tail -n 20 "$work"/*.errors "$work"/blocks/*.said
    edl ps --all
} >&4
exec 4>&2
folder=$work/folder
mkdir "$folder" "$work/bin" "$work/home" "$work/home/.ssh"
export HOME=$work/home PYTHONDONTWRITEBYTECODE=1
unset XDG_CONFIG_HOME

# what this machine lacks
cat >"$work/serve" <<'END'
# PORT TITLE TOKEN: a page for whoever has the token ("-": for all)
import http.server, sys
port, title, token = sys.argv[1:]
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = token in ("-", self.path.partition("token=")[2])
        self.send_response(200 if known else 403)
        self.end_headers()
        self.wfile.write(f"<title>{title}</title>\n".encode() if known else b"who are you\n")
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Page)
print(f"{title} 0 at http://127.0.0.1:{port}/ (a stand-in)", flush=True)
server.serve_forever()
END
stand_in() { # PROGRAM SCRIPT: $port is what --port says
    ! command -v "$1" >/dev/null || return 0
    echo "a server stands in for $1"
    printf '#!/usr/bin/env bash\nport=$(grep -oP -- "--port[= ]\\K[0-9]+" <<<"$*")\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
stand_in tensorboard "exec python3 '$work/serve' \"\$port\" TensorBoard -"
command -v jupyter-lab >/dev/null || stand_in jupyter-notebook "exec python3 '$work/serve' \"\$port\" Jupyter \"\$JUPYTER_TOKEN\""
# ssh has its files where the account's home is, whatever HOME says
for program in ssh scp; do
    printf '#!/bin/sh\nexec /usr/bin/%s -F "$HOME/.ssh/config" "$@"\n' $program >"$work/bin/$program"
done
chmod +x "$work"/bin/*
PATH=$work/bin:$PATH
cluster_start --nodes 2 --cpu 3000m

# a terminal of its own stays open; as at one, Ctrl-C ends what runs there
terminals=''
settled() { # a person takes longer to type
    edl ps --json | holds 'all(.jobs[]; .state | IN("queued", "starting") | not)' || return 1
    ! edl ps --json | holds 'any(.jobs[]; .name == "stuck")' || edl logs stuck | grep -q begins
}
type_in() { # MACHINE FILE
    await 120 'what was submitted runs' settled
    local text=${2%.sh}.text output=$2.said
    case $1 in
    terminal) ;;
    log) # which is a moment behind
        await 120 "the log has: $(paste -sd';' "$text")" log_shows "$2" "$output" "$text"
        cat "$output"
        return
        ;;
    *)
        (cd "$folder" && timeout 300 bash -e "$2" </dev/null)
        return
        ;;
    esac
    : >"$output"
    (cd "$folder" && exec env --default-signal=INT bash -c "exec $(cat "$2")" </dev/null >"$output" 2>&1) &
    terminals="$terminals $!"
    [ ! -e "$text" ] || await 120 "a terminal shows: $(paste -sd';' "$text")" while_runs $! shows "$output" "$text"
    cat "$output"
}
blocks docs/inside.md
leave_out() { # MACHINE WHY
    echo "left out: $2"
    grep -lx "$1" "$work"/blocks/*.machine | while read -r block; do rm "${block%.machine}".*; done
}
[ "$(find "$work/blocks" -name '*.sh' | wc -l)" = 15 ] || fail "the page has other blocks: $(ls "$work/blocks")"
command -v gdb >/dev/null || leave_out gdb 'there is no gdb (gdb)'
if [ ! -x /usr/sbin/sshd ] || [ ! -x /usr/bin/ssh ]; then
    leave_out ssh 'there is no ssh, or no sshd (openssh-client, openssh-server)'
elif getent passwd "$(id -u)" | grep -qE '(nologin|false)$'; then
    leave_out ssh 'this account is not to log in'
fi
run_blocks
[ ! -e "$folder/copy.py" ] || cmp "$folder/train.py" "$folder/copy.py" || fail "scp brought something else"

# the notebook answers whoever has its URL, and nobody else
url=$(grep -ho 'http://127.0.0.1:[0-9]*/[^ ]*token=[^ ]*' "$work"/blocks/*.said | head -n 1)
await 120 'the notebook answers' eval 'curl -sS "$url" 2>/dev/null | grep -i "<title>"'
[ ! -e "$work/bin/jupyter-notebook" ] || curl -sS "${url%token=*}" | grep -q 'who are you' || fail 'it needs no token'
notebook=$(edl ps --json | jq -r '.jobs[] | select(.state == "running") | .name' | grep notebook) || fail "there is no notebook: $(edl ps)"

# Ctrl-C ends what runs in the terminals: the job of the notebook goes on
for terminal in $terminals; do
    kill -INT "$terminal" 2>/dev/null || true
done
for terminal in $terminals; do
    wait "$terminal" || true
done
job_is "$notebook" running || fail "Ctrl-C ended the notebook: $(edl show "$notebook")"
edl kill "$notebook" >/dev/null
! edl wait "$notebook" --timeout 300 >/dev/null || fail 'it was not killed'
cluster_stop
