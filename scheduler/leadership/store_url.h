/* SPDX-License-Identifier: Apache-2.0 */
/* store_url.h - the URL of a database, as far as people may see it
 *
 * A password stands in front of the @, or in the query. It goes to nobody: not into errors, logs or
 * answers. Used by: options.c, leadership. Tests: tests/unit/test_leadership.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define STORE_URL_MAX 1024

/* store_url_is_known - whether it names an engine other than the one in the state directory */
bool store_url_is_known(const char *url);

/* store_url_has_password - in one of the two places */
bool store_url_has_password(const char *url);

/* store_url_without_password - the same database; ret has STORE_URL_MAX bytes */
void store_url_without_password(const char *url, char *ret);
