/* SPDX-License-Identifier: Apache-2.0 */
/* search_command.c - see search_command.h */
#include "client/search_command.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "client/search_core.h"
#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/nearest.h"

/* What stands at one place of a word. */
enum piece_kind { PIECE_END, PIECE_TEXT, PIECE_BRACE, PIECE_NAME };

struct piece {
    enum piece_kind kind;
    const char *start; /* of a text or a name */
    size_t n;
};

static size_t name_length(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t n = strspn(text, letters);

    return text[0] >= '0' && text[0] <= '9' ? 0 : n;
}

/* name_at - the length of a name, where "{name}" begins; 0: it does not */
static size_t name_at(const char *text)
{
    size_t n = text[0] == '{' ? name_length(text + 1) : 0;

    return n > 0 && text[n + 1] == '}' ? n : 0;
}

/* next_piece - the one at *at, which moves behind it */
static struct piece next_piece(const char **at)
{
    const char *text = *at;
    struct piece piece = { .kind = PIECE_TEXT, .start = text, .n = 1 };
    size_t n = name_at(text);

    if (*text == '\0')
        return (struct piece){ .kind = PIECE_END };
    if (n > 0) {
        *at += n + 2;
        return (struct piece){ .kind = PIECE_NAME, .start = text + 1, .n = n };
    }
    if ((text[0] == '{' && text[1] == '{') || (text[0] == '}' && text[1] == '}')) {
        *at += 2;
        return (struct piece){ .kind = PIECE_BRACE, .start = text, .n = 1 };
    }
    if (text[0] == '$' && text[1] == '{')
        piece.n = 2;
    *at += piece.n;
    return piece;
}

static bool is_word(const struct piece *piece, const char *word)
{
    return piece->n == strlen(word) && memcmp(piece->start, word, piece->n) == 0;
}

static int parameter_of(const struct search_space *space, const struct piece *piece)
{
    for (unsigned int i = 0; i < space->n_parameters; i++)
        if (is_word(piece, space->parameters[i].name))
            return (int)i;
    return -1;
}

static bool is_of_trial(const struct piece *piece)
{
    return is_word(piece, "trial") || is_word(piece, "rung") || is_word(piece, "resource");
}

static int refuse(const struct search_space *space, const struct piece *piece,
                  struct edl_error *error)
{
    _cleanup_free_ char *name = text_format("%.*s", (int)MIN_OF(piece->n, 60), piece->start);
    const char *known[SEARCH_PARAMETERS_MAX], *nearest;

    for (unsigned int i = 0; i < space->n_parameters; i++)
        known[i] = space->parameters[i].name;
    nearest = nearest_word(name, known, space->n_parameters);
    (void)edl_error_set(error, EDL_EBADSPEC, "the command has {%s}, which is no parameter", name);
    if (nearest != NULL)
        return edl_error_remedy(error, "did you mean {%s}? {{%s} is the text itself", nearest,
                                name);
    return edl_error_remedy(error, "add %s to the space's parameters; {{%s} is the text itself",
                            name, name);
}

int search_command_check(const struct search_space *space, char *const *words, uint64_t *ret_unused,
                         struct edl_error *error)
{
    uint64_t unused =
        space->n_parameters < 64 ? (UINT64_C(1) << space->n_parameters) - 1 : UINT64_MAX;

    for (; *words != NULL; words++) {
        const char *at = *words;
        struct piece piece;

        while ((piece = next_piece(&at)).kind != PIECE_END) {
            int parameter = piece.kind == PIECE_NAME ? parameter_of(space, &piece) : -1;

            if (parameter >= 0)
                unused &= ~(UINT64_C(1) << parameter);
            else if (piece.kind == PIECE_NAME && !is_of_trial(&piece))
                return refuse(space, &piece, error);
        }
    }
    *ret_unused = unused;
    return 0;
}

static uint64_t number_of_trial(const struct search_action *action, const struct piece *piece)
{
    if (is_word(piece, "trial"))
        return action->number;
    return is_word(piece, "rung") ? action->rung : action->resource;
}

/* word_of - NULL: it names a parameter that is not active */
static char *word_of(const struct search_space *space, const char *word,
                     const struct search_action *action, const double *values)
{
    char *ret = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&ret, &size);
    bool is_active = true;
    struct piece piece;

    if (out == NULL)
        abort();
    while ((piece = next_piece(&word)).kind != PIECE_END) {
        int parameter = piece.kind == PIECE_NAME ? parameter_of(space, &piece) : -1;

        if (parameter >= 0) {
            _cleanup_free_ char *text =
                search_value_text(&space->parameters[parameter], values[parameter]);

            is_active = is_active && !isnan(values[parameter]);
            (void)fputs(text, out);
        } else if (piece.kind == PIECE_NAME) {
            (void)fprintf(out, "%" PRIu64, number_of_trial(action, &piece));
        } else {
            (void)fwrite(piece.start, 1, piece.n, out);
        }
    }
    (void)fclose(out);
    if (is_active)
        return ret;
    free(ret);
    return NULL;
}

/* "{momentum}" and nothing else */
static bool is_name_alone(const char *word)
{
    size_t n = name_at(word);

    return n > 0 && word[n + 2] == '\0';
}

char **search_command(const struct search_space *space, char *const *words,
                      const struct search_action *action, const double *values)
{
    size_t n = 0, n_ret = 0;
    char **ret;

    while (words[n] != NULL)
        n++;
    ret = xcalloc(n + 1, sizeof *ret);
    for (size_t i = 0; i < n; i++) {
        char *word = word_of(space, words[i], action, values);

        if (word != NULL) {
            ret[n_ret++] = word;
        } else if (is_name_alone(words[i]) && i > 0 && n_ret > 0 && words[i - 1][0] == '-' &&
                   strchr(words[i - 1], '=') == NULL && streq(ret[n_ret - 1], words[i - 1])) {
            free(ret[--n_ret]);
            ret[n_ret] = NULL;
        }
    }
    return ret;
}

char **search_command_free(char **words)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        free(words[i]);
    free(words);
    return NULL;
}
