/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - one line per event worth an operator's time
 *
 * To stderr as "time level program: text", or with a <N> priority prefix when the journal reads it
 * (JOURNAL_STREAM set). A control character in the text is written as an escape: one event stays
 * one line, whoever made its words. Library code does not log: it returns an error and lets the
 * caller decide.
 */
#pragma once

struct edl_error;

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

/* log_init - program's name in each line (borrowed, static); EDL_LOG_LEVEL=debug|info|warning|error
 */
void log_init(const char *program);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* log_hold - lines that follow are written together by log_release, or when they are many; one at
 * a time nearly costs what it tells of. Not nested. */
void log_hold(void);
void log_release(void);

/* log_failure - error's text (and remedy) after a prefix; returns error->code */
int log_failure(const struct edl_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
