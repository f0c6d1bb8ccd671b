/* SPDX-License-Identifier: Apache-2.0 */
/* text_format.h - a new text by a format
 *
 * Used by: agent, client, mpi. */
#pragma once

/* text_format - as asprintf(3); the text is the caller's. Aborts when memory is out */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
