/* SPDX-License-Identifier: Apache-2.0 */
/* drop_in.h - executables of the node's owner that run at both ends of a job's visit; pure
 *
 * Names that count, owners that are trusted, and words for one that failed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum drop_in_kind { DROP_IN_PROLOG, DROP_IN_EPILOG };
#define DROP_IN_KINDS 2

/* How one ended, or why it did not begin. */
enum drop_in_end {
    DROP_IN_DONE,
    DROP_IN_CODE,    /* number: its exit code */
    DROP_IN_SIGNAL,  /* number: the signal */
    DROP_IN_TIMEOUT, /* number: seconds */
    DROP_IN_REFUSED, /* last_line says why */
};

#define DROP_IN_REASON_SIZE 200 /* as long as the scheduler keeps it (node.h) */

/* drop_in_kind_name - "prolog" */
const char *drop_in_kind_name(enum drop_in_kind kind);

/* drop_in_name_valid - letters of ASCII, digits, "-" and "_", as run-parts(8) takes them */
bool drop_in_name_valid(const char *name);

/* drop_in_trusted - of a file or folder, and of each folder above it: a stranger can neither change
 * nor replace it. One that others may write to is none, unless only owners replace what is in it
 * (sticky) */
bool drop_in_trusted(uint32_t owner, uint32_t mode, bool is_folder);

/* drop_in_last_line - the last line with any text of its output, as characters that can be shown.
 * text is changed */
const char *drop_in_last_line(char *text);

/* drop_in_say - "prolog 10-mount ended with 3: last line"; name "": of all of them */
void drop_in_say(enum drop_in_kind kind, const char *name, enum drop_in_end end, int number,
                 const char *last_line, char ret[DROP_IN_REASON_SIZE]);
