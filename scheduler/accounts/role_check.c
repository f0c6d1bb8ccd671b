/* SPDX-License-Identifier: Apache-2.0 */
/* role_check.c - see role_check.h */
#include "scheduler/accounts/role_check.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/accounts/auth.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/macro.h"
#include "shared/shell_word.h"

/* The least role of people that may; USER_ADMIN may everything. */
static enum user_role least_role(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        enum user_role role;
    } roles[] = { { ROUTE_VIEWER, USER_VIEWER },
                  { ROUTE_USER, USER_USER },
                  { ROUTE_OPERATOR, USER_OPERATOR } };

    for (size_t i = 0; i < ELEMENTS(roles); i++)
        if ((flags & roles[i].flag) != 0)
            return roles[i].role;
    return USER_ADMIN;
}

static int refuse_barred(const struct caller *caller, struct edl_error *error)
{
    _cleanup_free_ char *word = NULL;

    if (streq(caller->user, AUTH_ADMIN_NAME)) {
        (void)edl_error_set(error, -EACCES,
                            "the account %s does not come in: root and the admin token have that"
                            " name here",
                            caller->user);
        return edl_error_remedy(error, "come in as another account, or with a token");
    }
    (void)edl_error_set(error, -EACCES, "%s does not come in: it has no role", caller->user);
    word = shell_word(caller->user);
    return edl_error_remedy(error, "an admin can give it one: edl user add %s", word);
}

/* check_browser - the token that a browser keeps reads, and takes itself away */
static int check_browser(const struct caller *caller, const struct http_route *route,
                         struct edl_error *error)
{
    if (!caller->is_browser || streq(route->method, "GET") || (route->flags & ROUTE_BROWSER) != 0)
        return 0;
    (void)edl_error_set(error, -EACCES,
                        "%s %s changes something, and %s is kept by a browser: it "
                        "only reads",
                        route->method, route->path, caller->via);
    return edl_error_remedy(error, "use edl, or a token of another kind: edl token create");
}

int role_check(const struct caller *caller, const struct http_route *route, struct edl_error *error)
{
    enum user_role least = least_role(route->flags);
    _cleanup_free_ char *word = NULL;

    if (caller->role >= least)
        return check_browser(caller, route, error);
    if (caller->role == USER_NOBODY)
        return refuse_barred(caller, error);
    (void)edl_error_set(error, -EACCES, "%s %s needs the role %s, and %s is %s", route->method,
                        route->path, user_role_to_string(least), caller->user,
                        user_role_to_string(caller->role));
    word = shell_word(caller->user);
    return edl_error_remedy(error, "an admin can give it: edl user set %s --role %s", word,
                            user_role_to_string(least));
}
