/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_host_key.c - what a session does with the key that a host shows */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_internal.h"
#include "client/ssh/ssh_known_files.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

int ssh_session_judge(struct ssh_session *session, const uint8_t *key, size_t size,
                      struct ssh_known_hosts *ret, struct edl_error *error)
{
    return ssh_known_files_judge(&session->config, session->known_name, key, size, ret, error);
}

bool ssh_session_add_key(struct ssh_session *session, const uint8_t *key, size_t size)
{
    struct edl_error error = { 0 };

    if (ssh_known_files_add(&session->config, session->known_name, key, size, &error) >= 0)
        return true;
    (void)edl_error_remedy(&error, "make it writable, or name another UserKnownHostsFile");
    ssh_session_fail_with(session, SSH_FAULT_HERE, &error);
    return false;
}

/* new_key - one that no file knows */
static bool new_key(struct ssh_session *session, const uint8_t *key, size_t size,
                    const struct ssh_host_key *shown)
{
    if (session->config.strict == SSH_STRICT_ACCEPT_NEW)
        return ssh_session_add_key(session, key, size);
    if (session->config.strict == SSH_STRICT_YES) {
        ssh_session_fail(session, SSH_FAULT_KEY_UNKNOWN,
                         "StrictHostKeyChecking of ssh_config is yes: add the key to known_hosts",
                         "its key is not known (%s %s)", shown->type, shown->fingerprint);
        return false;
    }
    free(session->shown);
    session->shown = xcalloc(size, 1);
    session->shown_size = size;
    memcpy(session->shown, key, size);
    session->state = SSH_STATE_KEY_SHOWN;
    ssh_session_stage(session, SSH_STAGE_PERSON);
    session->handlers.unknown_key(session, shown, session->userdata);
    return false;
}

bool ssh_session_host_key(struct ssh_session *session, const uint8_t *key, size_t size)
{
    char fingerprint[SSH_FINGERPRINT_MAX];
    _cleanup_free_ char *remedy = NULL;
    struct ssh_host_key shown = { .fingerprint = fingerprint };
    struct ssh_known_hosts known;
    struct edl_error error = { 0 };

    if (ssh_session_judge(session, key, size, &known, &error) < 0) {
        (void)edl_error_remedy(&error, "make it readable: a key that is revoked there is refused");
        ssh_session_fail_with(session, SSH_FAULT_HERE, &error);
        return false;
    }
    (void)ssh_blob_type(key, size, &shown.type);
    ssh_fingerprint(key, size, fingerprint);
    switch (ssh_known_hosts_verdict(&known)) {
    case SSH_KNOWN_SAME:
        return true;
    case SSH_KNOWN_NEW:
        return new_key(session, key, size, &shown);
    case SSH_KNOWN_REVOKED:
        ssh_session_fail(session, SSH_FAULT_KEY_REVOKED, "do not log in there before you know why",
                         "its key is revoked in %s:%u (%s %s)", known.file, known.line, shown.type,
                         fingerprint);
        return false;
    case SSH_KNOWN_CHANGED:
        if (asprintf(&remedy,
                     "was it installed anew? ssh-keygen -f '%s' -R '%s', then again. If it was "
                     "not, somebody is in between",
                     known.file, session->known_name) < 0)
            abort();
        ssh_session_fail(session, SSH_FAULT_KEY_CHANGED, remedy,
                         "its key is not the known one: %s %s instead of %s in %s:%u", shown.type,
                         fingerprint, known.fingerprint, known.file, known.line);
        return false;
    case SSH_KNOWN_OTHER:
        ssh_session_unfit(session, "known_hosts has its key of another type only (%s:%u)",
                          known.file, known.line);
        return false;
    case SSH_KNOWN_CA:
        ssh_session_unfit(session, "known_hosts has an authority for it, and no key");
        return false;
    }
    return false;
}

void ssh_session_refused_key(struct ssh_session *session)
{
    char fingerprint[SSH_FINGERPRINT_MAX];
    const char *type;

    (void)ssh_blob_type(session->shown, session->shown_size, &type);
    ssh_fingerprint(session->shown, session->shown_size, fingerprint);
    ssh_session_fail(session, SSH_FAULT_KEY_UNKNOWN,
                     "compare it with `ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub` there, then "
                     "accept it",
                     "its key is not known and was not accepted (%s %s)", type, fingerprint);
}
