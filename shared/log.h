/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - one line per event worth an operator's time
 *
 * To stderr as "time level program: text"; where the journal reads stderr (systemd.exec(5),
 * JOURNAL_STREAM) with a <N> priority prefix instead, or as an entry with fields when the program
 * has a sink for them (journal.h). A control character in the text is written as an escape: one
 * event stays one line, with words from anywhere. Library code does not log: it returns an error
 * and lets the caller decide. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/message.h"

struct edl_error;

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

#define LOG_NODE_SIZE 64

/* What an entry is about, told apart from its text; text is borrowed. */
struct log_subject {
    enum message message;
    uint64_t job;         /* 0: none */
    const char *role;     /* NULL: no process */
    uint32_t index;       /* of a process, as the next */
    uint64_t incarnation; /* 0: none */
    const char *node;     /* NULL or "": the one of log_node */
    const char *user;     /* who did it: NULL: nobody is known */
    const char *request;  /* the number of the request that it came with; NULL: none */
};

/* An entry for a sink; all of it is borrowed. */
struct log_record {
    enum log_level level;
    const char *program;
    const char *text;           /* one line, without its end */
    struct log_subject subject; /* node: never NULL, "" for none */
};

/* negative: it could not be taken, the line goes to stderr */
typedef int (*log_sink)(const struct log_record *record);

/* log_init - program's name in each line (borrowed, static); EDL_LOG_LEVEL=debug|info|warning|error
 */
void log_init(const char *program);

/* log_is_journal - whether the journal reads what is written to stderr */
bool log_is_journal(void);

/* log_to - entries go there, one by one, and not to stderr; NULL: to stderr */
void log_to(log_sink sink);

/* log_node - the node that entries are of which name none; copied */
void log_node(const char *node);

/* log_about - the process that entries are about which name nothing; role is borrowed. NULL: none
 */
void log_about(const struct log_subject *subject);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* log_entry - as log_write, of something that has a name: a process, a job, a node */
void log_entry(enum log_level level, const struct log_subject *subject, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* log_hold - lines that follow are written together by log_release, or when they are many; one at
 * a time nearly costs what it tells of. Not nested. */
void log_hold(void);
void log_release(void);

/* log_failure - error's text (and remedy) after a prefix; returns error->code */
int log_failure(const struct edl_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* log_failure_of - as log_failure, of something that has a name */
int log_failure_of(const struct log_subject *subject, const struct edl_error *error,
                   const char *format, ...) __attribute__((format(printf, 3, 4)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
