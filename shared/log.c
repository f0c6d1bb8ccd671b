/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - one line per event worth an operator's time */
#include "shared/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

static const char *log_program = "edl";
static enum log_level log_most = LOG_LEVEL_INFO;
static int log_to_journal;
static char held[16384];
static size_t n_held;
static bool holding;

static const char *level_name(enum log_level level)
{
    switch (level) {
    case LOG_LEVEL_ERROR:
        return "error";
    case LOG_LEVEL_WARNING:
        return "warning";
    case LOG_LEVEL_INFO:
        return "info";
    case LOG_LEVEL_DEBUG:
        return "debug";
    }
    return "?";
}

void log_init(const char *program)
{
    static const enum log_level levels[] = { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
                                             LOG_LEVEL_DEBUG };
    const char *wanted = getenv("EDL_LOG_LEVEL");

    log_program = program;
    log_to_journal = getenv("JOURNAL_STREAM") != NULL;
    for (size_t i = 0; wanted != NULL && i < ELEMENTS(levels); i++)
        if (streq(wanted, level_name(levels[i])))
            log_most = levels[i];
}

static void write_held(void)
{
    (void)fwrite(held, 1, n_held, stderr);
    n_held = 0;
}

void log_hold(void)
{
    holding = true;
}

void log_release(void)
{
    write_held();
    holding = false;
}

/* put - a line, with its end */
static void put(const char *line)
{
    size_t length = strlen(line);

    if (n_held + length > sizeof held)
        write_held();
    memcpy(held + n_held, line, length);
    n_held += length;
    if (!holding)
        write_held();
}

/* stamp - the local time of day; broken down once a millisecond, for lines come in bursts */
static const char *stamp(void)
{
    static char text[40];
    static time_t shown_s;
    static long shown_ms = -1;
    struct timespec now;
    struct tm parts;
    size_t n;

    if (clock_gettime(CLOCK_REALTIME, &now) == -1)
        return "";
    if (now.tv_sec == shown_s && now.tv_nsec / 1000000 == shown_ms)
        return text;
    shown_s = now.tv_sec;
    shown_ms = now.tv_nsec / 1000000;
    n = localtime_r(&shown_s, &parts) != NULL ? strftime(text, sizeof text, "%H:%M:%S", &parts) : 0;
    (void)snprintf(text + n, sizeof text - n, ".%03ld", shown_ms);
    return text;
}

void log_write(enum log_level level, const char *format, ...)
{
    char text[1024], escaped[1024], line[1200];
    const char *shown = text;
    va_list ap;

    if (level > log_most)
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (!printable_is(text)) {
        (void)printable_escape(text, escaped, sizeof escaped);
        shown = escaped;
    }
    if (log_to_journal)
        (void)snprintf(line, sizeof line, "<%d>%s\n", (int)level, shown);
    else
        (void)snprintf(line, sizeof line, "%s %s %.60s: %s\n", stamp(), level_name(level),
                       log_program, shown);
    put(line);
}

int log_failure(const struct edl_error *error, const char *format, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    log_error("%s: %s%s%s", text, error->text, error->remedy[0] != '\0' ? "; " : "", error->remedy);
    return error->code;
}
