/* SPDX-License-Identifier: Apache-2.0 */
/* tls_files.c - the cluster's authority and the scheduler's certificate, in the state directory */
#include "scheduler/calls/tls_files.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/cleanup.h"
#include "shared/credential.h"
#include "shared/error.h"
#include "shared/log.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define KEY_MODE 0600
#define CERTIFICATE_MODE 0644 /* it is public; the folder is not */
#define DAY_S 86400ULL
#define CA_WARNING_S (365 * DAY_S)

static char *path_of(const char *state_dir, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", state_dir, name) == -1)
        abort();
    return path;
}

/* -ENOENT leaves *ret NULL and is no failure */
static int read_if_there(const char *path, bool secret, char **ret, struct edl_error *error)
{
    struct edl_error why = { 0 };
    int r = whole_file_read(path, secret, ret, &why);

    if (r < 0 && r != -ENOENT && error != NULL)
        *error = why;
    return r == -ENOENT ? 0 : r;
}

/* --- the authority --- */

/* The key first: a certificate without its key is worth nothing, a key without its certificate is
 * the same authority once a certificate is made for it. */
static int make_ca(const char *key_path, const char *path, uint64_t now_s,
                   struct certificate_pair *ca, struct edl_error *error)
{
    struct certificate_pair made = { 0 };
    int r = certificate_make_ca(ca->key, now_s, &made, error);

    if (r < 0) {
        edl_error_prefix(error, "%s: ", key_path);
        return r;
    }
    if (ca->key == NULL)
        r = whole_file_write(key_path, made.key, KEY_MODE, error);
    if (r == 0)
        r = whole_file_write(path, made.certificate, CERTIFICATE_MODE, error);
    if (r < 0) {
        certificate_pair_clear(&made);
        return r;
    }
    certificate_pair_clear(ca);
    *ca = made;
    return 0;
}

/* find_ca - a key that the service manager passed wins. The manager decides who may read it, so its
 * mode is not looked at. ret_key_path is the caller's */
static int find_ca(const char *state_dir, const char *path, char **ret_key_path,
                   struct certificate_pair *ret, struct edl_error *error)
{
    char *key_path = credential_path("edl.ca-key");
    bool passed = key_path != NULL;
    int r = read_if_there(path, false, &ret->certificate, error);

    if (!passed)
        key_path = path_of(state_dir, "ca.key");
    *ret_key_path = key_path;
    return r == 0 ? read_if_there(key_path, !passed, &ret->key, error) : r;
}

int tls_files_authority(const char *state_dir, struct certificate_pair *ret,
                        struct edl_error *error)
{
    _cleanup_free_ char *path = path_of(state_dir, "ca.pem");
    _cleanup_free_ char *key_path = NULL;
    struct certificate_pair ca = { 0 };
    int r = find_ca(state_dir, path, &key_path, &ca, error);

    if (r == 0 && ca.certificate != NULL && ca.key != NULL)
        *ret = ca;
    else
        certificate_pair_clear(&ca);
    return r;
}

static int check_ca(const char *path, uint64_t now_s, const struct certificate_pair *ca,
                    struct edl_error *error)
{
    uint64_t left_s;
    int r = certificate_check_ca(ca, now_s, &left_s, error);

    if (r < 0) {
        edl_error_prefix(error, "the cluster's authority in %s: ", path);
        return edl_error_remedy(error, "restore ca.pem and ca.key from a backup; or remove both: "
                                       "every node then has to join anew");
    }
    if (left_s < CA_WARNING_S)
        log_entry(LOG_LEVEL_WARNING, &(struct log_subject){ .message = MESSAGE_AUTHORITY_ENDS },
                  "the certificate of the cluster's authority ends in %llu day%s: remove %s and "
                  "start again, and give the new one to nodes and people",
                  (unsigned long long)(left_s / DAY_S), PLURAL(left_s / DAY_S), path);
    return 0;
}

static int open_ca(const char *state_dir, uint64_t now_s, struct certificate_pair *ret,
                   struct edl_error *error)
{
    _cleanup_free_ char *path = path_of(state_dir, "ca.pem");
    _cleanup_free_ char *key_path = NULL;
    int r = find_ca(state_dir, path, &key_path, ret, error);

    if (r < 0)
        return r;
    if (ret->certificate == NULL)
        return make_ca(key_path, path, now_s, ret, error);
    if (ret->key == NULL) {
        (void)edl_error_set(error, -EINVAL, "%s is there, and its key is not", path);
        return edl_error_remedy(error,
                                "restore %s from a backup; or remove ca.pem: every node "
                                "then has to join anew",
                                key_path);
    }
    return check_ca(path, now_s, ret, error);
}

/* --- the server's --- */

static int make_server(const struct certificate_pair *ca, const char *path, const char *key_path,
                       const char *const *names, size_t n_names, uint64_t now_s,
                       struct certificate_pair *ret, struct edl_error *error)
{
    int r = certificate_make_server(ca, names, n_names, now_s, ret, error);

    /* One that does not fit its key is made anew at the next start, whatever was written last. */
    if (r == 0)
        r = whole_file_write(key_path, ret->key, KEY_MODE, error);
    if (r == 0)
        r = whole_file_write(path, ret->certificate, CERTIFICATE_MODE, error);
    return r;
}

static int open_server(const char *state_dir, const struct certificate_pair *ca,
                       const char *const *names, size_t n_names, uint64_t now_s,
                       struct certificate_pair *ret, struct edl_error *error)
{
    _cleanup_free_ char *path = path_of(state_dir, "server.pem");
    _cleanup_free_ char *key_path = path_of(state_dir, "server.key");
    struct edl_error why = { 0 };
    int r = read_if_there(path, false, &ret->certificate, error);

    if (r == 0)
        r = read_if_there(key_path, true, &ret->key, error);
    if (r < 0)
        return r;
    if (ret->certificate != NULL && ret->key != NULL) {
        if (certificate_check_server(ret, ca->certificate, names, n_names, now_s, &why) == 0)
            return 0;
        log_info("a new server certificate is made: %s", why.text);
    }
    certificate_pair_clear(ret);
    return make_server(ca, path, key_path, names, n_names, now_s, ret, error);
}

int tls_files_open(const char *state_dir, const char *const *names, size_t n_names, uint64_t now_s,
                   struct tls_files *ret, struct edl_error *error)
{
    struct certificate_pair ca = { 0 };
    struct tls_files files = { 0 };
    int r = open_ca(state_dir, now_s, &ca, error);

    if (r == 0)
        r = certificate_pin(ca.certificate, files.pin, error);
    if (r == 0)
        r = open_server(state_dir, &ca, names, n_names, now_s, &files.server, error);
    certificate_pair_clear(&ca);
    if (r == 0)
        files.server_end_s = certificate_end_s(files.server.certificate);
    if (r < 0)
        tls_files_clear(&files);
    else
        *ret = files;
    return r;
}

void tls_files_clear(struct tls_files *files)
{
    certificate_pair_clear(&files->server);
    *files = (struct tls_files){ 0 };
}
