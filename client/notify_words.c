/* SPDX-License-Identifier: Apache-2.0 */
/* notify_words.c - see notify_words.h */
#include "client/notify_words.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/macro.h"

#define TYPES "NONE, BEGIN, END, FAIL, REQUEUE, ALL and ARRAY_TASKS"

/* --- types, as Slurm has them --- */

enum { ON_NOTHING = 1, ON_EACH = 2 };

static const struct {
    const char *type;
    const char *const *events; /* as `on` has them */
    unsigned flags;
    const char *remedy; /* of one that is not taken */
} types_known[] = {
    { "NONE", NULL, ON_NOTHING, NULL },
    { "BEGIN", (const char *const[]){ "begin", NULL }, 0, NULL },
    { "END", (const char *const[]){ "end", NULL }, 0, NULL },
    { "FAIL", (const char *const[]){ "fail", NULL }, 0, NULL },
    { "REQUEUE", (const char *const[]){ "requeue", NULL }, 0, NULL },
    { "ALL", (const char *const[]){ "begin", "end", "fail", "requeue", NULL }, 0, NULL },
    { "ARRAY_TASKS", NULL, ON_EACH, NULL },
    { "INVALID_DEPEND", NULL, 0, "FAIL tells of it: such a job has failed" },
    { "TIME_LIMIT", NULL, 0, "FAIL tells of it, when the time is up" },
    { "TIME_LIMIT_90", NULL, 0, "FAIL tells when the time is up, and nothing tells before" },
    { "TIME_LIMIT_80", NULL, 0, "FAIL tells when the time is up, and nothing tells before" },
    { "TIME_LIMIT_50", NULL, 0, "FAIL tells when the time is up, and nothing tells before" },
    { "STAGE_OUT", NULL, 0, "leave it out: there is no burst buffer" },
};

static void add_event(json_t *on, const char *event)
{
    json_t *there;
    size_t i;

    json_array_foreach(on, i, there) if (streq(json_string_value(there), event)) return;
    (void)json_array_append_new(on, json_string(event));
}

static int take_type(const char *word, size_t n, json_t *on, unsigned *flags,
                     struct edl_error *error)
{
    for (size_t i = 0; i < ELEMENTS(types_known); i++) {
        if (strlen(types_known[i].type) != n || strncasecmp(types_known[i].type, word, n) != 0)
            continue;
        if (types_known[i].remedy != NULL) {
            (void)edl_error_set(error, -EINVAL, "--mail-type %s does nothing here",
                                types_known[i].type);
            return edl_error_remedy(error, "%s", types_known[i].remedy);
        }
        *flags |= types_known[i].flags;
        for (const char *const *event = types_known[i].events; event != NULL && *event != NULL;
             event++)
            add_event(on, *event);
        return 0;
    }
    (void)edl_error_set(error, -EINVAL, "--mail-type: \"%.*s\" is none of " TYPES,
                        (int)MIN_OF(n, 40), word);
    return edl_error_remedy(error, "--mail-type END,FAIL");
}

static int read_types(const char *types, json_t *on, unsigned *flags, struct edl_error *error)
{
    int r = 0;

    for (const char *at = types; r == 0;) {
        size_t n = strcspn(at, ",");

        r = take_type(at, n, on, flags, error);
        at += n;
        if (*at == '\0')
            break;
        at++;
    }
    if (r == 0 && (*flags & ON_NOTHING) != 0 && json_array_size(on) > 0) {
        (void)edl_error_set(error, -EINVAL, "--mail-type: NONE goes with no other type");
        return edl_error_remedy(error, "--mail-type END,FAIL");
    }
    return r;
}

/* --- addresses --- */

static int add_users(json_t *notify, const char *users, struct edl_error *error)
{
    json_t *mails = json_array();

    (void)json_object_set_new(notify, "mail", mails);
    for (const char *at = users;;) {
        size_t n = strcspn(at, ",");

        if (n == 0 || json_array_append_new(mails, json_stringn(at, n)) == -1) {
            (void)edl_error_set(error, -EINVAL, "--mail-user: an address is missing in \"%.80s\"",
                                users);
            return edl_error_remedy(error, "--mail-user ann@example.org");
        }
        at += n;
        if (*at == '\0')
            return 0;
        at++;
    }
}

/* add_self - as in Slurm it is the submitter who gets the mail */
static int add_self(json_t *notify, struct edl_error *error)
{
    const struct passwd *own = getpwuid(geteuid());

    if (own != NULL)
        return add_users(notify, own->pw_name, error);
    (void)edl_error_set(error, -EINVAL, "--mail-type: nobody knows who you are");
    return edl_error_remedy(error, "--mail-user ann@example.org");
}

int notify_words_add(json_t *spec, const char *types, const char *users, const char *webhook,
                     struct edl_error *error)
{
    json_t *notify, *on;
    unsigned flags = 0;
    int r;

    if (types == NULL && users == NULL && webhook == NULL)
        return 0;
    notify = json_object();
    on = json_array();
    r = types != NULL ? read_types(types, on, &flags, error) : 0;
    if (r == 0 && json_array_size(on) > 0)
        (void)json_object_set(notify, "on", on);
    json_decref(on);
    if (r == 0 && (flags & ON_EACH) != 0)
        (void)json_object_set_new(notify, "each", json_true());
    if (r == 0 && users != NULL)
        r = add_users(notify, users, error);
    else if (r == 0 && webhook == NULL && (flags & ON_NOTHING) == 0)
        r = add_self(notify, error);
    if (r == 0 && webhook != NULL &&
        json_object_set_new(notify, "webhook", json_string(webhook)) == -1)
        r = edl_error_set(error, -EINVAL, "--webhook: the URL is not UTF-8");
    if (r == 0 && (flags & ON_NOTHING) == 0)
        (void)json_object_set(spec, "notify", notify);
    json_decref(notify);
    return r;
}
