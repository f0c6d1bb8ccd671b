/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - one line per event worth an operator's time */
#include "shared/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

static const char *log_program = "edl";
static enum log_level log_most = LOG_LEVEL_INFO;
static bool to_journal;
static log_sink sink;
static char own_node[LOG_NODE_SIZE];
static struct log_subject own_process;
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

/* What a unit's shell redirected elsewhere is read by people, though the variable is still there.
 */
static bool stderr_is_stream(const char *stream)
{
    char is[48];
    struct stat st;

    if (stream == NULL || fstat(STDERR_FILENO, &st) == -1)
        return false;
    (void)snprintf(is, sizeof is, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return streq(is, stream);
}

void log_init(const char *program)
{
    static const enum log_level levels[] = { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO,
                                             LOG_LEVEL_DEBUG };
    const char *wanted = getenv("EDL_LOG_LEVEL");

    log_program = program;
    to_journal = stderr_is_stream(getenv("JOURNAL_STREAM"));
    for (size_t i = 0; wanted != NULL && i < ELEMENTS(levels); i++)
        if (streq(wanted, level_name(levels[i])))
            log_most = levels[i];
}

bool log_is_journal(void)
{
    return to_journal;
}

void log_to(log_sink taker)
{
    sink = taker;
}

void log_node(const char *node)
{
    (void)snprintf(own_node, sizeof own_node, "%s", node);
}

void log_about(const struct log_subject *subject)
{
    own_process = subject != NULL ? *subject : (struct log_subject){ 0 };
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

static bool take_sink(enum log_level level, const struct log_subject *subject, const char *text)
{
    struct log_record record = {
        .level = level, .program = log_program, .text = text, .subject = *subject
    };

    if (sink == NULL)
        return false;
    if (subject->node == NULL || subject->node[0] == '\0')
        record.subject.node = own_node;
    if (subject->job == 0) {
        record.subject.job = own_process.job;
        record.subject.role = own_process.role;
        record.subject.index = own_process.index;
        record.subject.incarnation = own_process.incarnation;
    }
    return sink(&record) >= 0;
}

static void write_entry(enum log_level level, const struct log_subject *subject, const char *format,
                        va_list ap)
{
    char text[1024], escaped[1024], line[1200];
    const char *shown = text;

    (void)vsnprintf(text, sizeof text, format, ap);
    if (!printable_is(text)) {
        (void)printable_escape(text, escaped, sizeof escaped);
        shown = escaped;
    }
    if (take_sink(level, subject, shown))
        return;
    if (to_journal)
        (void)snprintf(line, sizeof line, "<%d>%s\n", (int)level, shown);
    else
        (void)snprintf(line, sizeof line, "%s %s %.60s: %s\n", stamp(), level_name(level),
                       log_program, shown);
    put(line);
}

void log_write(enum log_level level, const char *format, ...)
{
    va_list ap;

    if (level > log_most)
        return;
    va_start(ap, format);
    write_entry(level, &(struct log_subject){ 0 }, format, ap);
    va_end(ap);
}

void log_entry(enum log_level level, const struct log_subject *subject, const char *format, ...)
{
    va_list ap;

    if (level > log_most)
        return;
    va_start(ap, format);
    write_entry(level, subject, format, ap);
    va_end(ap);
}

static int write_failure(const struct log_subject *subject, const struct edl_error *error,
                         const char *format, va_list ap)
{
    char text[400];

    (void)vsnprintf(text, sizeof text, format, ap);
    log_entry(LOG_LEVEL_ERROR, subject, "%s: %s%s%s", text, error->text,
              error->remedy[0] != '\0' ? "; " : "", error->remedy);
    return error->code;
}

int log_failure(const struct edl_error *error, const char *format, ...)
{
    va_list ap;
    int r;

    va_start(ap, format);
    r = write_failure(&(struct log_subject){ 0 }, error, format, ap);
    va_end(ap);
    return r;
}

int log_failure_of(const struct log_subject *subject, const struct edl_error *error,
                   const char *format, ...)
{
    va_list ap;
    int r;

    va_start(ap, format);
    r = write_failure(subject, error, format, ap);
    va_end(ap);
    return r;
}
