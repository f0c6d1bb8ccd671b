#!/usr/bin/env bash
# edl.distill and edl.teach without a cluster: frames, histories, the balance under a virtual clock, and readers whose teachers are killed, stopped and broken.
# Takes 30 s: three hundred epochs, in which teachers start anew a dozen times
. "${EDL_SOURCE_DIR:?the checkout}/tests/lib/python.sh"
"$python" -c 'import numpy' 2>/dev/null || {
    echo 'there is no numpy (python3-numpy)'
    exit 77
}
cd "$EDL_SOURCE_DIR/python"
"$python" -W error -m unittest tests/test_distill.py tests/test_distill_balance.py tests/test_distill_dispatch.py
