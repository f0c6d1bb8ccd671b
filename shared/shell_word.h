/* SPDX-License-Identifier: Apache-2.0 */
/* shell_word.h - texts as words of a POSIX shell, for scripts and for lines that people copy */
#pragma once

/* shell_quote - text as one word, in single quotes; the caller's to free */
char *shell_quote(const char *text);

/* shell_word - the same, without quotes where a shell reads the word as it stands */
char *shell_word(const char *text);
