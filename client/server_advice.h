/* SPDX-License-Identifier: Apache-2.0 */
/* server_advice.h - advice when no scheduler is known or none answers: by the packages of this
 * machine */
#pragma once

#include <stdbool.h>

struct edl_error;
struct http_answer;

/* server_advise_unknown - there is no file of a scheduler; -ENOENT with error. root: where
 * the files of this machine are, "" for /. */
int server_advise_unknown(const char *root, struct edl_error *error);

/* server_advise - of a call that found nobody: in words of the server, instead of the library's.
 * Changes nothing where more is known already. */
void server_advise(const char *base, struct http_answer *answer);

/* server_is_packaged - `edl` is here by a package, so a cluster of `edl dev` is not what is meant
 */
bool server_is_packaged(const char *root);
