/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in.c - see drop_in.h */
#include "agent/core/drop_in.h"

#include <stdio.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/printable.h"

#define NAME_SHOWN 40
#define LINE_SHOWN 110
/* as inode(7) has them */
#define OTHERS_WRITE 0022U
#define STICKY 01000U

static const char *const names[] = { [DROP_IN_PROLOG] = "prolog", [DROP_IN_EPILOG] = "epilog" };

const char *drop_in_kind_name(enum drop_in_kind kind)
{
    return names[kind];
}

bool drop_in_name_valid(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

    return name[0] != '\0' && name[strspn(name, allowed)] == '\0';
}

bool drop_in_trusted(uint32_t owner, uint32_t mode, bool is_folder)
{
    bool others_write = (mode & OTHERS_WRITE) != 0;

    return owner == 0 && (!others_write || (is_folder && (mode & STICKY) != 0));
}

const char *drop_in_last_line(char *text)
{
    static const char blank[] = " \t\r\n";
    size_t size = strlen(text);
    char *line;

    while (size > 0 && strchr(blank, text[size - 1]) != NULL)
        size--;
    text[size] = '\0';
    line = strrchr(text, '\n');
    line = line != NULL ? line + 1 : text;
    line += strspn(line, blank);
    printable_mask(line, strlen(line), "");
    for (char *at = line; !printable_is_utf8(line) && *at != '\0'; at++)
        if ((*at & 0x80) != 0)
            *at = '?';
    return line;
}

static void say_end(enum drop_in_end end, int number, char *buffer, size_t size)
{
    switch (end) {
    case DROP_IN_DONE:
        (void)snprintf(buffer, size, "ended well");
        break;
    case DROP_IN_CODE:
        (void)snprintf(buffer, size, "ended with %d", number);
        break;
    case DROP_IN_SIGNAL:
        (void)snprintf(buffer, size, "was killed by signal %d", number);
        break;
    case DROP_IN_TIMEOUT:
        (void)snprintf(buffer, size, "took longer than %d s", number);
        break;
    case DROP_IN_REFUSED:
        (void)snprintf(buffer, size, "is not run");
        break;
    }
}

void drop_in_say(enum drop_in_kind kind, const char *name, enum drop_in_end end, int number,
                 const char *last_line, char ret[DROP_IN_REASON_SIZE])
{
    int shown = printable_prefix(last_line, LINE_SHOWN);
    char how[40];

    say_end(end, number, how, sizeof how);
    (void)snprintf(ret, DROP_IN_REASON_SIZE, "%s%s%.*s %s%s%.*s", names[kind],
                   name[0] != '\0' ? " " : "", NAME_SHOWN, name, how, shown > 0 ? ": " : "", shown,
                   last_line);
}
