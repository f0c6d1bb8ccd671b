/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_keys.c - which of a user's keys are offered to a host, and in which order */
#include "client/ssh/ssh_keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/ssh/ssh_agent_frame.h"
#include "client/ssh/ssh_digest.h"
#include "client/ssh/ssh_key_file.h"
#include "client/ssh/ssh_known_hosts.h"
#include "shared/cleanup.h"
#include "shared/macro.h"

#define LIBSSH2_TYPES (SSH_KEY_ED25519 | SSH_KEY_ECDSA_256 | SSH_KEY_ECDSA_384 | SSH_KEY_ECDSA_521)

/* One file of IdentityFile. */
struct identity {
    const char *path;
    bool is_private; /* the private half is there */
    bool done;       /* the agent has it */
    struct ssh_key_file file;
};

/* read_small - a key file; -1: there is none. The caller's */
static ssize_t read_small(const char *path, char **ret)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    _cleanup_free_ char *text = NULL;
    struct stat st;
    ssize_t n;

    if (fd == -1 || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || st.st_size > SSH_KEY_FILE_MAX)
        return -1;
    text = xcalloc((size_t)st.st_size + 1, 1);
    n = read(fd, text, (size_t)st.st_size);
    if (n >= 0)
        *ret = TAKE_PTR(text);
    return n;
}

/* read_identity - both halves: which key it is, and whether it can be used as it is */
static void read_identity(const char *path, struct identity *ret)
{
    _cleanup_free_ char *private = NULL, *public = NULL, *public_path = NULL;
    ssize_t n = read_small(path, &private);
    struct ssh_key_file half;

    *ret = (struct identity){ .path = path };
    ret->is_private = n > 0 && ssh_key_file_read(private, (size_t)n, &ret->file);
    if (n > 0)
        explicit_bzero(private, (size_t)n);
    if (ret->file.blob != NULL)
        return;
    if (asprintf(&public_path, "%s.pub", path) < 0)
        abort();
    n = read_small(public_path, &public);
    if (n > 0 && ssh_key_public_read(public, (size_t)n, &half)) {
        ret->file.blob = half.blob;
        ret->file.blob_size = half.blob_size;
        ret->file.type = half.type;
    }
}

static bool same_blob(const struct ssh_key_file *file, const struct ssh_wire *blob)
{
    return file->blob != NULL && file->blob_size == blob->left &&
           memcmp(file->blob, blob->at, blob->left) == 0;
}

/* add - one more key, if there is room; its blob is copied */
static struct ssh_key *add(struct ssh_keys *keys, const uint8_t *blob, size_t size,
                           const char *path)
{
    struct ssh_key *key;
    char fingerprint[SSH_FINGERPRINT_MAX];
    const char *type;

    if (keys->n == SSH_KEYS_MAX) {
        keys->left_out++;
        return NULL;
    }
    key = &keys->keys[keys->n++];
    *key = (struct ssh_key){ .path = path != NULL ? xstrdup(path) : NULL };
    (void)snprintf(key->label, sizeof key->label, "%s", path != NULL ? path : "");
    if (blob != NULL) {
        key->blob = xcalloc(size, 1);
        key->blob_size = size;
        memcpy(key->blob, blob, size);
        ssh_fingerprint(blob, size, fingerprint);
        (void)ssh_blob_type(blob, size, &type);
        (void)snprintf(key->label, sizeof key->label, "%s %s", type, fingerprint);
    }
    return key;
}

static void unfit(struct ssh_keys *keys, const char *what, const char *where)
{
    if (*keys->unfit == '\0')
        (void)snprintf(keys->unfit, sizeof keys->unfit, "%s%s%s", what, *where != '\0' ? " " : "",
                       where);
}

static void add_of_agent(struct ssh_keys *keys, const struct ssh_wire *blob, const char *path,
                         bool renames)
{
    unsigned int type = ssh_blob_type(blob->at, blob->left, NULL);
    struct ssh_key *key;

    if ((type & LIBSSH2_TYPES) == 0 && !(type == SSH_KEY_RSA && renames)) {
        unfit(keys, "a key of the agent that libssh2 cannot use", "");
        return;
    }
    key = add(keys, blob->at, blob->left, path);
    if (key == NULL)
        return;
    key->of_agent = true;
    key->renamed = type == SSH_KEY_RSA;
    if (key->renamed)
        key->offered = ssh_agent_frame_rsa512(blob->at, blob->left, &key->offered_size);
}

static void add_of_file(struct ssh_keys *keys, const struct identity *identity)
{
    const struct ssh_key_file *file = &identity->file;

    if (file->encrypted) {
        if (*keys->encrypted == '\0')
            (void)snprintf(keys->encrypted, sizeof keys->encrypted, "%s", identity->path);
    } else if (file->type != 0 && (file->type & LIBSSH2_TYPES) == 0) {
        unfit(keys, "libssh2 cannot use the type of", identity->path);
    } else {
        (void)add(keys, file->blob, file->blob_size, identity->path);
    }
}

/* look_for_certificates - which only the program ssh can show */
static void look_for_certificates(const struct ssh_config *config, struct ssh_keys *keys)
{
    if (config->certificate_files.n > 0)
        unfit(keys, "a certificate", config->certificate_files.items[0]);
    for (unsigned int i = 0; i < config->identity_files.n; i++) {
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "%s-cert.pub", config->identity_files.items[i]) < 0)
            abort();
        if (access(path, F_OK) == 0)
            unfit(keys, "a certificate", path);
    }
}

void ssh_keys_choose(const struct ssh_config *config, const struct ssh_wire *agent_keys,
                     unsigned int n_agent, bool renames, struct ssh_keys *ret)
{
    struct identity identities[SSH_CONFIG_LIST_MAX];
    unsigned int n = config->identity_files.n;
    bool named[SSH_AGENT_KEYS_MAX] = { false };

    *ret = (struct ssh_keys){ 0 };
    look_for_certificates(config, ret);
    for (unsigned int i = 0; i < n; i++) {
        read_identity(config->identity_files.items[i], &identities[i]);
        for (unsigned int k = 0; k < n_agent; k++) {
            if (named[k] || !same_blob(&identities[i].file, &agent_keys[k]))
                continue;
            named[k] = identities[i].done = true;
            add_of_agent(ret, &agent_keys[k], identities[i].path, renames);
        }
    }
    for (unsigned int k = 0; k < n_agent && !config->identities_only; k++)
        if (!named[k])
            add_of_agent(ret, &agent_keys[k], NULL, renames);
    for (unsigned int i = 0; i < n; i++) {
        if (identities[i].is_private && !identities[i].done)
            add_of_file(ret, &identities[i]);
        ssh_key_file_clear(&identities[i].file);
    }
}

void ssh_keys_clear(struct ssh_keys *keys)
{
    for (unsigned int i = 0; i < keys->n; i++) {
        free(keys->keys[i].blob);
        free(keys->keys[i].offered);
        free(keys->keys[i].path);
    }
    *keys = (struct ssh_keys){ 0 };
}
