/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_known_hosts.c - what files of known_hosts say of a host and its key; pure */
#include "client/ssh/ssh_known_hosts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define DEFAULT_PORT 22
#define TYPE_WORD_MAX 100 /* longer names of types exist nowhere */

static const struct {
    enum ssh_key_type type;
    const char *wire, *text;
} key_types[] = {
#define XX(name, bit, wire, text) { name, wire, text },
    SSH_KEY_TYPE_MAP(XX)
#undef XX
};

/* A word of a line, not terminated. */
struct word {
    const char *start;
    size_t length;
};

enum marker { MARKER_NONE, MARKER_AUTHORITY, MARKER_REVOKED, MARKER_UNKNOWN };

static bool word_is(struct word word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.start, text, word.length) == 0;
}

/* next_word - takes it from the line; its length is 0 at the end */
static struct word next_word(struct word *line)
{
    struct word word;

    while (line->length > 0 && (*line->start == ' ' || *line->start == '\t')) {
        line->start++;
        line->length--;
    }
    word = (struct word){ .start = line->start };
    while (word.length < line->length && word.start[word.length] != ' ' &&
           word.start[word.length] != '\t' && word.start[word.length] != '\r')
        word.length++;
    line->start += word.length;
    line->length -= word.length;
    return word;
}

bool ssh_blob_word(const uint8_t *blob, size_t size, const char **ret, size_t *ret_length)
{
    size_t length;

    if (blob == NULL || size < 4)
        return false;
    length = (size_t)blob[0] << 24 | (size_t)blob[1] << 16 | (size_t)blob[2] << 8 | blob[3];
    if (length == 0 || length > size - 4 || length > TYPE_WORD_MAX)
        return false;
    *ret = (const char *)blob + 4;
    *ret_length = length;
    return true;
}

enum ssh_key_type ssh_blob_type(const uint8_t *blob, size_t size, const char **ret_text)
{
    struct word word;

    if (ret_text != NULL)
        *ret_text = "unknown";
    if (!ssh_blob_word(blob, size, &word.start, &word.length))
        return SSH_KEY_STRANGE;
    for (size_t i = 0; i < ELEMENTS(key_types); i++) {
        if (!word_is(word, key_types[i].wire))
            continue;
        if (ret_text != NULL)
            *ret_text = key_types[i].text;
        return key_types[i].type;
    }
    return SSH_KEY_STRANGE;
}

/* wildcard - whether pattern with '*' and '?' fits all of name; goes back to the last '*' only */
static bool wildcard(struct word pattern, const char *name)
{
    size_t at = 0, star = SIZE_MAX;
    const char *from_star = NULL;

    while (*name != '\0') {
        char c = at < pattern.length ? (char)tolower((unsigned char)pattern.start[at]) : '\0';

        if (at < pattern.length && c == '*') {
            star = at++;
            from_star = name;
        } else if (at < pattern.length && (c == '?' || c == *name)) {
            at++;
            name++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            name = ++from_star;
        } else {
            return false;
        }
    }
    while (at < pattern.length && pattern.start[at] == '*')
        at++;
    return at == pattern.length;
}

/* list_fits - "a,b*,!c": one fits, and none of those with '!' does */
static bool list_fits(struct word list, const char *name)
{
    bool fits = false;

    while (list.length > 0) {
        const char *comma = memchr(list.start, ',', list.length);
        struct word one = { list.start,
                            comma != NULL ? (size_t)(comma - list.start) : list.length };
        bool negated = one.length > 0 && *one.start == '!';

        list.length -= one.length + (comma != NULL);
        list.start += one.length + (comma != NULL);
        if (negated) {
            one.start++;
            one.length--;
        }
        if (one.length == 0 || !wildcard(one, name))
            continue;
        if (negated)
            return false;
        fits = true;
    }
    return fits;
}

/* hash_fits - "|1|SALT|HMAC", both in base64 */
static bool hash_fits(struct word hashed, const char *name)
{
    _cleanup_free_ uint8_t *salt = NULL, *hmac = NULL;
    const char *middle;
    uint8_t own[SSH_SHA1_BYTES];
    size_t salt_size, hmac_size;

    if (hashed.length < 3 || memcmp(hashed.start, "|1|", 3) != 0)
        return false;
    hashed.start += 3;
    hashed.length -= 3;
    middle = memchr(hashed.start, '|', hashed.length);
    if (middle == NULL ||
        !ssh_base64_decode(hashed.start, (size_t)(middle - hashed.start), &salt, &salt_size) ||
        salt_size != SSH_SHA1_BYTES)
        return false;
    hashed.length -= (size_t)(middle + 1 - hashed.start);
    return ssh_base64_decode(middle + 1, hashed.length, &hmac, &hmac_size) &&
           hmac_size == SSH_SHA1_BYTES && ssh_hmac_sha1(salt, salt_size, name, own) &&
           memcmp(own, hmac, sizeof own) == 0;
}

static bool names_fit(struct word names, const char *name)
{
    if (names.length > 0 && *names.start == '|')
        return hash_fits(names, name);
    return list_fits(names, name);
}

static enum marker take_marker(struct word *line)
{
    struct word rest = *line, word = next_word(&rest);

    if (word.length == 0 || *word.start != '@')
        return MARKER_NONE;
    *line = rest;
    if (word_is(word, "@cert-authority"))
        return MARKER_AUTHORITY;
    return word_is(word, "@revoked") ? MARKER_REVOKED : MARKER_UNKNOWN;
}

/* told - this line is the one to be named */
static void told(struct ssh_known_hosts *known, const char *file, unsigned int line,
                 const uint8_t *blob, size_t size)
{
    known->file = file;
    known->line = line;
    ssh_fingerprint(blob, size, known->fingerprint);
}

/* plain_line - a key of this host without a marker */
static void plain_line(struct ssh_known_hosts *known, const char *file, unsigned int line,
                       const uint8_t *blob, size_t size)
{
    const char *ours, *theirs;
    size_t ours_length, theirs_length;
    bool decides = known->file == NULL;

    known->types |= ssh_blob_type(blob, size, NULL);
    if (known->key != NULL && ssh_blob_word(blob, size, &ours, &ours_length) &&
        ssh_blob_word(known->key, known->key_size, &theirs, &theirs_length) &&
        ours_length == theirs_length && memcmp(ours, theirs, ours_length) == 0) {
        bool equal = size == known->key_size && memcmp(blob, known->key, size) == 0;

        decides = equal ? !known->same : !known->changed && !known->same;
        *(equal ? &known->same : &known->changed) = true;
    }
    if (decides && !known->revoked)
        told(known, file, line, blob, size);
}

static void read_line(struct ssh_known_hosts *known, const char *file, unsigned int number,
                      struct word line)
{
    _cleanup_free_ uint8_t *blob = NULL;
    enum marker marker = take_marker(&line);
    struct word names = next_word(&line), type = next_word(&line), key = next_word(&line);
    struct word real;
    size_t size;

    if (names.length == 0 || *names.start == '#' || key.length == 0 || marker == MARKER_UNKNOWN ||
        !names_fit(names, known->name) || !ssh_base64_decode(key.start, key.length, &blob, &size) ||
        !ssh_blob_word(blob, size, &real.start, &real.length) || real.length != type.length ||
        memcmp(real.start, type.start, type.length) != 0)
        return;
    if (marker == MARKER_AUTHORITY) {
        known->authority = true;
    } else if (marker == MARKER_NONE) {
        plain_line(known, file, number, blob, size);
    } else if (known->key != NULL && size == known->key_size &&
               memcmp(blob, known->key, size) == 0) {
        known->revoked = true;
        told(known, file, number, blob, size);
    }
}

bool ssh_known_hosts_name(const char *host, uint16_t port, const char *alias,
                          char ret[SSH_KNOWN_NAME_MAX])
{
    int n = alias != NULL          ? snprintf(ret, SSH_KNOWN_NAME_MAX, "%s", alias)
            : port != DEFAULT_PORT ? snprintf(ret, SSH_KNOWN_NAME_MAX, "[%s]:%u", host, port)
                                   : snprintf(ret, SSH_KNOWN_NAME_MAX, "%s", host);

    for (char *c = ret; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return n >= 0 && n < SSH_KNOWN_NAME_MAX;
}

void ssh_known_hosts_begin(struct ssh_known_hosts *known, const char *name, const uint8_t *key,
                           size_t key_size)
{
    *known = (struct ssh_known_hosts){ .key = key, .key_size = key_size };
    (void)snprintf(known->name, sizeof known->name, "%s", name);
}

void ssh_known_hosts_read(struct ssh_known_hosts *known, const char *file, const char *bytes,
                          size_t size)
{
    unsigned int number = 0;

    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        struct word line = { bytes, end != NULL ? (size_t)(end - bytes) : size };
        size_t taken = line.length + (end != NULL);

        read_line(known, file, ++number, line);
        bytes += taken;
        size -= taken;
    }
}

enum ssh_known ssh_known_hosts_verdict(const struct ssh_known_hosts *known)
{
    if (known->revoked)
        return SSH_KNOWN_REVOKED;
    if (known->same)
        return SSH_KNOWN_SAME;
    if (known->changed)
        return SSH_KNOWN_CHANGED;
    if (known->types != 0)
        return SSH_KNOWN_OTHER;
    return known->authority ? SSH_KNOWN_CA : SSH_KNOWN_NEW;
}

char *ssh_known_hosts_line(const char *name, const uint8_t *key, size_t key_size,
                           const uint8_t salt[SSH_SHA1_BYTES])
{
    _cleanup_free_ char *blob = ssh_base64_encode(key, key_size), *salt_text = NULL,
                        *hmac_text = NULL;
    uint8_t hmac[SSH_SHA1_BYTES];
    struct word word = { 0 };
    char *line;
    int n;

    if (!ssh_blob_word(key, key_size, &word.start, &word.length))
        return NULL;
    if (salt == NULL) {
        n = asprintf(&line, "%s %.*s %s\n", name, (int)word.length, word.start, blob);
    } else {
        if (!ssh_hmac_sha1(salt, SSH_SHA1_BYTES, name, hmac))
            return NULL;
        salt_text = ssh_base64_encode(salt, SSH_SHA1_BYTES);
        hmac_text = ssh_base64_encode(hmac, sizeof hmac);
        n = asprintf(&line, "|1|%s|%s %.*s %s\n", salt_text, hmac_text, (int)word.length,
                     word.start, blob);
    }
    if (n < 0)
        abort();
    return line;
}
