/* SPDX-License-Identifier: Apache-2.0 */
/* session_note.h - sessions in the audit log: who looked into what, with which command, and how
 * that ended
 *
 * Used by: sessions.c. */
#pragma once

struct session;

/* session_note_begin - a line; behind it a turn is due */
void session_note_begin(struct session *session);

/* session_note_end - likewise, once its cause is known */
void session_note_end(struct session *session);
