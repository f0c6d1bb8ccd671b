/* SPDX-License-Identifier: Apache-2.0 */
/* last_words.h - what a program wrote last before it failed */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exit_record;
struct log_pump;

#define LAST_WORDS_SIZE 216

/* What a program said of its end: UTF-8 without control characters, the beginning of what is longer
 * than fits. */
struct last_words {
    char text[LAST_WORDS_SIZE];  /* "its last words: " and the last line of the log with a letter or
                                    a digit in it, or "its error: " and the error; "": none */
    char error[LAST_WORDS_SIZE]; /* a line near the end that tells an error; "": none */
    uint64_t offset;             /* where that line, else the last one, begins in the file */
};

/* last_words - of the last lines so many are looked at for an error. Reads the last kilobytes of
 * the file and leaves the descriptor as it is. */
#define LAST_WORDS_LINES 30 /* of a program that failed: libraries say more behind an error */
#define LAST_WORDS_STOPPED_LINES 3 /* of one that was ended: it may have gone on behind one */
void last_words(int log_fd, int lines, struct last_words *ret);

/* last_words_record - into the record of a bad end that has its exit code and its signal: the error
 * and its age, and the reason of a program that failed. Returns what to do about words of a program
 * that expects a variable of a fixed world and was told none (has_world: it was), else NULL */
const char *last_words_record(const struct log_pump *pump, bool has_world, struct exit_record *ret);
