/* SPDX-License-Identifier: Apache-2.0 */
/* role_check.h - whether a person's role is enough for a call, and who can give the role that is
 *
 * Used by: auth.c. Tests: tests/unit/test_users.c, tests/integration/150-socket.sh. */
#pragma once

struct caller;
struct edl_error;
struct http_route;

/* role_check - -EACCES, with the line that an admin types, where it is not */
int role_check(const struct caller *caller, const struct http_route *route,
               struct edl_error *error);
