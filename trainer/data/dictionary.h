/* SPDX-License-Identifier: Apache-2.0 */
/* dictionary.h - a few short words by number, in order of appearance; borrows their bytes */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DICTIONARY_MAX 256

struct dictionary {
    struct {
        const char *at;
        size_t size;
    } words[DICTIONARY_MAX];
    uint32_t n;
};

/* dictionary_add - the number of a word, a new one if it was not there; the bytes must outlive the
 * dictionary. Errors: -EINVAL for an empty word, -E2BIG for one word too many. */
int dictionary_add(struct dictionary *dictionary, const char *word, size_t size, uint32_t *ret);

/* dictionary_ranks - by number, the place that the word has among all of them sorted as bytes */
void dictionary_ranks(const struct dictionary *dictionary, uint32_t ret[DICTIONARY_MAX]);
