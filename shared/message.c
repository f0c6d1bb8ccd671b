/* SPDX-License-Identifier: Apache-2.0 */
/* message.c - numbers and names of messages, as a table */
#include "shared/message.h"

#include <stddef.h>

#include "shared/macro.h"

static const struct {
    const char *name;
    const char *id;
} messages[_MESSAGE_MAX] = {
    [MESSAGE_PROCESS_RUNNING] = { "process-running", "d2d1b3003ae40b36468c62d20d6c23cc" },
    [MESSAGE_PROCESS_EXITED] = { "process-exited", "1dcc622323b392ec7273806d80c6edba" },
    [MESSAGE_PROCESS_LOST] = { "process-lost", "e8d5bd710d6bc1ee1d40837796775965" },
    [MESSAGE_PROCESS_STUCK] = { "process-stuck", "7158e33ed8eae559cfff11aa224d6b1a" },
    [MESSAGE_PROCESS_GIVEN_UP] = { "process-given-up", "d1233ce287b93f522051391123cfc351" },
    [MESSAGE_PROCESS_KEPT] = { "process-kept", "5fa8e1ee57b451d0496a779394a9bd6d" },
    [MESSAGE_JOB_FAILED] = { "job-failed", "0341e93c64e21313976373cea259e732" },
    [MESSAGE_JOB_KILLED] = { "job-killed", "504438c3f9431879ed6a9b5a4a5cb616" },
    [MESSAGE_NODE_JOINED] = { "node-joined", "bdf6d61ec28a3f9ded77e21aaf33f891" },
    [MESSAGE_NODE_DISCONNECTED] = { "node-disconnected", "b40f6881bc14ee2e96274d71af1bd2ff" },
    [MESSAGE_NODE_LOST] = { "node-lost", "7725d2dbafd1d13c2742a217a6921053" },
    [MESSAGE_NODE_RETURNED] = { "node-returned", "f45fa5b9788ccbdb59b0b3f33d04472b" },
    [MESSAGE_NODE_QUARANTINED] = { "node-quarantined", "58adc69046a3597264ab22cff893511d" },
    [MESSAGE_NODE_DRAIN_WAITS] = { "node-drain-waits", "156d7fc3d093b73ab94f27a1bbca5978" },
    [MESSAGE_STATE_RESTORED] = { "state-restored", "e44dec4003f7f8fac7edbdb572ce1d25" },
    [MESSAGE_STATE_READ_ONLY] = { "state-read-only", "736813a17a088e13869ca176cea2e079" },
    [MESSAGE_STATE_WRITABLE] = { "state-writable", "77416917d023f703a8ad3ed8f0f20095" },
    [MESSAGE_STATE_TURN_LOST] = { "state-turn-lost", "ec362cf6e181bac3e11bd4287ec91b8c" },
    [MESSAGE_SCHEDULER_STALLED] = { "scheduler-stalled", "9ec3c76cac7f4bdaa4a0bcb1d2c48d28" },
    [MESSAGE_ACCESS_DENIED] = { "access-denied", "6dfebfd9db3b9470ad072bf58830d4e0" },
    [MESSAGE_AUDIT] = { "audit", "799ef9a69d10603a896e6f92ca3c2bd5" },
    [MESSAGE_AUTHORITY_ENDS] = { "authority-ends", "79c9b05171983ccef98710496d2e5a07" },
    [MESSAGE_CERTIFICATE_NOT_RENEWED] = { "certificate-not-renewed",
                                          "52934575dc7704dcd4bdccf97bc04b4f" },
    [MESSAGE_RELOAD_REFUSED] = { "reload-refused", "aab949142cf50e785543f189bd4b43e2" },
    [MESSAGE_RELOAD_NEEDS_RESTART] = { "reload-needs-restart", "771a0ae5b0fc576edca54e03b0d1d93b" },
    [MESSAGE_AGENT_PROCESS_RUNNING] = { "agent-process-running",
                                        "62cd04478053d040cb9baa6a8d12cf88" },
    [MESSAGE_AGENT_PROCESS_EXITED] = { "agent-process-exited", "391f76b6c533b8ee07decb1f30246812" },
    [MESSAGE_AGENT_PROCESS_KILLED] = { "agent-process-killed", "a188a304977cb75e4bf1fcebb3cb5fb4" },
    [MESSAGE_AGENT_PROCESS_NOT_STARTED] = { "agent-process-not-started",
                                            "2ac71d74f0cadd70b596c2b0466d759d" },
    [MESSAGE_AGENT_PROCESS_ADOPTED] = { "agent-process-adopted",
                                        "c6d1135e1673891024202eb5c6f6cc5f" },
    [MESSAGE_AGENT_SCHEDULER_UNREACHABLE] = { "agent-scheduler-unreachable",
                                              "15f004ef90926cfe4421a94c822a4520" },
    [MESSAGE_AGENT_SCHEDULER_BACK] = { "agent-scheduler-back", "ec0b71948780ade31b955614b3cfb728" },
    [MESSAGE_AGENT_LEASE_OVER] = { "agent-lease-over", "dc4d980bb550fbfedb65083d804dc433" },
    [MESSAGE_AGENT_GPU_STRANGER] = { "agent-gpu-stranger", "041142181052d6f42597b1d7c80827f9" },
    [MESSAGE_AGENT_LIMITS_NOT_HELD] = { "agent-limits-not-held",
                                        "1aa382ecf8630522b9bc5307af30a256" },
    [MESSAGE_AGENT_RELOAD_REFUSED] = { "agent-reload-refused", "34ac4024c0051164862cfb94c3c70a3d" },
    [MESSAGE_AGENT_RELOAD_NEEDS_RESTART] = { "agent-reload-needs-restart",
                                             "8cee37b352bc9e40c49a66445e3241fc" },
    [MESSAGE_AGENT_SET_ASIDE] = { "agent-set-aside", "6c19d6bb2f524c84a7df5d69fc24156a" },
};

const char *message_id(enum message message)
{
    return (unsigned)message < _MESSAGE_MAX ? messages[message].id : NULL;
}

const char *message_name(enum message message)
{
    return (unsigned)message < _MESSAGE_MAX ? messages[message].name : NULL;
}

enum message message_by_name(const char *name)
{
    for (unsigned i = MESSAGE_NONE + 1; i < _MESSAGE_MAX; i++)
        if (streq(messages[i].name, name))
            return (enum message)i;
    return MESSAGE_NONE;
}
