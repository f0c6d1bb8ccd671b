/* SPDX-License-Identifier: Apache-2.0 */
/* job_command.c - see job_command.h */
#include "client/job_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define INTERPRETER_MAX 60

static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), n_ending = strlen(ending);

    return n > n_ending && streq(path + n - n_ending, ending);
}

static bool is_in_path(const char *name)
{
    const char *folders = getenv("PATH");

    if (*name == '\0' || strchr(name, '/') != NULL || folders == NULL)
        return false;
    for (const char *at = folders; *at != '\0';) {
        size_t n = strcspn(at, ":");
        _cleanup_free_ char *path = text_format("%.*s/%s", (int)n, at, name);

        if (access(path, X_OK) == 0)
            return true;
        at += n;
        at += *at == ':';
    }
    return false;
}

bool job_command_is(const char *path, const char *text, size_t size)
{
    if (text == NULL)
        return is_in_path(path);
    return (size >= 2 && memcmp(text, "#!", 2) == 0) ||
           (size >= 4 && memcmp(text, "\177ELF", 4) == 0) || has_ending(path, ".py") ||
           has_ending(path, ".sh");
}

/* "#!/usr/bin/env python3" is "/usr/bin/env python3"; "" when there is none, or none to repeat */
static void interpreter_of(const char *text, size_t size, char ret[INTERPRETER_MAX])
{
    size_t n = 0;

    ret[0] = '\0';
    if (size < 3 || memcmp(text, "#!", 2) != 0)
        return;
    text += 2;
    size -= 2;
    while (size > 0 && *text == ' ') {
        text++;
        size--;
    }
    while (n < size && text[n] >= ' ' && text[n] < 127)
        n++;
    if (n == 0 || n >= INTERPRETER_MAX || n == size || text[n] != '\n')
        return;
    memcpy(ret, text, n);
    ret[n] = '\0';
}

char *job_command_form(const char *path, const char *text, size_t size, bool is_executable)
{
    char interpreter[INTERPRETER_MAX];

    if (text == NULL)
        return xstrdup(path);
    interpreter_of(text, size, interpreter);
    if (is_executable && (interpreter[0] != '\0' || memcmp(text, "\177ELF", MIN_OF(size, 4)) == 0))
        return text_format("%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    if (interpreter[0] == '\0')
        (void)snprintf(interpreter, sizeof interpreter, "%s",
                       has_ending(path, ".py") ? "python3" : "sh");
    return text_format("%s %s", interpreter, path);
}
