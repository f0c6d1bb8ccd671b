/* SPDX-License-Identifier: Apache-2.0 */
/* message.h - what an operator looks up in the journal, by number: units/edl-*.catalog explains
 * each
 *
 * A number is for good: a message with another meaning gets another one. The names of the
 * scheduler's are those of its events; the agent's begin with "agent-". */
#pragma once

enum message {
    MESSAGE_NONE,
    MESSAGE_PROCESS_RUNNING,
    MESSAGE_PROCESS_EXITED,
    MESSAGE_PROCESS_LOST,
    MESSAGE_PROCESS_STUCK,
    MESSAGE_PROCESS_GIVEN_UP,
    MESSAGE_PROCESS_KEPT,
    MESSAGE_JOB_FAILED,
    MESSAGE_JOB_KILLED,
    MESSAGE_NODE_JOINED,
    MESSAGE_NODE_DISCONNECTED,
    MESSAGE_NODE_LOST,
    MESSAGE_NODE_RETURNED,
    MESSAGE_NODE_QUARANTINED,
    MESSAGE_NODE_DRAIN_WAITS,
    MESSAGE_STATE_RESTORED,
    MESSAGE_STATE_READ_ONLY,
    MESSAGE_STATE_WRITABLE,
    MESSAGE_STATE_TURN_LOST,
    MESSAGE_SCHEDULER_STALLED,
    MESSAGE_ACCESS_DENIED,
    MESSAGE_AUDIT,
    MESSAGE_AUTHORITY_ENDS,
    MESSAGE_CERTIFICATE_NOT_RENEWED,
    MESSAGE_RELOAD_REFUSED,
    MESSAGE_RELOAD_NEEDS_RESTART,
    MESSAGE_AGENT_PROCESS_RUNNING,
    MESSAGE_AGENT_PROCESS_EXITED,
    MESSAGE_AGENT_PROCESS_KILLED,
    MESSAGE_AGENT_PROCESS_NOT_STARTED,
    MESSAGE_AGENT_PROCESS_ADOPTED,
    MESSAGE_AGENT_SCHEDULER_UNREACHABLE,
    MESSAGE_AGENT_SCHEDULER_BACK,
    MESSAGE_AGENT_LEASE_OVER,
    MESSAGE_AGENT_GPU_STRANGER,
    MESSAGE_AGENT_LIMITS_NOT_HELD,
    MESSAGE_AGENT_RELOAD_REFUSED,
    MESSAGE_AGENT_RELOAD_NEEDS_RESTART,
    MESSAGE_AGENT_SET_ASIDE,
    _MESSAGE_MAX
};

/* message_id - 32 hexadecimal digits, static; NULL for MESSAGE_NONE */
const char *message_id(enum message message);

/* message_name - static; NULL for MESSAGE_NONE */
const char *message_name(enum message message);

/* message_by_name - MESSAGE_NONE for what has no number */
enum message message_by_name(const char *name);
