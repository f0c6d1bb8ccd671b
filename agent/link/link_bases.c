/* SPDX-License-Identifier: Apache-2.0 */
/* link_bases.c - see link_bases.h */
#include "agent/link/link_bases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/server_round.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"

struct base {
    char *url; /* owned */
    bool given, learnt;
    struct http_async *own, *others; /* owned; NULL: not used yet */
};

struct link_bases {
    sd_event *event;
    char *ca_path; /* NULL: none */
    struct base list[SERVER_ROUND_MAX];
    unsigned n;
    bool complained; /* that there is no room, or no authority */
};

int link_bases_find(const struct link_bases *bases, const char *url)
{
    for (unsigned i = 0; i < bases->n; i++)
        if (streq(bases->list[i].url, url))
            return (int)i;
    return -ENOENT;
}

/* add - its number; numbers are never given to another one, as calls may be under way */
static int add(struct link_bases *bases, const char *url)
{
    int found = link_bases_find(bases, url);

    if (found >= 0)
        return found;
    if (bases->n == SERVER_ROUND_MAX)
        return -ENOSPC;
    bases->list[bases->n] = (struct base){ .url = xstrdup(url) };
    return (int)bases->n++;
}

int link_bases_new(sd_event *event, const struct server_list *given, const char *ca_path,
                   struct link_bases **ret, struct edl_error *error)
{
    struct link_bases *bases = xcalloc(1, sizeof *bases);

    bases->event = sd_event_ref(event);
    bases->ca_path = ca_path != NULL ? xstrdup(ca_path) : NULL;
    for (size_t i = 0; i < given->n; i++)
        bases->list[add(bases, given->urls[i])].given = true;
    /* a fault of the first one is told now */
    if (bases->n == 0 || link_bases_own(bases, 0, error) == NULL) {
        int r =
            bases->n == 0 ? edl_error_set(error, -EINVAL, "no scheduler was given") : error->code;

        (void)link_bases_free(bases);
        return r;
    }
    *ret = bases;
    return 0;
}

struct link_bases *link_bases_free(struct link_bases *bases)
{
    if (bases == NULL)
        return NULL;
    for (unsigned i = 0; i < bases->n; i++) {
        (void)http_async_free(bases->list[i].own);
        (void)http_async_free(bases->list[i].others);
        free(bases->list[i].url);
    }
    sd_event_unref(bases->event);
    free(bases->ca_path);
    free(bases);
    return NULL;
}

static void complain(struct link_bases *bases, const char *url, const char *why)
{
    if (!bases->complained)
        log_warning("the scheduler at %.200s is not asked: %s", url, why);
    bases->complained = true;
}

static void learn_one(struct link_bases *bases, const char *url)
{
    int found = link_bases_find(bases, url);

    if (found < 0 && bases->ca_path == NULL && strncmp(url, "https://", 8) == 0) {
        complain(bases, url, "the authority of the cluster is not known; give ca: (edl-agent(8))");
        return;
    }
    found = add(bases, url);
    if (found < 0)
        complain(bases, url, "it is one of too many; restart the agent");
    else
        bases->list[found].learnt = true;
}

uint32_t link_bases_learn(struct link_bases *bases, const struct server_list *learnt)
{
    uint32_t listed = 0;

    for (unsigned i = 0; i < bases->n; i++)
        bases->list[i].learnt = false;
    for (size_t i = 0; i < learnt->n; i++)
        learn_one(bases, learnt->urls[i]);
    for (unsigned i = 0; i < bases->n; i++)
        listed |= bases->list[i].given || bases->list[i].learnt ? UINT32_C(1) << i : 0;
    return listed;
}

const char *link_bases_url(const struct link_bases *bases, unsigned base)
{
    return bases->list[base].url;
}

static struct http_async *client(struct link_bases *bases, unsigned base, struct http_async **at,
                                 struct edl_error *error)
{
    if (*at != NULL || http_async_new(bases->event, bases->list[base].url, at, error) < 0)
        return *at;
    if (bases->ca_path != NULL)
        http_async_trust(*at, bases->ca_path);
    return *at;
}

struct http_async *link_bases_own(struct link_bases *bases, unsigned base, struct edl_error *error)
{
    struct http_async **own = &bases->list[base].own;
    bool is_new = *own == NULL;

    if (client(bases, base, own, error) != NULL && is_new)
        http_async_hurry(*own);
    return *own;
}

struct http_async *link_bases_others(struct link_bases *bases, unsigned base,
                                     struct edl_error *error)
{
    return client(bases, base, &bases->list[base].others, error);
}

void link_bases_renew(struct link_bases *bases)
{
    for (unsigned i = 0; i < bases->n; i++) {
        if (bases->list[i].own != NULL)
            http_async_renew(bases->list[i].own);
        if (bases->list[i].others != NULL)
            http_async_renew(bases->list[i].others);
    }
}

void link_bases_leave(struct link_bases *bases, unsigned base)
{
    for (unsigned i = 0; i < bases->n; i++)
        if (i != base && bases->list[i].others != NULL)
            http_async_abandon(bases->list[i].others, "another scheduler leads now");
}
