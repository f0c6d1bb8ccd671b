/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - groups of users: the part of the cluster that each is guaranteed */
#include <errno.h>
#include <stdio.h>

#include "scheduler/accounts/users.h"
#include "scheduler/api/api.h"
#include "scheduler/api/owner_limits.h"
#include "scheduler/api/page.h"
#include "scheduler/api/precondition.h"
#include "scheduler/calls/body.h"
#include "scheduler/core/core.h"
#include "scheduler/scheduler.h"
#include "shared/clock.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

static json_t *group_to_json(const struct scheduler *scheduler, const struct user_group *group)
{
    const struct group_spec *spec = &group->spec;

    json_t *json =
        json_pack("{s:s,s:I,s:I,s:I,s:I,s:I}", "name", spec->name, "guaranteed_permille",
                  (json_int_t)spec->guaranteed_permille, "weight", (json_int_t)spec->weight,
                  "held_permille",
                  (json_int_t)cluster_group_held_permille(scheduler->cluster, spec->name),
                  "members", (json_int_t)group->n_members, "created_us",
                  (json_int_t)clock_shown_us(group->created_wall_us));

    owner_limits_show(json, scheduler->cluster, spec->name, true, &spec->limits);
    return json;
}

static json_t *build_group(struct scheduler *scheduler, const char *key, uint64_t id)
{
    const struct user_group *group = groups_find(scheduler->users, key);

    (void)id;
    return group != NULL ? group_to_json(scheduler, group) : NULL;
}

static bool tag_group(struct scheduler *scheduler, const char *key, uint64_t id, char ret[ETAG_MAX])
{
    const struct user_group *group = groups_find(scheduler->users, key);

    (void)id;
    if (group != NULL)
        etag_of_group(&group->spec, ret, ETAG_MAX);
    return group != NULL;
}

static void reply_changed(struct scheduler *scheduler, struct http_request *request,
                          unsigned status, const struct user_group *group)
{
    struct held *held = held_new(request);

    held->tag = tag_group;
    held_build_after_commit(scheduler, held, status, build_group, group->spec.name, 0);
}

void api_groups_list(struct http_request *request, void *userdata)
{
    const struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct page page;
    json_t *groups, *next;

    if (page_open(request, &page, &error) < 0) {
        http_reply_error(request, &error);
        return;
    }
    for (const struct user_group *group = groups_first(scheduler->users); group != NULL;
         group = group->hh.next)
        page_offer(&page, group->spec.name, group);
    next = page_fill(&page);
    groups = json_array();
    for (size_t i = 0; i < page.n; i++)
        (void)json_array_append_new(groups, group_to_json(scheduler, page.items[i].item));
    page_close(&page);
    http_reply_json(request, 200, json_pack("{s:o,s:o}", "groups", groups, "next", next));
}

/* The group of the path, as the caller has seen it; NULL with the request answered */
static struct user_group *path_group(struct scheduler *scheduler, struct http_request *request)
{
    const char *name = http_request_param(request, "group");
    struct user_group *group = groups_find(scheduler->users, name);
    struct edl_error error = { 0 };
    char tag[ETAG_MAX];

    if (group != NULL) {
        etag_of_group(&group->spec, tag, sizeof tag);
        if (precondition_check(request, tag, &error) == 0)
            return group;
    } else {
        (void)edl_error_set(&error, -ENOENT, "there is no group \"%s\"", name);
        (void)edl_error_remedy(&error,
                               "`edl group list` shows all, `edl group add NAME` makes one");
    }
    refuse_after_commit(scheduler, request, &error);
    return NULL;
}

void api_group_show(struct http_request *request, void *userdata)
{
    const struct user_group *group = path_group(userdata, request);
    char tag[ETAG_MAX];

    if (group == NULL)
        return;
    etag_of_group(&group->spec, tag, sizeof tag);
    http_reply_header(request, "ETag", tag);
    http_reply_json(request, 200, group_to_json(userdata, group));
}

static int read_shares(const struct body_field *field, struct group_spec *spec,
                       struct edl_error *error)
{
    uint64_t guaranteed_permille = spec->guaranteed_permille;
    uint64_t weight = spec->weight;
    int r = body_u64(field, "guaranteed_permille", 1000, &guaranteed_permille, error);

    if (r == 0)
        r = body_u64(field, "weight", GROUP_WEIGHT_MAX, &weight, error);
    spec->guaranteed_permille = (uint32_t)guaranteed_permille;
    spec->weight = (uint32_t)weight;
    return r == 0 ? owner_limits_read(field, &spec->limits, error) : r;
}

static int put(struct scheduler *scheduler, const struct group_spec *spec, struct user_group **ret,
               struct edl_error *error)
{
    int r = groups_put(scheduler->users, spec, clock_instant().wall_us, ret, error);

    if (r == 0)
        scheduler_tell_groups(scheduler);
    return r;
}

static int add(struct scheduler *scheduler, const json_t *body, struct user_group **ret,
               struct edl_error *error)
{
    struct body_field must = { .object = body, .at = "", .required = true };
    struct body_field may = { .object = body, .at = "" };
    struct group_spec spec = { .weight = 1 };
    const char *name = "";
    int r = body_known(&may, "name guaranteed_permille weight " OWNER_LIMIT_KEYS, error);

    if (r == 0)
        r = body_string(&must, "name", GROUP_NAME_MAX, &name, error);
    if (r == 0)
        r = read_shares(&may, &spec, error);
    if (r < 0)
        return r;
    if (groups_find(scheduler->users, name) != NULL) {
        (void)edl_error_at(error, -EEXIST, "/name", "there is a group %s", name);
        return edl_error_remedy(error, "edl group set %s --permille N", name);
    }
    (void)snprintf(spec.name, sizeof spec.name, "%s", name);
    return put(scheduler, &spec, ret, error);
}

void api_group_add(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct edl_error error = { 0 };
    struct user_group *group = NULL;
    json_t *body = NULL;
    int r = body_object(request, &body, &error);

    if (r == 0)
        r = add(scheduler, body, &group, &error);
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else
        reply_changed(scheduler, request, 201, group);
    json_decref(body);
}

void api_group_set(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct user_group *group = path_group(scheduler, request);
    struct body_field may = { .at = "" };
    struct edl_error error = { 0 };
    struct group_spec spec;
    json_t *body = NULL;
    int r;

    if (group == NULL)
        return;
    spec = group->spec;
    r = body_object(request, &body, &error);
    may.object = body;
    if (r == 0)
        r = body_known(&may, "guaranteed_permille weight " OWNER_LIMIT_KEYS, &error);
    if (r == 0)
        r = read_shares(&may, &spec, &error);
    if (r == 0 && !body_has(&may, "guaranteed_permille") && !body_has(&may, "weight") &&
        !owner_limits_given(&may))
        r = edl_error_at(&error, -EINVAL, "", "no guaranteed_permille, weight or limit is given");
    if (r == 0)
        r = put(scheduler, &spec, &group, &error);
    if (r < 0)
        refuse_after_commit(scheduler, request, &error);
    else
        reply_changed(scheduler, request, 200, group);
    json_decref(body);
}

void api_group_remove(struct http_request *request, void *userdata)
{
    struct scheduler *scheduler = userdata;
    struct user_group *group = path_group(scheduler, request);
    json_t *answer;

    if (group == NULL)
        return;
    answer = json_pack("{s:s,s:s}", "name", group->spec.name, "state", "removed");
    groups_drop(scheduler->users, group);
    scheduler_tell_groups(scheduler);
    held_after_commit(scheduler, held_new(request), 200, answer);
}
