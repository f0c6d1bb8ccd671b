/* SPDX-License-Identifier: Apache-2.0 */
/* ignore_rules.c - a .gitignore file: which paths below its folder it leaves out */
#include "shared/ignore_rules.h"

#include <errno.h>
#include <string.h>

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/glob_pattern.h"
#include "shared/macro.h"

struct rule {
    size_t line;
    bool brings_back, folders_only;
    bool whole_path; /* else the name alone is compared */
    char *text;      /* owned; as it stands in the file, without what the members above say */
    size_t size;
    struct glob_pattern *pattern; /* owned; NULL: the text is plain */
};

struct ignore_rules {
    size_t n, room;
    struct rule *all;
};

/* trimmed - the size of a line without the spaces at its end; "\ " is none */
static size_t trimmed(const char *line, size_t size)
{
    size_t kept = 0;

    for (size_t i = 0; i < size; i++) {
        bool escaped = line[i] == '\\';

        i += escaped;
        if (i >= size)
            return size;
        if (escaped || line[i] != ' ')
            kept = i + 1;
    }
    return kept;
}

static void add(struct ignore_rules *rules, const struct rule *rule, const char *text)
{
    struct rule *new_rule;

    if (rules->n == rules->room) {
        rules->room = MAX_OF(rules->room * 2, (size_t)16);
        rules->all = xreallocarray(rules->all, rules->room, sizeof rules->all[0]);
    }
    new_rule = &rules->all[rules->n++];
    *new_rule = *rule;
    new_rule->text = xcalloc(1, rule->size + 1);
    memcpy(new_rule->text, text, rule->size);
    if (glob_pattern_special(text, rule->size) < rule->size)
        new_rule->pattern = glob_pattern_new(text, rule->size);
}

/* read_line - what no path can match, such as "/" alone, is no rule */
static void read_line(struct ignore_rules *rules, size_t number, const char *text, size_t size)
{
    struct rule rule = { .line = number };

    size = trimmed(text, size);
    rule.brings_back = size > 0 && text[0] == '!';
    text += rule.brings_back;
    size -= rule.brings_back;
    rule.folders_only = size > 0 && text[size - 1] == '/';
    size -= rule.folders_only;
    rule.whole_path = memchr(text, '/', size) != NULL;
    if (rule.whole_path && text[0] == '/') {
        text++;
        size--;
    }
    rule.size = size;
    if (size > 0)
        add(rules, &rule, text);
}

int ignore_rules_parse(const char *text, size_t size, struct ignore_rules **ret,
                       struct edl_error *error)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some editors write it */
    struct ignore_rules *rules = xcalloc(1, sizeof *rules);
    bool marked = size >= 3 && memcmp(text, mark, 3) == 0;
    size_t at = marked ? 3 : 0;

    for (size_t number = 1; at < size; number++) {
        const char *line = text + at, *end = memchr(line, '\n', size - at);
        size_t whole = end != NULL ? (size_t)(end - line) : size - at;
        size_t length = whole - (whole > 0 && line[whole - 1] == '\r');

        at += whole + 1;
        length = strnlen(line, length);
        if (length > GLOB_BYTES_MAX) {
            (void)ignore_rules_free(rules);
            return edl_error_set(error, -EINVAL, "line %zu is longer than %d bytes", number,
                                 GLOB_BYTES_MAX);
        }
        if (length > 0 && line[0] != '#')
            read_line(rules, number, line, length);
    }
    *ret = rules;
    return 0;
}

struct ignore_rules *ignore_rules_free(struct ignore_rules *rules)
{
    for (size_t i = 0; rules != NULL && i < rules->n; i++) {
        free(rules->all[i].text);
        (void)glob_pattern_free(rules->all[i].pattern);
    }
    if (rules != NULL)
        free(rules->all);
    free(rules);
    return NULL;
}

static bool matches(const struct rule *rule, const char *path, size_t size)
{
    if (rule->pattern != NULL)
        return glob_pattern_matches(rule->pattern, path, size);
    return size == rule->size && memcmp(path, rule->text, size) == 0;
}

enum ignore_verdict ignore_rules_judge(const struct ignore_rules *rules, const char *path,
                                       bool folder, size_t *ret_line)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    for (size_t i = rules != NULL ? rules->n : 0; i-- > 0;) {
        const struct rule *rule = &rules->all[i];
        const char *text = rule->whole_path ? path : name;

        if ((rule->folders_only && !folder) || !matches(rule, text, strlen(text)))
            continue;
        if (ret_line != NULL)
            *ret_line = rule->line;
        return rule->brings_back ? IGNORE_IN : IGNORE_OUT;
    }
    return IGNORE_SILENT;
}

/* A line cannot hold a line end: "?" stands for any byte. */
const char *ignore_rules_line(const char *path, bool folder, char *buffer, size_t size)
{
    size_t n = 0;

    if (n + 1 < size)
        buffer[n++] = '/';
    for (; *path != '\0' && n + 3 < size; path++) {
        bool last_space = *path == ' ' && path[1] == '\0';

        if (strchr("*?[\\", *path) != NULL || last_space)
            buffer[n++] = '\\';
        buffer[n++] = *path == '\n' || *path == '\r' ? '?' : *path;
    }
    if (folder && n + 1 < size)
        buffer[n++] = '/';
    buffer[n] = '\0';
    return buffer;
}
