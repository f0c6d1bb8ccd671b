/* SPDX-License-Identifier: Apache-2.0 */
/* corpus_words.c - a stream of UTF-8 text to sentences of word ids, and the dictionary
 *
 * Letters and their lower case come from small tables here and not from the C library, whose answer
 * depends on the locale: the same text must give the same corpus everywhere. Scripts without case
 * pass through as they are. */
#include "shared/corpus_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <uthash.h>

#include "shared/macro.h"

#define WORD_BYTES_MAX 63 /* longer runs are not words but data: they become <unk> */
#define SENTENCE_WORDS_MAX 100

struct word {
    char *text;
    uint64_t count;
    uint32_t id; /* provisional while reading, final after finish */
    bool kept;
    UT_hash_handle hh;
};

struct corpus_words {
    struct word *table;
    struct word **words; /* by provisional id */
    uint32_t n_words, words_room;
    uint32_t *ids;
    size_t n_ids, ids_room;
    uint64_t count, max_words;
    /* the word and the sentence under way */
    char text[WORD_BYTES_MAX + 1];
    size_t length;
    bool letter, overflow;
    bool stop;       /* . ! or ? was the last thing that counts */
    bool line_empty; /* nothing but blanks since the last newline */
    uint32_t sentence_words;
    /* UTF-8 decoder */
    uint32_t code_point;
    unsigned int missing;
};

struct range {
    uint32_t first, last;
};

/* Letters beyond ASCII: by block, punctuation and signs inside left out. */
static const struct range letters[] = {
    { 0xaa, 0xaa },     { 0xb5, 0xb5 },     { 0xba, 0xba },       { 0xc0, 0xd6 },
    { 0xd8, 0xf6 },     { 0xf8, 0x2af },    { 0x300, 0x373 },     { 0x376, 0x37d },
    { 0x386, 0x386 },   { 0x388, 0x481 },   { 0x48a, 0x559 },     { 0x561, 0x587 },
    { 0x5d0, 0x5ea },   { 0x620, 0x669 },   { 0x671, 0x6d3 },     { 0x700, 0x1fff },
    { 0x2c00, 0x2dff }, { 0x3040, 0x318f }, { 0x3400, 0x4dbf },   { 0x4e00, 0x9fff },
    { 0xa000, 0xd7ff }, { 0xf900, 0xfaff }, { 0x20000, 0x3ffff },
};

/* Upper case as first, last, what to add; step 2: upper and lower take turns. */
static const struct {
    uint32_t first, last, add, step;
} upper[] = {
    { 0xc0, 0xd6, 32, 1 },   { 0xd8, 0xde, 32, 1 },   { 0x100, 0x12e, 1, 2 },
    { 0x132, 0x136, 1, 2 },  { 0x139, 0x147, 1, 2 },  { 0x14a, 0x176, 1, 2 },
    { 0x391, 0x3a1, 32, 1 }, { 0x3a3, 0x3a9, 32, 1 }, { 0x400, 0x40f, 80, 1 },
    { 0x410, 0x42f, 32, 1 },
};

static struct word *add_word(struct corpus_words *words, const char *text)
{
    struct word *word = xcalloc(1, sizeof *word);

    word->text = xstrdup(text);
    word->id = words->n_words;
    if (words->n_words == words->words_room) {
        words->words_room = words->words_room * 2 + 1024;
        words->words = xreallocarray(words->words, words->words_room, sizeof(struct word *));
    }
    words->words[words->n_words++] = word;
    HASH_ADD_KEYPTR(hh, words->table, word->text, strlen(word->text), word);
    return word;
}

struct corpus_words *corpus_words_new(uint64_t max_words)
{
    static const char *const markers[] = {
        [CORPUS_BEGIN] = "<s>", [CORPUS_END] = "<e>", [CORPUS_UNKNOWN] = "<unk>"
    };
    struct corpus_words *words = xcalloc(1, sizeof *words);

    words->max_words = max_words;
    words->line_empty = true;
    for (size_t i = 0; i < ELEMENTS(markers); i++)
        (void)add_word(words, markers[i]);
    return words;
}

struct corpus_words *corpus_words_free(struct corpus_words *words)
{
    if (words == NULL)
        return NULL;
    HASH_CLEAR(hh, words->table);
    for (uint32_t i = 0; i < words->n_words; i++) {
        free(words->words[i]->text);
        free(words->words[i]);
    }
    free(words->words);
    free(words->ids);
    free(words);
    return NULL;
}

static void push_id(struct corpus_words *words, uint32_t id)
{
    if (words->n_ids == words->ids_room) {
        words->ids_room = words->ids_room * 2 + 4096;
        words->ids = xreallocarray(words->ids, words->ids_room, sizeof *words->ids);
    }
    words->ids[words->n_ids++] = id;
    if (id != CORPUS_SENTENCE_END)
        words->words[id]->count++;
}

static void end_sentence(struct corpus_words *words)
{
    words->stop = false;
    if (words->sentence_words == 0)
        return;
    push_id(words, CORPUS_END);
    push_id(words, CORPUS_SENTENCE_END);
    words->sentence_words = 0;
}

static void end_word(struct corpus_words *words)
{
    struct word *word;

    while (words->length > 0 && words->text[words->length - 1] == '\'')
        words->length--;
    if (!words->letter || words->count >= words->max_words) {
        words->length = 0;
        words->letter = words->overflow = false;
        return;
    }
    words->text[words->length] = '\0';
    if (words->overflow) {
        word = words->words[CORPUS_UNKNOWN];
    } else {
        HASH_FIND_STR(words->table, words->text, word);
        if (word == NULL)
            word = add_word(words, words->text);
    }
    words->length = 0;
    words->letter = words->overflow = false;
    if (words->sentence_words == 0)
        push_id(words, CORPUS_BEGIN);
    push_id(words, word->id);
    words->count++;
    if (++words->sentence_words == SENTENCE_WORDS_MAX)
        end_sentence(words);
}

static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    for (size_t i = 0; i < ELEMENTS(letters) && c >= letters[i].first; i++)
        if (c <= letters[i].last)
            return true;
    return false;
}

static uint32_t lower(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    for (size_t i = 0; i < ELEMENTS(upper) && c >= upper[i].first; i++)
        if (c <= upper[i].last && (c - upper[i].first) % upper[i].step == 0)
            return c + upper[i].add;
    return c;
}

static void append(struct corpus_words *words, uint32_t c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

    if (words->length + n > WORD_BYTES_MAX) {
        words->overflow = true;
        return;
    }
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        words->text[words->length + i] = (char)(0x80 | (c & 0x3f));
    words->text[words->length] = (char)(lead[n] | c);
    words->length += n;
}

/* on_separator - c belongs to no word; decides whether a sentence ends here */
static void on_separator(struct corpus_words *words, uint32_t c)
{
    end_word(words);
    if (c == '\n') {
        if (words->stop || words->line_empty)
            end_sentence(words);
        words->line_empty = true;
    } else if (c == ' ' || c == '\t' || c == '\r') {
        if (words->stop)
            end_sentence(words);
    } else {
        words->line_empty = false;
        if (c == '.' || c == '!' || c == '?')
            words->stop = true;
        else if (c != '"' && c != '\'' && c != ')' && c != ']')
            words->stop = false;
    }
}

static void on_character(struct corpus_words *words, uint32_t c)
{
    bool letter = is_letter(c);

    if (c == 0x2019) /* the typographic apostrophe */
        c = '\'';
    if (letter || (c >= '0' && c <= '9') || (c == '\'' && words->length > 0)) {
        words->letter |= letter;
        words->stop = words->line_empty = false;
        append(words, lower(c));
    } else {
        on_separator(words, c);
    }
}

/* on_byte - bytes that are not UTF-8 separate words; overlong forms do no harm here */
static void on_byte(struct corpus_words *words, uint8_t byte)
{
    if (words->missing > 0 && (byte & 0xc0) == 0x80) {
        words->code_point = words->code_point << 6 | (byte & 0x3f);
        if (--words->missing == 0)
            on_character(words, words->code_point);
        return;
    }
    if (words->missing > 0) {
        words->missing = 0;
        on_separator(words, 0xfffd);
    }
    if (byte < 0x80) {
        on_character(words, byte);
    } else if (byte >= 0xc2 && byte < 0xf5) {
        words->missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
        words->code_point = byte & (0x3fu >> words->missing);
    } else {
        on_separator(words, 0xfffd);
    }
}

bool corpus_words_feed(struct corpus_words *words, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size && words->count < words->max_words; i++)
        on_byte(words, bytes[i]);
    return words->count >= words->max_words;
}

void corpus_words_end(struct corpus_words *words)
{
    words->missing = 0;
    end_word(words);
    end_sentence(words);
    words->line_empty = true;
}

uint64_t corpus_words_count(const struct corpus_words *words)
{
    return words->count;
}

static int by_frequency(const void *a, const void *b)
{
    const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->text, y->text);
}

/* number_words - kept words move to the front in order of frequency; final[provisional id] = id for
 * them */
static uint32_t number_words(struct corpus_words *words, uint32_t *final)
{
    uint32_t kept = 0;

    qsort(words->words, words->n_words, sizeof(struct word *), by_frequency);
    for (uint32_t i = 0; i < words->n_words; i++) {
        struct word *word = words->words[i];

        if (!word->kept)
            continue;
        final[word->id] = kept;
        word->id = kept;
        words->words[i] = words->words[kept];
        words->words[kept++] = word;
    }
    return kept;
}

uint32_t corpus_words_finish(struct corpus_words *words, uint32_t min_frequency)
{
    uint32_t *final = xcalloc(words->n_words, sizeof *final), kept;
    struct word *unknown = words->words[CORPUS_UNKNOWN];

    for (uint32_t i = 0; i < words->n_words; i++) {
        final[i] = UINT32_MAX;
        words->words[i]->kept = i == CORPUS_BEGIN || i == CORPUS_END ||
                                (i != CORPUS_UNKNOWN && words->words[i]->count >= min_frequency);
    }
    kept = number_words(words, final);
    for (size_t i = 0; i < words->n_ids; i++)
        if (words->ids[i] != CORPUS_SENTENCE_END)
            words->ids[i] = MIN_OF(final[words->ids[i]], kept); /* <unk> has the last id */
    free(final);
    HASH_CLEAR(hh, words->table);
    for (uint32_t i = kept; i < words->n_words; i++) {
        if (words->words[i] == unknown)
            continue;
        free(words->words[i]->text);
        free(words->words[i]);
    }
    unknown->id = kept;
    words->words[kept] = unknown;
    words->n_words = kept + 1;
    return words->n_words;
}

const uint32_t *corpus_words_ids(const struct corpus_words *words, size_t *ret_n)
{
    *ret_n = words->n_ids;
    return words->ids;
}

int corpus_words_write(const struct corpus_words *words, FILE *file)
{
    for (uint32_t i = 0; i < words->n_words; i++)
        if (fprintf(file, "%s %" PRIu32 "\n", words->words[i]->text, i) < 0)
            return -errno;
    return 0;
}
