/* SPDX-License-Identifier: Apache-2.0 */
/* precondition.c - see precondition.h */
#include "scheduler/api/precondition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/api/owner_limits.h"
#include "scheduler/accounts/users.h"
#include "scheduler/core/core.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"

void etag_of_job(const struct job *job, char *ret, size_t size)
{
    size_t used = (size_t)snprintf(ret, size, "\"p%d", job->spec->priority);

    for (uint32_t r = 0; r < job->spec->n_roles && used < size; r++)
        used += (size_t)snprintf(ret + used, size - used, ".%u-%u", job->spec->roles[r].min,
                                 job->spec->roles[r].max);
    if (used < size && job->spec->time_limit_us != 0)
        used += (size_t)snprintf(ret + used, size - used, ".t%" PRIu64, job->spec->time_limit_us);
    if (used < size)
        (void)snprintf(ret + used, size - used, "\"");
}

void etag_of_node(const struct node *node, char *ret, size_t size)
{
    (void)snprintf(ret, size, "\"%s\"", node_state_to_string(node->admin_state));
}

void etag_of_user(const struct user *user, char *ret, size_t size)
{
    (void)snprintf(ret, size - 1, "\"%s.%s", user_role_to_string(user->role),
                   user->group != NULL ? user->group->spec.name : "");
    owner_limits_tag(&user->limits, ret, size - 1);
    (void)snprintf(ret + strlen(ret), size - strlen(ret), "\"");
}

void etag_of_group(const struct group_spec *group, char *ret, size_t size)
{
    (void)snprintf(ret, size - 1, "\"g%u.w%u", group->guaranteed_permille, group->weight);
    owner_limits_tag(&group->limits, ret, size - 1);
    (void)snprintf(ret + strlen(ret), size - strlen(ret), "\"");
}

static int refuse_header(struct edl_error *error, const char *header)
{
    (void)edl_error_set(error, -EINVAL, "If-Match: %.80s is no list of entity tags", header);
    return edl_error_remedy(error, "give the ETag of an earlier answer, quotes included, or *");
}

int precondition_check(const struct http_request *request, const char *tag, struct edl_error *error)
{
    const char *header = http_request_header(request, "If-Match");
    const char *at = header;

    if (header == NULL || streq(header, "*"))
        return 0;
    for (;;) {
        const char *end;

        at += strspn(at, " \t");
        end = *at == '"' ? strchr(at + 1, '"') : NULL;
        if (end == NULL) /* a weak tag, W/"...", never matches here: RFC 9110 §13.1.1 */
            return refuse_header(error, header);
        if (strlen(tag) == (size_t)(end + 1 - at) && strncmp(at, tag, strlen(tag)) == 0)
            return 0;
        at = end + 1 + strspn(end + 1, " \t");
        if (*at == '\0')
            break;
        if (*at++ != ',')
            return refuse_header(error, header);
    }
    (void)edl_error_set(error, EDL_ECHANGED, "it was changed: its ETag is %s now", tag);
    return edl_error_remedy(error, "look at it again, and decide again");
}

/* What is no list of tags matches nothing: then the whole answer is sent, which is never wrong. */
bool precondition_is_known(const struct http_request *request, const char *tag)
{
    const char *at = http_request_header(request, "If-None-Match");

    if (at == NULL || streq(at, "*"))
        return at != NULL;
    for (;;) {
        const char *end;

        at += strspn(at, " \t,");
        if (strncmp(at, "W/", 2) == 0) /* what a proxy compressed is weak: RFC 9110 §13.1.2 */
            at += 2;
        end = *at == '"' ? strchr(at + 1, '"') : NULL;
        if (end == NULL)
            return false;
        if (strlen(tag) == (size_t)(end + 1 - at) && strncmp(at, tag, strlen(tag)) == 0)
            return true;
        at = end + 1;
    }
}
