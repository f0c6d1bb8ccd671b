/* SPDX-License-Identifier: Apache-2.0 */
/* session_note.c - see session_note.h */
#include "scheduler/nodes/session_note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "scheduler/nodes/sessions_internal.h"
#include "scheduler/store/store.h"
#include "shared/cleanup.h"
#include "shared/clock.h"
#include "shared/macro.h"
#include "shared/printable.h"
#include "shared/shell_word.h"

#define COMMAND_SHOWN 2000 /* bytes of it in a line; the rest is "..." */

/* write_command - as somebody would type it */
static void write_command(FILE *out, const struct session *session)
{
    const json_t *command = json_object_get(session->order, "command");
    size_t used = 0;

    for (size_t i = 0; i < json_array_size(command); i++) {
        _cleanup_free_ char *word = shell_word(json_string_value(json_array_get(command, i)));
        int shown = printable_prefix(word, COMMAND_SHOWN - used);

        (void)fprintf(out, "%s%.*s", i == 0 ? ": " : " ", shown, word);
        used += (size_t)shown + 1;
        if (word[shown] != '\0' || used >= COMMAND_SHOWN) {
            (void)fputs("...", out);
            return;
        }
    }
}

static void note(struct session *session, const char *method, unsigned status, char *target)
{
    printable_mask(target, strlen(target), "");
    users_note(session->scheduler->users, &(struct audit_entry){ .wall_us = clock_instant().wall_us,
                                                                 .user = session->user,
                                                                 .via = session->via,
                                                                 .method = method,
                                                                 .target = target,
                                                                 .request_id = session->request_id,
                                                                 .status = status });
    scheduler_touch(session->scheduler);
}

static FILE *open_text(char **ret, size_t *ret_size)
{
    FILE *out = open_memstream(ret, ret_size);

    if (out == NULL)
        abort(); /* memory is out: the unit restarts, and state is on disk */
    return out;
}

static void write_what(FILE *out, const struct session *session)
{
    (void)fprintf(out, "%s %s of job %" PRIu64 " (%s) on %s", session_kind_to_string(session->kind),
                  session->process_name, session->process.job_id, session->job, session->node);
    write_command(out, session);
}

void session_note_begin(struct session *session)
{
    _cleanup_free_ char *text = NULL;
    size_t size;
    FILE *out = open_text(&text, &size);

    (void)fprintf(out, "/sessions/%s ", session->id);
    write_what(out, session);
    if (fclose(out) == 0)
        note(session, "POST", 201, text);
}

void session_note_end(struct session *session)
{
    uint64_t s = (clock_read_us(CLOCK_BOOTTIME) - session->since_us) / USEC_PER_SEC;
    _cleanup_free_ char *text = NULL;
    size_t size;
    FILE *out = open_text(&text, &size);

    (void)fprintf(out,
                  "/sessions/%s %s after %" PRIu64 " s, %" PRIu64 " bytes in, %" PRIu64 " out: ",
                  session->id, session_cause_to_string(session->cause), s,
                  session->bytes[SESSION_PERSON], session->bytes[SESSION_NODE]);
    write_what(out, session);
    if (fclose(out) == 0)
        note(session, "END", 200, text);
}
