#!/usr/bin/env bash
# Distillation in C with teachers of Python: the program of edl(3) finds its line; another one counts 49 tasks, 194 samples and 25 batches
# in order, 300 times, while teachers are killed, stand still, go and come. A wrong secret and a wrong shape are told.
# Takes 9 s: builds and installs a library, and starts seven teachers
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/python.sh"
"$python" -c 'import numpy' 2>/dev/null || {
    echo 'there is no numpy (python3-numpy)'
    exit 77
}
make -s -C "$EDL_BUILD_DIR" install-edllibPROGRAMS install-edlincludeHEADERS install-nodist_pkgconfigDATA install-data-hook DESTDIR="$work/root" >"$work/install.log" 2>&1 ||
    fail "$(cat "$work/install.log")"
library=$(find "$work/root" -name 'libedl.so.0')
PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR=$work/root
flags=$(pkg-config --cflags --libs edl)
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR

# as the manual prints it; the example beside it is the same
sed -n '/^\.\\" distill\.c$/,/^\.fi/p' "$EDL_SOURCE_DIR/docs/man/edl.3" | sed '1,2d;$d; s/\\-/-/g; s/\\e/\\/g; s/^\\&//' >"$work/page.c"
sed '1,/^ \* cc distill/d' "$EDL_SOURCE_DIR/examples/distill.c" | diff - "$work/page.c" || fail 'edl(3) has another program than examples/distill.c'
# shellcheck disable=SC2086
${CC:-cc} -Wall -Wextra -Werror "$work/page.c" $flags -o "$work/distill"

cd "$work"
cat >taught.py <<'END'
def line(fields):
    return {"p": fields["x"] * 2 + 1}

line.feeds = [{"name": "x", "type": "float32", "shape": []}]
line.fetches = ["p"]

def image(fields):
    return {"p": fields["x"].sum(axis=1)}

image.feeds = [{"name": "x", "type": "float32", "shape": [28]}]
END
exec 3>&2
on_fail() { tail -n 20 "$work"/*.said; } >&3
trap 'kill -KILL ${teachers[@]+"${teachers[@]}"} ${student:-} 2>/dev/null || true; rm -rf "$work"' EXIT
declare -A teachers
listens() { grep -q listening "teacher.$1.said"; }
teach() { # PORT FUNCTION: 0 for a free port, which $port is
    : >"teacher.$1.said"
    "$python" -m edl.teach "taught:$2" --port "$1" --max-batch 16 2>>"teacher.$1.said" &
    local pid=$!
    await 120 'a teacher listens' while_runs $pid listens "$1"
    port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\),.*/\1/p' "teacher.$1.said")
    teachers[$port]=$pid
}
end() { # SIGNAL PORT
    kill -"$1" "${teachers[$2]}"
    wait "${teachers[$2]}" 2>/dev/null || true
}
teach 0 line
one=$port
teach 0 line
two=$port
found=$(LD_LIBRARY_PATH=$(dirname "$library") timeout 300 ./distill "127.0.0.1:$one,127.0.0.1:$two") || fail 'it ends with an error'
[ "$found" = '2.000 1.000' ] || fail "it finds the line $found"

# three hundred epochs, at least; the last of three teachers joins later
three=$("$python" -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
mkfifo lines
timeout 600 "$EDL_BUILD_DIR/tests/lib/distill_run" "127.0.0.1:$one,127.0.0.1:$two,127.0.0.1:$three" 300 >lines 2>student.said &
student=$!
ports=("$one" "$two" "$three")
still=''
EDL_SEED=${EDL_SEED:-7}
echo "EDL_SEED=$EDL_SEED"
RANDOM=$EDL_SEED
while read -r -t 300 word n rest; do
    [ "$word" = epoch ] || break
    if [ -n "$still" ] && [ $((n % 100)) = 15 ]; then
        kill -CONT "$still"
        still=''
    fi
    case $((n % 100)) in
    1) [ "$n" != 1 ] || teach "$three" line ;;
    10)
        still=${teachers[${ports[RANDOM % 3]}]}
        kill -STOP "$still"
        ;;
    30)
        which=${ports[RANDOM % 3]}
        end "$([ $((n % 200)) = 30 ] && echo KILL || echo TERM)" "$which"
        teach "$which" line
        ;;
    esac
done <lines
[ "$word $n ${rest%% *}" = 'answers 14700 repeats' ] || fail "it counts $word $n $rest: $(cat student.said)"
wait "$student" || fail "the student ended with $?"
echo "$word $n $rest"

# what is wrong is told on the side of the student
teach 0 image
! timeout 300 "$EDL_BUILD_DIR/tests/lib/distill_run" "127.0.0.1:$port" 1 2>told >/dev/null || fail 'shapes that do not fit were taken'
grep -qF "teacher 127.0.0.1:$port: x has the shape () for each sample, and this teacher wants (28,)" told || fail "$(cat told)"
printf '%064d\n' 7 >secret
EDL_TEACHER_SECRET_FILE=$work/secret "$EDL_BUILD_DIR/tests/lib/distill_run" "127.0.0.1:$one" 1 2>refused &
student=$!
await 120 'the secret is told to be wrong' while_runs $student grep -q 'the teacher does not know the secret; trying again' refused
kill "$student"
wait "$student" 2>/dev/null || true
student=''
for port in "${!teachers[@]}"; do end TERM "$port"; done
teachers=()
