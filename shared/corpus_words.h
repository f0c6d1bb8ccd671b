/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_words.h - a stream of UTF-8 text to sentences of word ids, and the dictionary
 *
 * A word is a run of letters and digits with at least one letter, apostrophes inside allowed, in
 * lower case. A sentence ends at `.`, `!` or `?` before white space, at an empty line, and after
 * 100 words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CORPUS_SENTENCE_END UINT32_MAX /* in the id stream, after each sentence */

/* The first three ids until corpus_words_finish renumbers by frequency. */
enum { CORPUS_BEGIN, CORPUS_END, CORPUS_UNKNOWN, CORPUS_MARKERS };

struct corpus_words;

struct corpus_words *corpus_words_new(uint64_t max_words);
struct corpus_words *corpus_words_free(struct corpus_words *words); /* accepts NULL; returns NULL */

/* corpus_words_feed - true when max_words are there */
bool corpus_words_feed(struct corpus_words *words, const uint8_t *bytes, size_t size);

/* corpus_words_end - ends the word and the sentence under way (end of a file) */
void corpus_words_end(struct corpus_words *words);

uint64_t corpus_words_count(const struct corpus_words *words);

/* corpus_words_finish - rarer words become <unk>; ids by falling frequency, <unk> last; returns the
 * vocabulary's size */
uint32_t corpus_words_finish(struct corpus_words *words, uint32_t min_frequency);

/* corpus_words_ids - after finish: <s> word... <e> CORPUS_SENTENCE_END, again and again */
const uint32_t *corpus_words_ids(const struct corpus_words *words, size_t *ret_n);

/* corpus_words_write - after finish: "word id" lines; -errno */
int corpus_words_write(const struct corpus_words *words, FILE *file);
