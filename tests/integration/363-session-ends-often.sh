#!/usr/bin/env bash
# Twenty times each end of a session: see 362-session-ends.sh
# Runs at night, and for agent/session/ scheduler/nodes/: it takes some minutes, for what two rounds mostly show
EDL_ROUNDS=20 exec "$BASH" "$EDL_SOURCE_DIR/tests/integration/362-session-ends.sh"
