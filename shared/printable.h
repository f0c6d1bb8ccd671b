/* SPDX-License-Identifier: Apache-2.0 */
/* printable.h - texts of other people's making that are to be shown
 *
 * Control characters are C0, DEL, C1, and those of Unicode that turn text round, hide it or end a
 * line. One of them ends a line early or steers the reader's terminal: a line that nobody wrote, a
 * screen that lies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* printable_is - whether text has no control character, line ends included */
bool printable_is(const char *text);

/* printable_is_utf8 - whether each character is whole, in its shortest form, and no surrogate */
bool printable_is_utf8(const char *text);

/* printable_mask - every byte of a control character becomes '?', but for those named in `keep`
 * ("\n\t", or ""); in place, size bytes */
void printable_mask(char *text, size_t size, const char *keep);

/* printable_prefix - how many bytes of text fit into `most` without cutting a character of UTF-8 in
 * two: for "%.*s" */
int printable_prefix(const char *text, size_t most);

/* printable_escape - text with control characters as "\n", "\t", "\r", "\x1b" or "\u202e", cut to
 * what fits between two of them; buffer (size at least 1) is always terminated. Returns its length.
 */
size_t printable_escape(const char *text, char *buffer, size_t size);

/* printable_write - the same to a file, but for those named in `keep` */
void printable_write(FILE *out, const char *text, size_t size, const char *keep);
