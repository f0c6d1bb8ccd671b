/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.h - what a program wrote last before it failed */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LAST_WORDS_SIZE 216

/* last_words - "its last words: " and the last line of the log with a letter or a digit in it, or
 * "its error: " and a line shortly before that which tells an error. Its beginning if it is longer
 * than fits: UTF-8 without control characters. false: there is none. Reads the last kilobytes of
 * the file and leaves the descriptor as it is. */
bool last_words(int log_fd, char *buffer, size_t size);

/* last_words_remedy - what to do about them, where they tell of a variable that a program of a
 * fixed world expects and that this one was not told; has_world: it was. NULL: nothing is known of
 * them. */
const char *last_words_remedy(const char *words, bool has_world);
