/* SPDX-License-Identifier: Apache-2.0 */
/* word_list.c - see word_list.h */
#include "client/word_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"

void word_list_take(struct word_list *list, char *take_word)
{
    if (list->n + 1 >= list->room) {
        list->room = MAX_OF(2 * list->room, (size_t)16);
        list->words = xreallocarray(list->words, list->room, sizeof *list->words);
    }
    list->words[list->n++] = take_word;
    list->words[list->n] = NULL;
}

/* read_word - into ret, which has room for all that is left; the length that was read, 0: the quote
 * is not shut */
static size_t read_word(const char *text, size_t size, char *ret)
{
    size_t at = 0, n = 0;
    char quote = '\0';

    for (; at < size && (quote != '\0' || (text[at] != ' ' && text[at] != '\t')); at++) {
        char c = text[at];

        if (quote != '\0' ? c == quote : c == '\'' || c == '"')
            quote = quote != '\0' ? '\0' : c;
        else if (c == '\\' && quote != '\'' && at + 1 < size)
            ret[n++] = text[++at];
        else
            ret[n++] = c;
    }
    ret[n] = '\0';
    return quote != '\0' ? 0 : at;
}

int word_list_split(struct word_list *list, const char *line, size_t size)
{
    size_t at = 0;

    for (;;) {
        char *word;
        size_t n;

        while (at < size && (line[at] == ' ' || line[at] == '\t'))
            at++;
        if (at == size || line[at] == '#')
            return 0;
        word = xcalloc(1, size - at + 1);
        n = read_word(line + at, size - at, word);
        if (n == 0) {
            free(word);
            return -EINVAL;
        }
        word_list_take(list, word);
        at += n;
    }
}

void word_list_clear(struct word_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->words[i]);
    free(list->words);
    *list = (struct word_list){ 0 };
}
