/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - how a failure is told to a person: the error, its place, and the remedy */
#pragma once

struct edl_error;
struct http_answer;

/* report_error - "edl: text", the pointer, "try: remedy" on stderr; returns the exit status for it
 */
int report_error(const struct edl_error *error);

/* report_error_each - the same with lines of their own behind the text; NULL: none */
int report_error_each(const struct edl_error *error, const char *each);

/* report_answer - as report_error for an answer that is not a success; every entry of errors[] is
 * printed */
int report_answer(const struct http_answer *answer);

/* report_answer_on - the same of a document that was sent: where it is wrong its file is named
 * file: NULL for what no file held; "-" is standard input */
int report_answer_on(const struct http_answer *answer, const char *file);

/* report_note - one line on stderr that is no failure */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
