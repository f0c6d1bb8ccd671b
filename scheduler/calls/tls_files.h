/* SPDX-License-Identifier: Apache-2.0 */
/* tls_files.h - the cluster's authority and the scheduler's certificate, in the state directory
 *
 * ca.key, ca.pem, server.key, server.pem; keys with mode 0600. Made at the first start, and on disk
 * before anybody is shown them. Tests: tests/unit/test_certificate.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "shared/certificate.h"

struct edl_error;

struct tls_files {
    struct certificate_pair server; /* owned; the chain: the server's, then the authority's */
    char pin[CERTIFICATE_PIN_MAX];  /* of the authority */
    uint64_t server_end_s;          /* when the server's expires, since 1970 */
};

/* tls_files_open - reads what is there, makes what is missing
 * The server's certificate is made anew when it is due (certificate_check_server), at a start or by
 * renewal.c. The authority never is: everybody who joined would have to join
 * again. Errors: -EINVAL with remedy when the authority's files are damaged; errors of files. */
int tls_files_open(const char *state_dir, const char *const *names, size_t n_names, uint64_t now_s,
                   struct tls_files *ret, struct edl_error *error);

/* tls_files_authority - the authority's certificate and its key, to hand them on; NULL both where
 * there is none yet. The caller clears them */
int tls_files_authority(const char *state_dir, struct certificate_pair *ret,
                        struct edl_error *error);

void tls_files_clear(struct tls_files *files);
