/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - see journal.h */
#include "shared/journal.h"

#define SD_JOURNAL_SUPPRESS_LOCATION /* who looks it up has no use for a line of C */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include "shared/log.h"
#include "shared/macro.h"

#define NUMBER_SIZE 24

/* a field's text, borrowed or in number; NULL: it has nothing to say */
typedef const char *(*field_text)(const struct log_record *record, char number[NUMBER_SIZE]);

static const char *number_text(uint64_t value, char number[NUMBER_SIZE])
{
    (void)snprintf(number, NUMBER_SIZE, "%" PRIu64, value);
    return number;
}

static const char *priority(const struct log_record *record, char number[NUMBER_SIZE])
{
    return number_text(record->level, number);
}

static const char *identifier(const struct log_record *record, char number[NUMBER_SIZE])
{
    (void)number;
    return record->program;
}

static const char *message(const struct log_record *record, char number[NUMBER_SIZE])
{
    (void)number;
    return record->text;
}

static const char *id(const struct log_record *record, char number[NUMBER_SIZE])
{
    (void)number;
    return message_id(record->subject.message);
}

static const char *job(const struct log_record *record, char number[NUMBER_SIZE])
{
    return record->subject.job > 0 ? number_text(record->subject.job, number) : NULL;
}

static const char *role(const struct log_record *record, char number[NUMBER_SIZE])
{
    (void)number;
    return record->subject.role;
}

static const char *index_in_role(const struct log_record *record, char number[NUMBER_SIZE])
{
    return record->subject.role != NULL ? number_text(record->subject.index, number) : NULL;
}

static const char *incarnation(const struct log_record *record, char number[NUMBER_SIZE])
{
    return record->subject.incarnation > 0 ? number_text(record->subject.incarnation, number)
                                           : NULL;
}

static const char *node(const struct log_record *record, char number[NUMBER_SIZE])
{
    (void)number;
    return record->subject.node[0] != '\0' ? record->subject.node : NULL;
}

static const char *user(const struct log_record *record, char number[NUMBER_SIZE])
{
    (void)number;
    return record->subject.user;
}

static const char *request(const struct log_record *record, char number[NUMBER_SIZE])
{
    (void)number;
    return record->subject.request;
}

static const struct {
    const char *name;
    field_text text;
} fields[] = {
    { "PRIORITY=", priority },
    { "SYSLOG_IDENTIFIER=", identifier },
    { "MESSAGE=", message },
    { "MESSAGE_ID=", id },
    { "EDL_JOB=", job },
    { "EDL_ROLE=", role },
    { "EDL_INDEX=", index_in_role },
    { "EDL_INCARNATION=", incarnation },
    { "EDL_NODE=", node },
    { "EDL_USER=", user },
    { "EDL_REQUEST=", request },
};

static int send_entry(const struct log_record *record)
{
    char entry[2048];
    struct iovec parts[ELEMENTS(fields)];
    size_t used = 0;
    int n = 0;

    for (size_t i = 0; i < ELEMENTS(fields); i++) {
        char number[NUMBER_SIZE];
        const char *text = fields[i].text(record, number);
        int length;

        if (text == NULL)
            continue;
        length = snprintf(entry + used, sizeof entry - used, "%s%s", fields[i].name, text);
        if (length < 0 || (size_t)length >= sizeof entry - used)
            return -E2BIG;
        parts[n++] = (struct iovec){ .iov_base = entry + used, .iov_len = (size_t)length };
        used += (size_t)length;
    }
    return sd_journal_sendv(parts, n);
}

void journal_open(void)
{
    if (log_is_journal())
        log_to(send_entry);
}
