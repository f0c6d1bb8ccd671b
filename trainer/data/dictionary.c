/* SPDX-License-Identifier: Apache-2.0 */
/* dictionary.c - a few short words by number, in order of appearance */
#include "trainer/data/dictionary.h"

#include <errno.h>

#include "shared/macro.h"

int dictionary_add(struct dictionary *dictionary, const char *word, size_t size, uint32_t *ret)
{
    if (size == 0)
        return -EINVAL;
    for (uint32_t i = 0; i < dictionary->n; i++)
        if (dictionary->words[i].size == size && memcmp(dictionary->words[i].at, word, size) == 0) {
            *ret = i;
            return 0;
        }
    if (dictionary->n == DICTIONARY_MAX)
        return -E2BIG;
    dictionary->words[dictionary->n].at = word;
    dictionary->words[dictionary->n].size = size;
    *ret = dictionary->n++;
    return 0;
}

static int compare(const struct dictionary *d, uint32_t a, uint32_t b)
{
    int order = memcmp(d->words[a].at, d->words[b].at, MIN_OF(d->words[a].size, d->words[b].size));

    return order != 0
               ? order
               : (d->words[a].size > d->words[b].size) - (d->words[a].size < d->words[b].size);
}

void dictionary_ranks(const struct dictionary *dictionary, uint32_t ret[DICTIONARY_MAX])
{
    for (uint32_t i = 0; i < dictionary->n; i++) {
        ret[i] = 0;
        for (uint32_t j = 0; j < dictionary->n; j++)
            ret[i] += compare(dictionary, j, i) < 0;
    }
}
