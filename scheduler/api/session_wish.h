/* SPDX-License-Identifier: Apache-2.0 */
/* session_wish.h - what the body of POST /jobs/{job}/sessions asks for, with every way of being
 * wrong refused
 *
 * Used by: api/sessions.c. Tests: tests/unit/test_session_turns.c. */
#pragma once

#include <jansson.h>

struct edl_error;
struct session_wish;

#define SESSION_COMMAND_WORDS_MAX 1024
#define SESSION_COMMAND_BYTES_MAX (32 * 1024)
#define SESSION_COMMAND_JSON_MAX                                                                   \
    (64 * 1024) /* as it stands in orders; an agent takes thrice that */
#define SESSION_KEY_BYTES_MAX 8192
#define SESSION_TERM_BYTES_MAX 64
#define SESSION_ROWS_FALLBACK 24
#define SESSION_COLUMNS_FALLBACK 80

/* session_wish_read - kind, members and ends_job of wish; its members are an object that is there.
 * *ret_process is NULL, or the name, borrowed from the body. -EINVAL with pointer */
int session_wish_read(const json_t *body, struct session_wish *wish, const char **ret_process,
                      struct edl_error *error);
