#!/usr/bin/env bash
# A shell beside a process, typed in a terminal (tmux): redraw, resize, Ctrl-C, Ctrl-Z, Ctrl-D, UTF-8, ~. as in ssh; the terminal is
# as it was on every way out; and a shell that is a job of its own, which ends with it
# Takes 15 s: a person types
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
command -v tmux >/dev/null || {
    echo 'no terminal to type in: tmux is missing'
    exit 77
}
cluster_start --nodes 1
export HOME=$work LC_ALL=C.UTF-8
screen() { tmux -S "$work/tmux" -f /dev/null "$@"; }
# shellcheck disable=SC2154
trap 'status=$?; set +e; screen kill-server 2>/dev/null; (exit $status); on_exit' EXIT
edl submit --name j -- sleep 100000 >/dev/null 2>&1
await 120 'it runs' at_least j trainer 1

# PS1 tells which shell is there; the screen is 100 columns wide, so no line of the test is folded
screen -u new-session -d -x 100 -y 30 "env PS1='here> ' bash --norc --noprofile"
on_fail() { screen capture-pane -p; tail -n 5 "$work"/state/*.log; }
keys() { screen send-keys "$@"; }
shows() { screen capture-pane -p | grep -qe "$1"; }
sees() { await 120 "the screen shows $1" shows "$1"; }
prompts() { screen capture-pane -p | grep -v '^$' | tail -n 1 | grep -qx "$1>"; }
# at a prompt: what is typed before the shell has its terminal again is its own affair
type_line() { await 120 "a prompt, and no $(screen capture-pane -p)" prompts '.*[a-z]' && keys -l "$1" && keys Enter; }
type_in() { keys -l "$1" && keys Enter; }
inside="edl exec -it j -- env PS1='inside> ' bash --norc --noprofile"
enter() {
    type_line "clear; stty -g >$work/before; $inside; echo status=\$?"
    sees '^inside>'
}
left() { # STATUS WHAT: the shell here has the terminal again, and as it was
    sees "^status=$1"
    type_line "clear; stty -g >$work/after; echo written"
    sees '^written'
    cmp "$work/before" "$work/after" || fail "$2 leaves the terminal as $(cat "$work/after")"
}

sees '^here>'
enter
type_line 'clear; stty size; tty; echo ünïcödé ✓ 漢字'
sees '^30 100$'
sees '^/dev/pts/'
sees '^ünïcödé ✓ 漢字$'
# a program that draws
type_line "clear; printf '\033[2J\033[5;7Hat its place\033[9;1H'"
await 120 'the drawing is at its place' eval '[ "$(screen capture-pane -p | sed -n 5p)" = "      at its place" ]'
# sizes, while something reads
type_line "clear; cat >$work/typed; echo done reading"
await 120 'it reads' test -e "$work/typed"
for size in '120 40' '90 20' '100 30'; do
    # shellcheck disable=SC2086
    screen resize-window -x ${size% *} -y ${size#* }
    type_in "at $size"
done
keys C-d
sees '^done reading'
printf 'at %s\n' '120 40' '90 20' '100 30' | cmp - "$work/typed" || fail "typed beside resizes: $(cat "$work/typed")"
screen resize-window -x 110 -y 33
type_line 'clear; until [ "$(stty size)" = "33 110" ]; do sleep 0.1; done; echo as wide'
sees '^as wide'
screen resize-window -x 100 -y 30
# keys that are signals there
type_line 'clear; sleep 1811; echo slept $?'
await 120 'it sleeps' pgrep -f '^sleep 1811$'
keys C-c
sees '^\^C'
sees '^inside>'
type_line 'clear; sleep 1812'
await 120 'it sleeps' pgrep -f '^sleep 1812$'
keys C-z
sees 'Stopped'
type_line 'clear; kill %1; wait; echo killed'
sees '^killed'
# bytes of any kind
type_line "clear; printf '\\000\\001\\377\\376'; echo; echo after"
sees '^after'
type_line 'clear; exit 5'
left 5 'exit'

enter
keys C-d
left 0 'Ctrl-D'
enter
type_line 'clear; echo ~.'
sees '^~\.'
keys -l '~?'
sees '^~~  sends one ~'
keys Enter
keys -l '~.'
sees 'the session was left; the job goes on'
left 255 '~.'
[ "$(job_state j)" = running ] || fail 'the job does not go on'

# however the command is ended
for signal in TERM HUP SEGV; do
    enter
    kill -$signal "$(pgrep -f 'edl exec -it j')"
    case $signal in TERM) left 143 $signal ;; HUP) left 129 $signal ;; *) left 139 $signal ;; esac
done
# the session's end is told on a screen that is whole
enter
api DELETE "/sessions/$(api GET /sessions | jq -rn 'input | .sessions[0].session')" >/dev/null
sees '^edl: '
left 255 'the end of the session'

# a terminal of no size
type_line 'clear; stty cols 0 rows 0; edl exec -t j -- stty size; stty cols 100 rows 30'
sees '^24 80'
# the login shell
type_line 'clear; edl shell j; echo status=$?'
await 120 'it has a session' eval 'api GET /sessions | holds ".sessions[0].kind == \"shell\""'
type_in 'echo "<$0>"; exit 6'
sees '^<-'
sees '^status=6'

# what another one's program writes does not steer the reader's terminal; a pipe gets its bytes
edl submit --name loud -- sh -c 'printf "\033]2;stolen\007 \033[31mred\033[0m\n"; exec sleep 100000' >/dev/null 2>&1
await 120 'it has written' eval 'edl logs loud | grep -q red'
title=$(screen display-message -p '#{pane_title}')
type_line 'clear; edl attach loud -n; echo status=$?'
sees '^\\x1b\]2;stolen\\x07 red$'
keys C-c
sees '^.*status=130'
[ "$(screen display-message -p '#{pane_title}')" = "$title" ] || fail 'the title was stolen'
type_line "clear; edl attach loud -n >$work/raw; echo status=\$?"
await 120 'it is in a file' grep -q red "$work/raw"
keys C-c
sees '^.*status=130'
printf '\033]2;stolen\007 \033[31mred\033[0m\n' | cmp - "$work/raw" || fail "a file gets $(cat -v "$work/raw")"
edl kill loud >/dev/null

# a job of its own: it ends with its shell
type_line "clear; edl shell --cpu 0.1 --memory 64Mi; echo status=\$?"
await 120 'its job has a session' eval 'api GET /sessions | holds ".sessions[0].job | startswith(\"shell-\")"'
type_in 'echo "in <$EDL_JOB>"; exit 7'
sees '^in <shell-'
sees '^status=7'
await 120 'its job is over' eval 'api GET /jobs | holds "[.jobs[] | select(.name | startswith(\"shell-\")) | .state] | inside([\"killed\", \"succeeded\"])"'

# without a terminal it reads a script; and it is entered the moment it runs
for n in 1 2 3; do
    status=0
    echo "exit $n" | timeout 300 edl shell --cpu 0.1 --memory 64Mi >/dev/null 2>"$work/err" || status=$?
    [ $status = $n ] || fail "a script ends with $status: $(cat "$work/err")"
done
# nobody is left behind there
edl kill j >/dev/null
cluster_stop
