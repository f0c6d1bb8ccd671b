/* SPDX-License-Identifier: Apache-2.0 */
/* job_document_notify.c - the receivers of notices about a job: the key `notify` */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_draft.h"
#include "shared/job_notify.h"
#include "shared/macro.h"

#define AT(field) offsetof(struct job_draft, notify.field)

static int read_on(struct document_reader *reader, const char *key, const json_t *value,
                   void *target);
static int read_mails(struct document_reader *reader, const char *key, const json_t *value,
                      void *target);

static const struct document_rule rules[] = {
    { .key = "on", .kind = DOCUMENT_CALL, .call = read_on },
    { .key = "mail", .kind = DOCUMENT_CALL, .call = read_mails },
    { .key = "webhook", .kind = DOCUMENT_TEXT, .offset = AT(webhook), .max = WEBHOOK_URL_MAX },
    { .key = "each", .kind = DOCUMENT_BOOLEAN, .offset = AT(each) },
};

typedef int (*text_fn)(struct document_reader *reader, struct job_draft *draft, const char *text);

/* each_text - one text, or a list of them; fn says whether it will do */
static int each_text(struct document_reader *reader, const json_t *value, size_t max, text_fn fn,
                     struct job_draft *draft)
{
    size_t n = json_is_array(value) ? json_array_size(value) : 1;
    const char *text;
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        size_t length = json_is_array(value) ? document_enter_index(reader, i) : 0;
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;

        r = document_text(reader, item, max, &text);
        if (r == 0)
            r = fn(reader, draft, text);
        if (r == 0 && length > 0)
            document_leave(reader, length);
    }
    return r;
}

static int take_on(struct document_reader *reader, struct job_draft *draft, const char *text)
{
    int event = notify_event_from_string(text);

    if (event >= 0) {
        draft->notify.on |= (uint32_t)event;
        return 0;
    }
    (void)document_refuse(reader, "\"%.40s\" is nothing that is told", text);
    return edl_error_remedy(reader->error, "write begin, end, fail or requeue");
}

static int read_on(struct document_reader *reader, const char *key, const json_t *value,
                   void *target)
{
    struct job_draft *draft = target;

    (void)key;
    draft->notify.on_given = true;
    return each_text(reader, value, 40, take_on, draft);
}

static int take_mail(struct document_reader *reader, struct job_draft *draft, const char *text)
{
    if (!mail_address_valid(text)) {
        (void)document_refuse(reader, "this is no address that mail can be sent to");
        return edl_error_remedy(reader->error, "write NAME@DOMAIN, or the name of an account");
    }
    if (draft->notify.n_mails == NOTIFY_MAILS_MAX)
        return document_refuse(reader, "more than %d addresses", NOTIFY_MAILS_MAX);
    draft->notify.mails[draft->notify.n_mails++] = text;
    return 0;
}

static int read_mails(struct document_reader *reader, const char *key, const json_t *value,
                      void *target)
{
    (void)key;
    return each_text(reader, value, MAIL_ADDRESS_MAX, take_mail, target);
}

int job_draft_read_notify(struct document_reader *reader, const char *key, const json_t *value,
                          void *target)
{
    struct job_draft *draft = target;

    (void)key;
    draft->notify.given = true;
    return document_read(reader, value, rules, ELEMENTS(rules), target);
}

static int refuse(struct document_reader *reader, const struct job_draft *draft, const char *key,
                  const char *text, const char *remedy)
{
    (void)job_draft_refuse(reader, draft, key, text);
    return edl_error_remedy(reader->error, "%s", remedy);
}

int job_draft_finish_notify(struct document_reader *reader, const struct job_draft *draft,
                            struct job_spec *spec)
{
    const struct notify_draft *given = &draft->notify;
    struct job_notify *notify;

    if (!given->given)
        return 0;
    if (given->n_mails == 0 && given->webhook == NULL)
        return refuse(reader, draft, "notify", "nobody is named who is told",
                      "write mail: [ann@example.org], or webhook: https://HOST/PATH");
    if (given->on_given && given->on == 0)
        return refuse(reader, draft, "notify/on", "nothing is named that is told",
                      "write on: [end, fail], or leave it out: it means that");
    if (given->webhook != NULL && webhook_url_read(given->webhook, NULL, reader->error) < 0) {
        (void)snprintf(reader->error->pointer, sizeof reader->error->pointer, "%s/notify/webhook",
                       draft->pointer);
        reader->error->code = EDL_EBADSPEC;
        return EDL_EBADSPEC;
    }
    spec->notify = notify = xcalloc(1, sizeof *notify);
    notify->on = given->on_given ? given->on : (uint32_t)(NOTIFY_END | NOTIFY_FAIL);
    notify->each = given->each != 0;
    notify->webhook = given->webhook != NULL ? xstrdup(given->webhook) : NULL;
    if (given->n_mails > 0)
        notify->mails = xcalloc(given->n_mails + 1, sizeof *notify->mails);
    for (size_t i = 0; i < given->n_mails; i++)
        notify->mails[i] = xstrdup(given->mails[i]);
    return 0;
}

json_t *job_notify_to_json(const struct job_notify *notify)
{
    json_t *json = json_object(), *on = json_array(), *mails = json_array();

    for (uint32_t event = NOTIFY_BEGIN; event <= NOTIFY_REQUEUE; event <<= 1)
        if (notify->on & event)
            (void)json_array_append_new(on, json_string(
                                                notify_event_to_string((enum notify_event)event)));
    (void)json_object_set_new(json, "on", on);
    for (char **mail = notify->mails; mail != NULL && *mail != NULL; mail++)
        (void)json_array_append_new(mails, json_string(*mail));
    if (json_array_size(mails) > 0)
        (void)json_object_set(json, "mail", mails);
    json_decref(mails);
    if (notify->webhook != NULL)
        (void)json_object_set_new(json, "webhook", json_string(notify->webhook));
    if (notify->each)
        (void)json_object_set_new(json, "each", json_true());
    return json;
}
