/* SPDX-License-Identifier: Apache-2.0 */
/* glob_pattern.c - one pattern of a .gitignore file against one path */
#include "shared/glob_pattern.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

enum token_kind {
    TOKEN_BYTE,
    TOKEN_ANY,     /* but a slash */
    TOKEN_SET,     /* never a slash */
    TOKEN_STAR,    /* any number of bytes but slashes */
    TOKEN_DEEP,    /* any number of bytes */
    TOKEN_FOLDERS, /* any number of folders, each with its slash; none as well */
    TOKEN_NEVER,   /* malformed */
};

struct byte_set {
    bool has[256];
};

struct token {
    enum token_kind kind;
    unsigned char byte;
    struct byte_set *set; /* owned */
};

struct glob_pattern {
    size_t n;
    struct token tokens[];
};

/* What is left of a pattern while it is read. */
struct reader {
    const char *text;
    size_t size, at, special;
};

size_t glob_pattern_special(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (strchr("*?[\\", text[i]) != NULL)
            return i;
    return size;
}

/* peek - the byte there; -1 behind the end */
static int peek(const struct reader *reader, size_t at)
{
    return at < reader->size ? (unsigned char)reader->text[at] : -1;
}

/* ---- sets ---- */

static const struct {
    const char *name;
    int (*is)(int c);
} classes[] = {
    { "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank }, { "cntrl", iscntrl },
    { "digit", isdigit }, { "graph", isgraph }, { "lower", islower }, { "print", isprint },
    { "punct", ispunct }, { "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
};

/* add_class - [:name:]; false: there is no such one. Only ASCII has classes. */
static bool add_class(struct byte_set *set, const char *name, size_t size)
{
    for (size_t i = 0; i < ELEMENTS(classes); i++) {
        if (strlen(classes[i].name) != size || memcmp(classes[i].name, name, size) != 0)
            continue;
        for (int c = 0; c < 128; c++)
            set->has[c] = set->has[c] || classes[i].is(c);
        return true;
    }
    return false;
}

/* class_end - where the "]" of a [:name:] is that begins at reader->at; 0: it is none, which is an
 * ordinary "[" */
static size_t class_end(const struct reader *reader)
{
    size_t end = reader->at + 2;

    if (peek(reader, reader->at) != '[' || peek(reader, reader->at + 1) != ':')
        return 0;
    while (peek(reader, end) != ']' && peek(reader, end) != -1)
        end++;
    return end > reader->at + 2 && (peek(reader, end) == -1 || peek(reader, end - 1) == ':') ? end
                                                                                             : 0;
}

/* take_byte - the byte at reader->at, or the one behind a "\"; -1: the pattern ends */
static int take_byte(struct reader *reader)
{
    if (peek(reader, reader->at) == '\\')
        reader->at++;
    return peek(reader, reader->at++);
}

/* add_item - one byte, range or class of a set. *last: the byte that a range may begin with, -1
 * none. False: malformed. */
static bool add_item(struct reader *reader, struct byte_set *set, int *last)
{
    size_t end = class_end(reader);
    int c = peek(reader, reader->at), after = peek(reader, reader->at + 1);

    if (end != 0) {
        const char *name = reader->text + reader->at + 2;
        size_t size = end - 1 - (reader->at + 2);

        reader->at = end + 1;
        *last = -1;
        return end < reader->size && add_class(set, name, size);
    }
    if (c == '-' && *last > 0 && after != -1 && after != ']') {
        reader->at++;
        c = take_byte(reader);
        for (int i = *last; i <= c; i++)
            set->has[i] = true;
        *last = -1;
        return c != -1;
    }
    c = take_byte(reader);
    if (c != -1)
        set->has[c] = true;
    *last = c;
    return c != -1;
}

/* read_set - from behind the "[" on; "]" is an ordinary byte where it comes first */
static struct token read_set(struct reader *reader)
{
    struct byte_set *set = xcalloc(1, sizeof *set);
    bool negative = peek(reader, reader->at) == '!' || peek(reader, reader->at) == '^';
    bool good = true;
    int last = -1;

    reader->at += negative;
    do
        good = add_item(reader, set, &last);
    while (good && peek(reader, reader->at) != ']');
    reader->at++;
    if (!good) {
        free(set);
        return (struct token){ .kind = TOKEN_NEVER };
    }
    for (size_t i = 0; i < ELEMENTS(set->has); i++)
        set->has[i] = set->has[i] != negative && i != '/';
    return (struct token){ .kind = TOKEN_SET, .set = set };
}

/* ---- stars ---- */

/* read_stars - from behind the first of them on
 * Two and more mean folders where they stand between slashes. The beginning of a pattern counts as
 * a slash, and so does, in git, the first star if all before it is plain. */
static struct token read_stars(struct reader *reader)
{
    size_t first = reader->at - 1;
    bool free_before = first == 0 || first == reader->special || peek(reader, first - 1) == '/';
    int after;

    while (peek(reader, reader->at) == '*')
        reader->at++;
    after = peek(reader, reader->at);
    if (reader->at - first < 2 || !free_before)
        return (struct token){ .kind = TOKEN_STAR };
    if (after == '/') {
        reader->at++;
        return (struct token){ .kind = TOKEN_FOLDERS };
    }
    if (after == -1 || (after == '\\' && peek(reader, reader->at + 1) == '/'))
        return (struct token){ .kind = TOKEN_DEEP };
    return (struct token){ .kind = TOKEN_STAR };
}

static struct token read_token(struct reader *reader)
{
    int c = peek(reader, reader->at++);

    switch (c) {
    case '*':
        return read_stars(reader);
    case '?':
        return (struct token){ .kind = TOKEN_ANY };
    case '[':
        return read_set(reader);
    case '\\':
        c = peek(reader, reader->at++);
        break;
    default:
        break;
    }
    if (c == -1)
        return (struct token){ .kind = TOKEN_NEVER };
    return (struct token){ .kind = TOKEN_BYTE, .byte = (unsigned char)c };
}

struct glob_pattern *glob_pattern_new(const char *text, size_t size)
{
    struct reader reader = { .text = text,
                             .size = MIN_OF(size, (size_t)GLOB_BYTES_MAX),
                             .special = glob_pattern_special(text, size) };
    struct glob_pattern *pattern =
        xcalloc(1, sizeof *pattern + reader.size * sizeof pattern->tokens[0]);

    while (reader.at < reader.size)
        pattern->tokens[pattern->n++] = read_token(&reader);
    return pattern;
}

struct glob_pattern *glob_pattern_free(struct glob_pattern *pattern)
{
    for (size_t i = 0; pattern != NULL && i < pattern->n; i++)
        free(pattern->tokens[i].set);
    free(pattern);
    return NULL;
}

/* ---- matching ---- */

/* The tokens that may come next; n stands for the end of the pattern. */
struct places {
    bool at[GLOB_BYTES_MAX + 1];
    size_t last; /* the highest of them */
    bool some;
};

static bool may_be_nothing(enum token_kind kind)
{
    return kind == TOKEN_STAR || kind == TOKEN_DEEP || kind == TOKEN_FOLDERS;
}

/* enter - token i may come next; if it may be nothing, so may the one behind it */
static void enter(const struct glob_pattern *pattern, struct places *places, size_t i)
{
    while (!places->at[i]) {
        places->at[i] = true;
        places->some = true;
        places->last = MAX_OF(places->last, i);
        if (i == pattern->n || !may_be_nothing(pattern->tokens[i].kind))
            return;
        i++;
    }
}

static void step(const struct glob_pattern *pattern, size_t i, unsigned char c, struct places *next)
{
    const struct token *token = &pattern->tokens[i];
    bool takes = false, stays = false;

    switch (token->kind) {
    case TOKEN_BYTE:
        takes = token->byte == c;
        break;
    case TOKEN_ANY:
        takes = c != '/';
        break;
    case TOKEN_SET:
        takes = token->set->has[c];
        break;
    case TOKEN_STAR:
        stays = c != '/';
        break;
    case TOKEN_DEEP:
        stays = true;
        break;
    case TOKEN_FOLDERS: /* inside of one, it is over only behind a slash */
        next->at[i] = next->some = true;
        next->last = MAX_OF(next->last, i);
        takes = c == '/';
        break;
    case TOKEN_NEVER:
    default:
        break;
    }
    if (takes)
        enter(pattern, next, i + 1);
    if (stays)
        enter(pattern, next, i);
}

bool glob_pattern_matches(const struct glob_pattern *pattern, const char *path, size_t size)
{
    struct places both[2], *now = &both[0], *next = &both[1];

    memset(now->at, 0, pattern->n + 1);
    now->last = 0;
    enter(pattern, now, 0);
    for (size_t at = 0; at < size; at++) {
        struct places *swap = now;

        memset(next->at, 0, pattern->n + 1);
        next->last = 0;
        next->some = false;
        for (size_t i = 0; i <= now->last && i < pattern->n; i++)
            if (now->at[i])
                step(pattern, i, (unsigned char)path[at], next);
        if (!next->some)
            return false;
        now = next;
        next = swap;
    }
    return now->at[pattern->n];
}
