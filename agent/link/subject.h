/* SPDX-License-Identifier: Apache-2.0 */
/* subject.h - a process as the subject of a line in the log */
#pragma once

#include "agent/core/process_id.h"
#include "shared/log.h"

/* subject_of - borrows from id */
static inline struct log_subject subject_of(const struct process_id *id, enum message message)
{
    return (struct log_subject){ .message = message,
                                 .job = id->job_id,
                                 .role = id->role,
                                 .index = id->index,
                                 .incarnation = id->incarnation };
}
