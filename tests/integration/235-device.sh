#!/usr/bin/env bash
# edl-trainer --device: what it computes with, what it says of it, and that the choice changes no bit of a model. In place of a GPU
# stands tests/lib/fake_device.c, whose memory is not the program's and which computes as the CPU does.
# Takes 19 s: six trainings one after another, and six that are refused or fail
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
fake=$EDL_BUILD_DIR/tests/lib
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CUDA_VISIBLE_DEVICES EDL_DEVICE EDL_KERNELS_DIR EDL_TEST_DEVICE

"$EDL_BUILD_DIR/edl" corpus build --out "$work/corpus" --synthetic 200 --samples 6000 --chunk-records 500 2>"$work/log"
train() { # NAME [VARIABLE=VALUE]... [OPTION VALUE]...
    local name=$1 variables=()
    shift
    while [ $# -gt 0 ] && [[ $1 == *=* ]]; do
        variables+=("$1")
        shift
    done
    mkdir "$work/$name"
    env "${variables[@]}" "$EDL_BUILD_DIR/edl-trainer" --local "$work/corpus" --learning-rate 0.05 --output-dir "$work/$name" "$@" \
        >"$work/$name.out" 2>"$work/$name.err"
}
refused() { # NAME STATUS TEXT, of a train that came before
    [ "$status" = "$2" ] || fail "$1: exit status $status: $(cat "$work/$1.err")"
    grep -qF -e "$3" "$work/$1.err" || fail "$1: \"$3\" is not in: $(cat "$work/$1.err")"
    [ ! -e "$work/$1/model" ] || fail "$1: there is a model"
}
same_model() { # NAME: as the CPU's
    diff -r "$work/cpu/model" "$work/$1/model" || fail "$1: another model"
    diff <(grep -v 'samples/s\|saved' "$work/cpu.out") <(grep -v 'samples/s\|saved' "$work/$1.out") || fail "$1: other costs"
}

train cpu --device cpu || fail "cpu: $(cat "$work/cpu.err")"
[ ! -s "$work/cpu.err" ] || fail "cpu says: $(cat "$work/cpu.err")"
grep -q '^Test after training, Cost [0-9.]*,' "$work/cpu.out" || fail "cpu: $(cat "$work/cpu.out")"

# chosen by the option and by the environment, the option before it
train option "EDL_KERNELS_DIR=$fake" EDL_DEVICE=cpu --device cuda || fail "option: $(cat "$work/option.err")"
same_model option
grep -q 'computing on cuda: fake device' "$work/option.err" || fail "option says: $(cat "$work/option.err")"
train variable "EDL_KERNELS_DIR=$fake" EDL_DEVICE=cuda --push-every 1 || fail "variable: $(cat "$work/variable.err")"
same_model variable

# by itself: the GPU that was granted; and where it cannot be used one line, and the CPU
train granted "EDL_KERNELS_DIR=$fake" CUDA_VISIBLE_DEVICES=GPU-1 || fail "granted: $(cat "$work/granted.err")"
grep -q 'computing on cuda' "$work/granted.err" || fail "granted, but: $(cat "$work/granted.err")"
train none "EDL_KERNELS_DIR=$fake" CUDA_VISIBLE_DEVICES= || fail "none: $(cat "$work/none.err")"
[ ! -s "$work/none.err" ] || fail "no GPU was granted, but: $(cat "$work/none.err")"
train fallen "EDL_KERNELS_DIR=$work" CUDA_VISIBLE_DEVICES=0 || fail "fallen: $(cat "$work/fallen.err")"
[ "$(wc -l <"$work/fallen.err")" = 1 ] || fail "not said once: $(cat "$work/fallen.err")"
grep -q 'warning.*the CPU is used: the CUDA back-end is not installed.*apt-get install edl-trainer-cuda' "$work/fallen.err" || fail "fallen says: $(cat "$work/fallen.err")"
for name in granted none fallen; do same_model $name; done

# what was asked for and is not there is an error
status=0; train missing "EDL_KERNELS_DIR=$work" --device cuda || status=$?
refused missing 1 "not installed ($work/libedl-kernels-cuda.so); apt-get install edl-trainer-cuda, or --device cpu"
status=0; train absent "EDL_KERNELS_DIR=$fake" EDL_TEST_DEVICE=absent --device cuda || status=$?
refused absent 1 'no GPU can be used: fakeInit: there is no device'
status=0; train other "EDL_KERNELS_DIR=$fake" EDL_TEST_DEVICE=abi --device cuda || status=$?
refused other 1 'install edl-trainer and edl-trainer-cuda of the same version'
status=0; train word --device gpu || status=$?
refused word 2 '--device is "gpu", not cpu, cuda or auto'

# a device that fails under way: no model, and the reason
status=0; train broken "EDL_KERNELS_DIR=$fake" EDL_TEST_DEVICE=fails --device cuda || status=$?
refused broken 1 'the device (cuda) has failed: it was told to'
status=0; train small "EDL_KERNELS_DIR=$fake" EDL_TEST_DEVICE=small --device cuda --batch 1024 || status=$?
refused small 1 'no memory (cuda) for a batch of 1024'
