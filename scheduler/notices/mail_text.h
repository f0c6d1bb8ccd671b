/* SPDX-License-Identifier: Apache-2.0 */
/* mail_text.h - a mail with notices: its headers and its text; pure
 *
 * Names of jobs and users, reasons and errors are other people's words. None of them ends a header
 * or begins another one: each becomes a line of printable characters.
 *
 * Used by: notice_send.c. Tests: tests/unit/test_notice_text.c. */
#pragma once

#include <stdint.h>

struct mail_head {
    const char *from;   /* address */
    const char *to;     /* addresses with ',' between, or names of accounts */
    const char *domain; /* of the latter; "": they stay as they are */
    const char *host;   /* of this machine, in the id */
    const char *id;     /* of the message: the same each time that it is tried */
    uint64_t wall_us;
};

/* mail_text_make - the whole message, lines ended by '\n'. lines: one line of JSON for each notice
 * (notice_json.h). n_more: notices that had no room. The caller's */
char *mail_text_make(const struct mail_head *head, const char *lines, uint32_t n_more);

/* mail_text_subject - of those notices, without control characters; the caller's */
char *mail_text_subject(const char *lines, uint32_t n_more);
