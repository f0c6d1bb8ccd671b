/* SPDX-License-Identifier: Apache-2.0 */
/* column_values.c - one value of a record to its column and back, by the column's kind */
#include <stdlib.h>

#include "scheduler/core/model/cause.h"
#include "scheduler/core/model/old_cause_text.h"
#include "scheduler/core/model/states.h"
#include "scheduler/store/store_columns.h"
#include "shared/hex.h"
#include "shared/macro.h"

uint64_t column_number(const void *member, size_t size)
{
    return size == sizeof(uint64_t)   ? *(const uint64_t *)member
           : size == sizeof(uint32_t) ? *(const uint32_t *)member
           : size == sizeof(uint16_t) ? *(const uint16_t *)member
                                      : *(const uint8_t *)member;
}

void column_set_number(void *member, size_t size, uint64_t value)
{
    if (size == sizeof(uint8_t))
        *(uint8_t *)member = (uint8_t)value;
    else if (size == sizeof(uint16_t))
        *(uint16_t *)member = (uint16_t)value;
    else if (size == sizeof(uint32_t))
        *(uint32_t *)member = (uint32_t)value;
    else
        *(uint64_t *)member = value;
}

static const char *word_of(enum column_kind kind, const void *member)
{
    switch (kind) {
    case COLUMN_JOB_STATE:
        return job_state_to_string(*(const enum job_state *)member);
    case COLUMN_PROCESS_STATE:
        return process_state_to_string(*(const enum process_state *)member);
    case COLUMN_NODE_STATE:
        return node_state_to_string(*(const enum node_state *)member);
    case COLUMN_INTENT:
        return intent_to_string(*(const enum intent *)member);
    default:
        return cause_to_string(*(const enum cause *)member);
    }
}

static int (*const from_word[_COLUMN_KINDS])(const char *word) = {
    [COLUMN_JOB_STATE] = job_state_from_string,
    [COLUMN_PROCESS_STATE] = process_state_from_string,
    [COLUMN_NODE_STATE] = node_state_from_string,
    [COLUMN_INTENT] = intent_from_string,
    [COLUMN_JOB_CAUSE] = cause_from_string,
    [COLUMN_PROCESS_CAUSE] = cause_from_string,
};

static void bind_secret(struct prepared *statement, int at, const uint8_t *secret)
{
    char text[JOB_SECRET_HEX + 1] = "";

    if (job_secret_is_set(secret))
        hex_encode(secret, JOB_SECRET_BYTES, text);
    store_take_text(statement, at, xstrdup(text));
}

void column_bind(struct prepared *statement, int at, const struct column *column,
                 const void *record)
{
    const void *member = (const char *)record + column->at;
    const struct job_record *job = record; /* if it is one */
    bool is_long = column->size == sizeof(int64_t);
    const char *text;

    switch (column->kind) {
    case COLUMN_PART:
    case COLUMN_GIVEN:
        break;
    case COLUMN_NUMBER:
    case COLUMN_BOOL:
        store_bind_u64(statement, at, column_number(member, column->size));
        break;
    case COLUMN_SIGNED:
        store_bind_i64(statement, at,
                       is_long ? *(const int64_t *)member : *(const int32_t *)member);
        break;
    case COLUMN_TEXT:
        store_bind_text(statement, at, member);
        break;
    case COLUMN_BORROWED:
        store_bind_text(statement, at, *(const char *const *)member);
        break;
    case COLUMN_SECRET:
        bind_secret(statement, at, member);
        break;
    case COLUMN_JOB_NAME:
        store_bind_text(statement, at, job->spec->name);
        break;
    case COLUMN_ARRAY_NAME:
        text = job_spec_array(job->spec);
        store_bind_text(statement, at, *text != '\0' ? text : NULL);
        break;
    case COLUMN_LIST:
    case COLUMN_LABELS:
    case COLUMN_DEVICES:
    case COLUMN_SPEC:
        store_take_text(statement, at, column_json_text(column, record));
        break;
    default:
        store_bind_text(statement, at, word_of(column->kind, member));
    }
}

uint64_t column_most(const struct column *column)
{
    if (column->most != 0)
        return column->most;
    return column->size < sizeof(uint64_t) ? (UINT64_C(1) << 8 * column->size) - 1 : INT64_MAX;
}

static void read_secret(struct row *row, int at, uint8_t *ret)
{
    char text[JOB_SECRET_HEX + 1];

    row_text(row, at, text, sizeof text);
    if (text[0] != '\0' && hex_decode(text, JOB_SECRET_BYTES, ret) < 0)
        (void)row_damaged(row, at, "is not a secret");
}

static bool is_told(const struct row *row, int at)
{
    return !store_column_is_null(row->statement, at);
}

/* The number of a word; of a row of a version before, its text says it. */
static int word_at(struct row *row, int at, enum column_kind kind, const void *record)
{
    const struct process_record *process = record; /* if it is one */
    const struct job_record *job = record;         /* or else */

    if (!is_told(row, at) && kind == COLUMN_PROCESS_CAUSE)
        return (int)cause_from_text(process->reason);
    if (!is_told(row, at) && kind == COLUMN_JOB_CAUSE)
        return (int)cause_from_text(job->reason_code);
    if (!is_told(row, at) && kind == COLUMN_INTENT)
        return (int)intent_from_text(job->state, job->reason_code);
    return row_state(row, at, from_word[kind]);
}

void column_read(struct row *row, int at, const struct column *column, void *record)
{
    void *member = (char *)record + column->at;
    bool is_long = column->size == sizeof(int64_t);

    switch (column->kind) {
    case COLUMN_PART:
    case COLUMN_GIVEN:
    case COLUMN_JOB_NAME: /* the document has them */
    case COLUMN_ARRAY_NAME:
        break;
    case COLUMN_NUMBER:
        column_set_number(member, column->size, row_u64(row, at, column_most(column)));
        break;
    case COLUMN_BOOL:
        *(bool *)member = row_bool(row, at);
        break;
    case COLUMN_SIGNED:
        column_set_number(member, column->size,
                          (uint64_t)row_i64(row, at, is_long ? INT64_MIN : INT32_MIN,
                                            is_long ? INT64_MAX : INT32_MAX));
        break;
    case COLUMN_TEXT:
        row_text(row, at, member, column->size);
        break;
    case COLUMN_BORROWED:
        *(const char **)member = is_told(row, at) ? store_column_text(row->statement, at) : NULL;
        break;
    case COLUMN_SECRET:
        read_secret(row, at, member);
        break;
    case COLUMN_LIST:
    case COLUMN_LABELS:
    case COLUMN_DEVICES:
    case COLUMN_SPEC:
        column_read_json(row, at, column, record);
        break;
    default:
        column_set_number(member, column->size, (uint64_t)word_at(row, at, column->kind, record));
    }
}
