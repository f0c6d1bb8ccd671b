#!/usr/bin/env bash
# docs/your-program.md: each of its blocks is typed in one folder beside a cluster, and says what the page shows; those of PyTorch and
# of MPI where these are.
# Runs at night, and for docs/ mpi/: PyTorch begins eight times
# Takes 60 s: PyTorch begins eight times
. "$EDL_SOURCE_DIR/tests/lib/cluster.sh"
. "$EDL_SOURCE_DIR/tests/lib/blocks.sh"

machines=$work
folder=$work/folder
mkdir "$folder" "$work/bin"
ln -s "${python:-/nowhere}" "$work/bin/python3" # a person has no other one, as a machine for builds may
export PATH=$work/bin:$PATH
cp -r "$EDL_SOURCE_DIR/python/edl" "$folder/edl" # in the place of the package python3-edl
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
cluster_start --nodes 3 --cpu 3000m
type_in() { # MACHINE FILE: in a shell of its own, as a person does
    (cd "$folder" && timeout 300 bash -e "$2")
}
blocks docs/your-program.md
leave_out() { # MACHINE WHY
    echo "left out: $2"
    grep -lx "$1" "$work"/blocks/*.machine | while read -r block; do rm "${block%.machine}".*; done
}
[ "$(find "$work/blocks" -name '*.sh' | wc -l)" = 6 ] || fail "the page has other blocks: $(ls "$work/blocks")"
"${python:-false}" -c 'import torch.distributed' 2>/dev/null || leave_out torch 'there is no PyTorch (python3-torch)'
command -v mpirun.openmpi >/dev/null || leave_out mpi 'there is no Open MPI (openmpi-bin)'
run_blocks
cluster_stop
