# shellcheck shell=bash
# namespace.sh - runs the script that includes it in a network namespace of its own, with addresses beyond loopback
#
#   . "$EDL_SOURCE_DIR/tests/lib/namespace.sh"
# Afterwards 10.77.0.1 (the scheduler's) and 10.77.0.2 (a node's) are there, and nothing of the machine's network is.
# Skips where such a namespace cannot be made.
if [ "${EDL_TEST_NAMESPACE:-}" != yes ]; then
    if ! unshare -rn ip link set lo up 2>/dev/null; then
        echo "no network namespace can be made here (unshare -rn, ip)"
        exit 77
    fi
    EDL_TEST_NAMESPACE=yes exec unshare -rn "$BASH" "$0" "$@"
fi
ip link set lo up
ip addr add 10.77.0.1/32 dev lo
ip addr add 10.77.0.2/32 dev lo
ip -6 addr add fd77::1/128 dev lo 2>/dev/null || true
