# shellcheck shell=bash
# ports.sh - runs the script that includes it with ports that nobody else of this machine takes meanwhile
#
#   . "$EDL_SOURCE_DIR/tests/lib/ports.sh"     before all that begins something
# $port is the first of 500, of which twenty are free. The claim is that of `edl dev` (client/dev_ports.c): an abstract Unix socket. The script
# and what it starts have it as descriptor 60, so the claim ends with the last of them.
if [ -z "${EDL_TEST_PORT:-}" ]; then
    exec "$(command -v /usr/bin/python3 || command -v python3)" -c '
import os, socket, sys
def is_free(port):
    try:
        with socket.socket() as s:
            s.bind(("127.0.0.1", port))
        return True
    except OSError:
        return False
for first in range(32000, 20999, -500):
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind("\0edl-dev-ports-%d" % first)
    except OSError:
        continue
    if all(map(is_free, range(first, first + 20))):
        break
else:
    sys.exit("FAIL: others have all ports from 21000 to 32499")
os.dup2(claim.fileno(), 60)
os.environ["EDL_TEST_PORT"] = str(first)
os.execv(sys.argv[1], sys.argv[1:])' "$BASH" "$0" "$@"
fi
# shellcheck disable=SC2034
port=$EDL_TEST_PORT
