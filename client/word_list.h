/* SPDX-License-Identifier: Apache-2.0 */
/* word_list.h - words that are gathered into the argv of a call */
#pragma once

#include <stddef.h>

struct word_list {
    char **words; /* owned, n of them and a NULL */
    size_t n, room;
};

/* word_list_take - one more; the list owns it from now on */
void word_list_take(struct word_list *list, char *take_word);

/* word_list_split - the words of a line as a shell reads them: blanks, quotes and backslashes, and
 * a comment behind a blank and '#'. -EINVAL: a quote is not shut */
int word_list_split(struct word_list *list, const char *line, size_t size);

void word_list_clear(struct word_list *list);
