/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite_engine.h - SQLite as an engine of the store; store_open (sqlite_open.c) opens it for use
 *
 * Used by: store_reader.c. Tests: tests/unit/test_store_engine.c. */
#pragma once

#include <stdbool.h>

struct edl_error;
struct engine;
struct reader_source;

/* sqlite_engine_open_reader - a connection beside the one of the store that reads one state of all
 * is_late: asked some times in a millisecond; true ends the statement with -ETIMEDOUT */
int sqlite_engine_open_reader(const char *path, bool (*is_late)(void *userdata), void *userdata,
                              struct engine **ret, struct edl_error *error);

/* sqlite_reader_source - of such connections to the database at path */
void sqlite_reader_source(const char *path, struct reader_source *ret);
