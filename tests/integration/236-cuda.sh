#!/usr/bin/env bash
# The CUDA back-end as a library: it needs of CUDA only cuBLAS and the driver, exports its table and nothing else, and where there is
# no GPU it says which call found none; where there is one, a model trained on it is about as good as the CPU's.
set -eu
: "${EDL_BUILD_DIR:?the folder of the built programs}"
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/fail.sh"
library=$EDL_BUILD_DIR/kernels/libedl-kernels-cuda.so
[ -e "$library" ] || {
    echo 'the CUDA back-end was not built: configure found no nvcc (--with-cuda=DIR)'
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exported=$(nm -D --defined-only "$library" | cut -d ' ' -f 3)
[ "$exported" = edl_kernels_backend ] || fail "it exports: $exported"
needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in libcudart libcuda.so libnvidia; do
    [[ $needed != *$name* ]] || fail "it needs $name: $needed"
done
for program in edl-trainer edl-pserver edl edl-agent; do
    needed=$(readelf -d "$EDL_BUILD_DIR/$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    [[ $needed != *libcu[db]* ]] || fail "$program needs $needed"
done

export EDL_KERNELS_DIR=$EDL_BUILD_DIR/kernels
"$EDL_BUILD_DIR/edl" corpus build --out "$work/corpus" --synthetic 200 --samples 20000 --chunk-records 500 2>"$work/log"
train() { # DEVICE
    "$EDL_BUILD_DIR/edl-trainer" --local "$work/corpus" --learning-rate 0.05 --device "$1" >"$work/$1.out" 2>"$work/$1.err"
}
cost() { sed -n 's/^Test after training, Cost \([0-9.]*\),.*/\1/p' "$work/$1.out"; }
status=0
train cuda || status=$?
if [ $status != 0 ]; then
    [ $status = 1 ] || fail "exit status $status: $(cat "$work/cuda.err")"
    grep -qE 'no GPU can be used: (the NVIDIA driver is not there \(libcuda\.so\.1|cuInit: |cuDeviceGetCount: ).*--device cpu' "$work/cuda.err" ||
        fail "it does not say what is missing: $(cat "$work/cuda.err")"
    echo "nothing can be trained on a GPU here: $(sed 's/.*no GPU can be used: //; s/; .*//' "$work/cuda.err")"
    exit 77
fi
train cpu
awk "BEGIN { exit !($(cost cuda) > 0.98 * $(cost cpu) && $(cost cuda) < 1.02 * $(cost cpu)) }" || fail "cost $(cost cuda), on the CPU $(cost cpu)"
