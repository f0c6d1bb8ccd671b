/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c - see identity.h */
#include "agent/machine/identity.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/text_format.h"

#define ENVIRON_MAX (256 * 1024)

static const char *const names[] = { "EDL_SOCKET", "EDL_JOB_ID", "EDL_ROLE", "EDL_INDEX",
                                     "EDL_INCARNATION" };

static const char *find(char *const *environment, const char *name)
{
    size_t length = strlen(name);

    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment;
    return NULL;
}

bool identity_take(struct identity *identity, char *const *environment)
{
    *identity = (struct identity){ .words = NULL };
    for (size_t i = 0; i < ELEMENTS(names); i++) {
        const char *word = find(environment, names[i]);
        size_t size = word != NULL ? strlen(word) + 1 : 0;

        if (word == NULL) {
            identity_clear(identity);
            return false;
        }
        identity->words = xreallocarray(identity->words, identity->size + size, 1);
        memcpy(identity->words + identity->size, word, size);
        identity->size += size;
    }
    identity->room = xcalloc(1, ENVIRON_MAX);
    return true;
}

void identity_clear(struct identity *identity)
{
    free(identity->words);
    free(identity->room);
    *identity = (struct identity){ .words = NULL };
}

static bool has_word(const char *environ, size_t size, const char *word, size_t word_size)
{
    for (const char *at = environ; (size_t)(environ + size - at) >= word_size; at++)
        if ((at == environ || at[-1] == '\0') && memcmp(at, word, word_size) == 0)
            return true;
    return false;
}

bool identity_is_of(const struct identity *identity, pid_t pid)
{
    _cleanup_free_ char *path = text_format("/proc/%d/environ", (int)pid);
    _cleanup_close_ int fd = -1;
    size_t size = 0;
    ssize_t n;

    if (identity->words == NULL)
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && size < ENVIRON_MAX &&
           (n = read(fd, identity->room + size, ENVIRON_MAX - size)) > 0)
        size += (size_t)n;
    if (size == 0)
        return false;
    for (const char *word = identity->words; word < identity->words + identity->size;
         word += strlen(word) + 1)
        if (!has_word(identity->room, size, word, strlen(word) + 1))
            return false;
    return true;
}

bool identity_has_word(pid_t pid, const char *word)
{
    struct identity identity = { .words = xstrdup(word),
                                 .size = strlen(word) + 1,
                                 .room = xcalloc(1, ENVIRON_MAX) };
    bool has = identity_is_of(&identity, pid);

    identity_clear(&identity);
    return has;
}
