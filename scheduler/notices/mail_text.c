/* SPDX-License-Identifier: Apache-2.0 */
/* mail_text.c - see mail_text.h */
#include "scheduler/notices/mail_text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shared/cleanup.h"
#include "shared/json_read.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "shared/text_format.h"

#define HEADER_MAX 200     /* bytes of a value that others have made */
#define LINE_MAX_BYTES 900 /* a line of a mail has 998 at most */

/* clean - one line of printable characters; of a header ASCII alone; the caller's */
static char *clean(const char *text, size_t most, bool ascii)
{
    char *copy = xstrdup(text);

    copy[printable_prefix(copy, most)] = '\0';
    printable_mask(copy, strlen(copy), "");
    for (char *c = copy; ascii && *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return copy;
}

/* next_notice - of the line at *at, which goes on to the next; new reference, NULL: no more */
static json_t *next_notice(const char **at)
{
    const char *end = strchr(*at, '\n');
    size_t n = end != NULL ? (size_t)(end - *at) : strlen(*at);
    json_t *json = n > 0 ? json_loadb(*at, n, 0, NULL) : NULL;

    *at += n + (end != NULL);
    return json;
}

/* --- what happened, in words --- */

static const char *verb_of(const char *event, const char *state)
{
    static const struct {
        const char *event, *state, *verb;
    } verbs[] = {
        { "begin", NULL, "has started" },       { "requeue", NULL, "is queued again" },
        { NULL, "succeeded", "has succeeded" }, { NULL, "failed", "has failed" },
        { NULL, "killed", "was killed" },
    };

    for (size_t i = 0; i < ELEMENTS(verbs); i++)
        if ((verbs[i].event == NULL || streq(verbs[i].event, event)) &&
            (verbs[i].state == NULL || streq(verbs[i].state, state)))
            return verbs[i].verb;
    return "is told of";
}

static char *array_what(const json_t *notice, const json_t *array)
{
    const char *event = json_text(notice, "event"), *name = json_text(array, "name");

    if (streq(event, "end"))
        return text_format("array %s is over: %" PRIu64 " of %" PRIu64 " succeeded, %" PRIu64
                           " failed, %" PRIu64 " killed",
                           name, json_u64(array, "succeeded"), json_u64(array, "jobs"),
                           json_u64(array, "failed"), json_u64(array, "killed"));
    return text_format("array %s: its first job %s: %s (%" PRIu64 ")", name,
                       streq(event, "begin")  ? "has started"
                       : streq(event, "fail") ? "that did not succeed"
                                              : "is queued again",
                       json_text(notice, "name"), json_u64(notice, "job"));
}

/* what - one line; the caller's */
static char *what(const json_t *notice)
{
    const json_t *array = json_object_get(notice, "array");

    if (json_is_object(array))
        return array_what(notice, array);
    return text_format("job %s (%" PRIu64 ") %s", json_text(notice, "name"),
                       json_u64(notice, "job"),
                       verb_of(json_text(notice, "event"), json_text(notice, "state")));
}

char *mail_text_subject(const char *lines, uint32_t n_more)
{
    uint32_t n = n_more, n_failed = 0;
    _cleanup_free_ char *first = NULL, *all = NULL;
    json_t *notice;

    for (const char *at = lines; (notice = next_notice(&at)) != NULL; n++) {
        n_failed += streq(json_text(notice, "event"), "fail");
        if (first == NULL)
            first = what(notice);
        json_decref(notice);
    }
    if (n == 1)
        all = text_format("EDL: %s", first != NULL ? first : "a job");
    else if (n_failed > 0)
        all = text_format("EDL: notices of jobs: %" PRIu32 ", of failures: %" PRIu32, n, n_failed);
    else
        all = text_format("EDL: notices of jobs: %" PRIu32, n);
    return clean(all, HEADER_MAX, true);
}

/* --- headers --- */

static void write_to(FILE *out, const struct mail_head *head)
{
    const char *before = "To: ";

    for (const char *at = head->to; *at != '\0';) {
        size_t n = strcspn(at, ",");
        _cleanup_free_ char *one = text_format("%.*s", (int)n, at);
        _cleanup_free_ char *address = clean(one, 254, true);
        bool bare = strchr(address, '@') == NULL && head->domain[0] != '\0';

        (void)fprintf(out, "%s%s%s%s", before, address, bare ? "@" : "", bare ? head->domain : "");
        before = ",\n ";
        at += n + (at[n] == ',');
    }
    (void)fprintf(out, "\n");
}

/* write_date - as RFC 5322 has it; strftime would take the words of the locale */
static void write_date(FILE *out, uint64_t wall_us)
{
    static const char *const days[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    time_t seconds = (time_t)(wall_us / USEC_PER_SEC);
    struct tm tm = { 0 };

    (void)gmtime_r(&seconds, &tm);
    (void)fprintf(out, "Date: %s, %02d %s %d %02d:%02d:%02d +0000\n", days[tm.tm_wday % 7],
                  tm.tm_mday, months[tm.tm_mon % 12], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
                  tm.tm_sec);
}

static void write_head(FILE *out, const struct mail_head *head, const char *lines, uint32_t n_more)
{
    _cleanup_free_ char *subject = mail_text_subject(lines, n_more);
    _cleanup_free_ char *from = clean(head->from, 254, true);
    _cleanup_free_ char *id = clean(head->id, HEADER_MAX, true);
    _cleanup_free_ char *host = clean(head->host, HEADER_MAX, true);

    (void)fprintf(out, "From: EDL <%s>\n", from);
    write_to(out, head);
    (void)fprintf(out, "Subject: %s\n", subject);
    write_date(out, head->wall_us);
    (void)fprintf(out,
                  "Message-ID: <%s@%s>\nX-EDL-Notice-Id: %s\n"
                  "Auto-Submitted: auto-generated\nPrecedence: bulk\nMIME-Version: 1.0\n"
                  "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n",
                  id, host, id);
}

/* --- the text --- */

static void write_line(FILE *out, const char *name, const char *text)
{
    _cleanup_free_ char *line = clean(text, LINE_MAX_BYTES, false);

    if (*line != '\0')
        (void)fprintf(out, "  %-12s %s\n", name, line);
}

static void write_run_time(FILE *out, const json_t *notice)
{
    uint64_t s = json_u64(notice, "ran_s");
    _cleanup_free_ char *text =
        s < 60     ? text_format("%" PRIu64 " s", s)
        : s < 3600 ? text_format("%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60)
                   : text_format("%" PRIu64 " h %" PRIu64 " min", s / 3600, s / 60 % 60);

    if (json_is_string(json_object_get(notice, "started_at")))
        write_line(out, "ran for", text);
}

static void write_first_error(FILE *out, const json_t *notice)
{
    const json_t *error = json_object_get(notice, "first_error");
    _cleanup_free_ char *text = NULL;

    if (!json_is_object(error))
        return;
    text = text_format("%s on %s: %s", json_text(error, "process"), json_text(error, "node"),
                       json_text(error, "text"));
    write_line(out, "first error", text);
}

static void write_notice(FILE *out, const json_t *notice)
{
    const json_t *array = json_object_get(notice, "array");
    _cleanup_free_ char *title = what(notice);
    _cleanup_free_ char *line = clean(title, LINE_MAX_BYTES, false);

    bool is_sum = json_is_object(array) && streq(json_text(notice, "event"), "end");

    (void)fprintf(out, "%s\n\n", line);
    write_line(out, "user", json_text(notice, "user"));
    if (!is_sum) {
        write_line(out, "why", json_text(notice, "reason"));
        write_first_error(out, notice);
    }
    write_line(out, "submitted", json_text(notice, "submitted_at"));
    if (!is_sum)
        write_line(out, "started", json_text(notice, "started_at"));
    write_line(out, "ended", json_text(notice, "ended_at"));
    if (!is_sum)
        write_run_time(out, notice);
    write_line(out, "see", json_text(notice, "see"));
    if (json_u64(array, "first_failed") != 0)
        (void)fprintf(out, "  %-12s edl logs %" PRIu64 "\n", "failed first",
                      json_u64(array, "first_failed"));
    (void)fprintf(out, "\n");
}

char *mail_text_make(const struct mail_head *head, const char *lines, uint32_t n_more)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    json_t *notice;

    if (out == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    write_head(out, head, lines, n_more);
    for (const char *at = lines; (notice = next_notice(&at)) != NULL;) {
        write_notice(out, notice);
        json_decref(notice);
    }
    if (n_more > 0)
        (void)fprintf(out, "and %" PRIu32 " more: edl ps --all\n\n", n_more);
    (void)fprintf(out, "--\nSent by EDL, as the job's notify says.\n");
    (void)fclose(out);
    return text;
}
