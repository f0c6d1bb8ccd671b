/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - entries of the journal with fields: their subject, and their meaning
 *
 * PRIORITY, SYSLOG_IDENTIFIER, MESSAGE, and where there is something to say MESSAGE_ID, EDL_JOB,
 * EDL_ROLE, EDL_INDEX, EDL_INCARNATION, EDL_NODE: `journalctl EDL_JOB=7`, `journalctl -x`. Links
 * with libsystemd, therefore not part of log.h: not every program has it. */
#pragma once

/* journal_open - from now on the log goes there as entries, if stderr is the journal's; what it
 * does not take goes to stderr as before */
void journal_open(void);
