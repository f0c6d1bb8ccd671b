/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.c - "did you mean ...?": the known word closest to a mistyped one
 *
 * Optimal string alignment over three rolling rows. `-`, `_` and letter case are the usual mistakes
 * in job documents (min_instance for min-instance), so they count as equal. */
#include "shared/nearest.h"

#include <ctype.h>
#include <string.h>

#include "shared/macro.h"

#define WORD_MAX 63

static int fold(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

unsigned int nearest_distance(const char *a, const char *b)
{
    unsigned int rows[3][WORD_MAX + 1];
    size_t n = MIN_OF(strlen(a), (size_t)WORD_MAX), m = MIN_OF(strlen(b), (size_t)WORD_MAX);

    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned int)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned int *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];

        row[0] = (unsigned int)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned int differs = fold(a[i - 1]) != fold(b[j - 1]);
            unsigned int best = up[j - 1] + differs;

            best = MIN_OF(best, MIN_OF(up[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
                fold(a[i - 2]) == fold(b[j - 1]))
                best = MIN_OF(best, up2[j - 2] + 1);
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *nearest_word(const char *word, const char *const *known, size_t n)
{
    const char *nearest = NULL;
    unsigned int allowed = (unsigned int)MAX_OF(strlen(word) / 3, (size_t)1);
    unsigned int best = allowed + 1;

    for (size_t i = 0; i < n; i++) {
        unsigned int distance;

        if (known[i] == NULL)
            continue;
        distance = nearest_distance(word, known[i]);
        if (distance < best) {
            best = distance;
            nearest = known[i];
        }
    }
    return nearest;
}
