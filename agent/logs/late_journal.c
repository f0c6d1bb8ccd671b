/* SPDX-License-Identifier: Apache-2.0 */
/* late_journal.c - what edl-supervisor and edl-prober take of libsystemd, loaded with their first
 * entry
 *
 * There is a supervisor for each process, and hardly any ever has something to say: none of them
 * pays for a library with its start and its memory. */
#define SD_JOURNAL_SUPPRESS_LOCATION /* the function, not the macro of its name */

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

typedef int (*send_fn)(const struct iovec *parts, int n);

/* in its place; an error: it is written to stderr as a line */
int sd_journal_sendv(const struct iovec *iov, int n)
{
    static send_fn send;
    void *library, *symbol;

    if (send == NULL) {
        library = dlopen(LIBSYSTEMD_SONAME, RTLD_NOW | RTLD_LOCAL);
        symbol = library != NULL ? dlsym(library, "sd_journal_sendv") : NULL;
        if (symbol == NULL)
            return -ENOENT;
        (void)memcpy(&send, &symbol, sizeof send); /* why: ISO C casts no object to a function */
    }
    return send(iov, n);
}
