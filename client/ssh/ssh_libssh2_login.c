/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_libssh2_login.c - logs in by libssh2: keys of the agent and of files, then a password
 *
 * libssh2 wants a signature at once, and the agent may ask a person. So its callback notes what is
 * to be signed and fails; the agent is asked; the call is made again, and gets the answer. */
#include "client/ssh/ssh_libssh2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_agent.h"
#include "client/ssh/ssh_agent_frame.h"
#include "client/ssh/ssh_keys.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define METHODS_MAX 200

struct ssh2_login {
    struct ssh_agent *agent;
    struct ssh_keys keys;
    unsigned int at;           /* the key that is offered */
    char methods[METHODS_MAX]; /* what the host takes, as it says */
    char tried[240];           /* keys, for people */
    /* of the agent's key that is offered */
    uint8_t *data, *signature;
    size_t data_size, signature_size;
    /* the password that is offered */
    char *password;
    unsigned int passwords; /* refused */
    bool answered;          /* the password was given to a prompt */
    char prompt[80];        /* another one than for a password; "": none */
};

static ssh2_step ask_methods, offer, offer_password;

/* ---- outcomes ---- */

static enum ssh2_said logged_in(struct ssh2 *this)
{
    ssh2_login_free(this);
    this->step = NULL;
    ssh_session_opened(this->session);
    return SSH2_WAIT;
}

static bool takes(const struct ssh2_login *login, const char *method)
{
    size_t length = strlen(method);

    for (const char *at = login->methods; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, method, length) == 0)
            return true;
    return false;
}

/* refused - nothing of ours was taken */
static void refused(struct ssh2 *this)
{
    struct ssh_session *session = this->session;
    struct ssh2_login *login = this->login;
    char remedy[240];

    if (*login->keys.encrypted != '\0')
        (void)snprintf(remedy, sizeof remedy, "ssh-add %.200s", login->keys.encrypted);
    else if (login->keys.left_out > 0)
        (void)snprintf(remedy, sizeof remedy,
                       "say in ssh_config which key: IdentityFile; %u more were not tried",
                       login->keys.left_out);
    else
        (void)snprintf(remedy, sizeof remedy, "ssh-copy-id -p %u %s@%s", session->config.port,
                       session->config.user, session->target.host);
    ssh_session_fail(session, SSH_FAULT_LOGIN, remedy,
                     "it takes no key or password of ours for %s (tried: %s%s; it would take: %s)",
                     session->config.user, *login->tried != '\0' ? login->tried : "no key",
                     login->passwords > 0 ? ", a password" : "", login->methods);
}

/* broken - a call failed in another way than by a refusal */
static enum ssh2_said broken(struct ssh2 *this, int code)
{
    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH2_AGAIN;
    if (this->login->passwords > 0 || this->login->at > 0) {
        ssh_session_fail(this->session, SSH_FAULT_LOGIN,
                         "say in ssh_config which key: IdentityFile and IdentitiesOnly yes",
                         "it hung up after too many keys or passwords for %s",
                         this->session->config.user);
        return SSH2_OVER;
    }
    return ssh2_broken(this, code, "logging in");
}

/* ---- passwords ---- */

static void forget_password(struct ssh2_login *login)
{
    if (login->password != NULL)
        explicit_bzero(login->password, strlen(login->password));
    free(TAKE_PTR(login->password));
}

/* keys_failed - no key was taken: the other transport, a password, or the end */
static enum ssh2_said keys_failed(struct ssh2 *this)
{
    struct ssh2_login *login = this->login;

    if (takes(login, "publickey") && *login->keys.unfit != '\0' &&
        this->session->options.transport == SSH_AUTO)
        ssh_session_unfit(this->session, "%s", login->keys.unfit);
    else if (takes(login, "password") || takes(login, "keyboard-interactive"))
        ssh_session_ask_password(this->session, login->passwords);
    else
        refused(this);
    return SSH2_WAIT;
}

/* on_prompts - the password answers a single prompt that does not show what is typed, once */
static LIBSSH2_USERAUTH_KBDINT_RESPONSE_FUNC(on_prompts)
{
    struct ssh2_login *login = ((struct ssh2 *)*abstract)->login;

    (void)name;
    (void)name_len;
    (void)instruction;
    (void)instruction_len;
    if (num_prompts == 1 && prompts[0].echo == 0 && !login->answered) {
        responses[0].text = strdup(login->password);
        responses[0].length = responses[0].text != NULL ? (unsigned)strlen(login->password) : 0;
        login->answered = true;
    } else if (num_prompts > 0) {
        (void)snprintf(login->prompt, sizeof login->prompt, "%.*s", (int)prompts[0].length,
                       prompts[0].text);
        printable_mask(login->prompt, strlen(login->prompt), "");
    }
}

static int call_password(struct ssh2 *this)
{
    struct ssh2_login *login = this->login;
    const char *user = this->session->config.user;

    if (takes(login, "password"))
        return libssh2_userauth_password_ex(this->ssh, user, (unsigned)strlen(user),
                                            login->password, (unsigned)strlen(login->password),
                                            NULL);
    return libssh2_userauth_keyboard_interactive_ex(this->ssh, user, (unsigned)strlen(user),
                                                    on_prompts);
}

static enum ssh2_said offer_password(struct ssh2 *this)
{
    struct ssh_session *session = this->session;
    struct ssh2_login *login = this->login;
    int code = call_password(this);

    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH2_AGAIN;
    if (code == 0)
        return logged_in(this);
    login->passwords++;
    forget_password(login);
    if (code == LIBSSH2_ERROR_PASSWORD_EXPIRED) {
        ssh_session_fail(session, SSH_FAULT_LOGIN, "log in once with ssh and change it",
                         "the password of %s has expired", session->config.user);
        return SSH2_OVER;
    }
    if (*login->prompt != '\0') {
        ssh_session_fail(session, SSH_FAULT_LOGIN,
                         "log in once with ssh, or use a key: ssh-copy-id",
                         "it asks %s for more than a password: \"%s\"", session->config.user,
                         login->prompt);
        return SSH2_OVER;
    }
    if (code != LIBSSH2_ERROR_AUTHENTICATION_FAILED)
        return broken(this, code);
    ssh_session_ask_password(session, login->passwords);
    return SSH2_WAIT;
}

void ssh2_login_password(struct ssh2 *this, const char *password)
{
    struct ssh2_login *login = this->login;

    if (password == NULL) {
        refused(this);
        return;
    }
    forget_password(login);
    login->password = xstrdup(password);
    login->answered = false;
    ssh_session_stage(this->session, SSH_STAGE_LOGIN);
    this->step = offer_password;
    ssh2_go_on(this);
}

/* ---- keys ---- */

static void forget_signature(struct ssh2_login *login)
{
    free(TAKE_PTR(login->data));
    free(TAKE_PTR(login->signature));
}

static LIBSSH2_USERAUTH_PUBLICKEY_SIGN_FUNC(on_sign)
{
    struct ssh2_login *login = ((struct ssh2 *)*abstract)->login;

    (void)session;
    if (login->signature != NULL && login->data_size == data_len &&
        memcmp(login->data, data, data_len) == 0) {
        *sig = malloc(login->signature_size); /* libssh2 frees it */
        if (*sig == NULL)
            return -1;
        memcpy(*sig, login->signature, login->signature_size);
        *sig_len = login->signature_size;
        return 0;
    }
    forget_signature(login);
    login->data = xcalloc(data_len, 1);
    login->data_size = data_len;
    memcpy(login->data, data, data_len);
    return -1;
}

static int call_key(struct ssh2 *this, const struct ssh_key *key)
{
    const char *user = this->session->config.user;
    void *abstract = this;

    if (!key->of_agent)
        return libssh2_userauth_publickey_fromfile_ex(this->ssh, user, (unsigned)strlen(user), NULL,
                                                      key->path, NULL);
    return libssh2_userauth_publickey(this->ssh, user,
                                      key->offered != NULL ? key->offered : key->blob,
                                      key->offered != NULL ? key->offered_size : key->blob_size,
                                      on_sign, &abstract);
}

/* next_key - this one was not taken */
static enum ssh2_said next_key(struct ssh2 *this)
{
    struct ssh2_login *login = this->login;
    size_t used = strlen(login->tried);

    forget_signature(login);
    (void)snprintf(login->tried + used, sizeof login->tried - used, "%s%s", used > 0 ? ", " : "",
                   login->keys.keys[login->at].label);
    login->at++;
    ssh_session_stage(this->session, SSH_STAGE_LOGIN);
    return SSH2_NEXT;
}

static enum ssh2_said offer(struct ssh2 *this)
{
    struct ssh2_login *login = this->login;
    const struct ssh_key *key = &login->keys.keys[login->at];
    uint8_t *message;
    size_t size;
    int code;

    if (login->at == login->keys.n || !takes(login, "publickey"))
        return keys_failed(this);
    code = call_key(this, key);
    if (code == LIBSSH2_ERROR_EAGAIN)
        return SSH2_AGAIN;
    if (code == 0)
        return logged_in(this);
    if (login->data != NULL && login->signature == NULL) {
        message = ssh_agent_frame_sign(key->blob, key->blob_size, login->data, login->data_size,
                                       key->renamed ? SSH_AGENT_RSA_SHA512 : 0, &size);
        ssh_session_stage(this->session, SSH_STAGE_AGENT);
        ssh_agent_ask(login->agent, message, size);
        return SSH2_WAIT;
    }
    if (code == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED &&
        (login->signature != NULL || !key->of_agent)) {
        /* refused, or taken and a password is wanted too: the methods tell */
        (void)next_key(this);
        this->step = ask_methods;
        return SSH2_NEXT;
    }
    if (code == LIBSSH2_ERROR_AUTHENTICATION_FAILED || code == LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED ||
        code == LIBSSH2_ERROR_FILE)
        return next_key(this);
    return broken(this, code);
}

/* ---- the agent ---- */

/* renames - OpenSSH takes the name of a signature for a key's type; others do not */
static bool renames(struct ssh2 *this)
{
    const char *banner = libssh2_session_banner_get(this->ssh);

    return banner != NULL && strstr(banner, "OpenSSH_") != NULL;
}

/* choose - message: the agent's answer to list, or NULL */
static void choose(struct ssh2 *this, const uint8_t *message, size_t size)
{
    struct ssh_wire blobs[SSH_AGENT_KEYS_MAX];
    unsigned int n = 0;

    if (message == NULL || !ssh_agent_frame_keys(message, size, blobs, &n))
        n = 0;
    ssh_keys_choose(&this->session->config, blobs, n, renames(this), &this->login->keys);
    ssh_session_stage(this->session, SSH_STAGE_LOGIN);
    this->step = ask_methods;
}

static void signed_by_agent(struct ssh2 *this, const uint8_t *message, size_t size)
{
    struct ssh2_login *login = this->login;
    struct ssh_wire signature;

    if (message == NULL || !ssh_agent_frame_signature(message, size, &signature)) {
        (void)next_key(this);
        return;
    }
    login->signature = xcalloc(signature.left, 1);
    login->signature_size = signature.left;
    memcpy(login->signature, signature.at, signature.left);
    ssh_session_stage(this->session, SSH_STAGE_LOGIN);
}

static void on_agent(void *userdata, const uint8_t *message, size_t size)
{
    struct ssh2 *this = userdata;
    struct ssh_session *session = this->session;

    ssh_session_enter(session);
    if (this->step == offer)
        signed_by_agent(this, message, size);
    else
        choose(this, message, size);
    ssh2_go_on(this);
    ssh_session_leave(session);
}

static enum ssh2_said ask_methods(struct ssh2 *this)
{
    struct ssh2_login *login = this->login;
    const char *user = this->session->config.user;
    const char *methods = libssh2_userauth_list(this->ssh, user, (unsigned)strlen(user));

    if (methods == NULL) {
        if (libssh2_userauth_authenticated(this->ssh))
            return logged_in(this);
        return broken(this, ssh2_code(this));
    }
    (void)snprintf(login->methods, sizeof login->methods, "%s", methods);
    printable_mask(login->methods, strlen(login->methods), "");
    this->step = offer;
    return SSH2_NEXT;
}

enum ssh2_said ssh2_login_begin(struct ssh2 *this)
{
    const char *path = this->session->config.identity_agent;
    struct ssh2_login *login = xcalloc(1, sizeof *login);
    uint8_t *message;
    size_t size;

    this->login = login;
    *libssh2_session_abstract(this->ssh) = this;
    if (path == NULL ||
        ssh_agent_open(this->session->event, path, on_agent, this, &login->agent) < 0) {
        choose(this, NULL, 0);
        return SSH2_NEXT;
    }
    ssh_session_stage(this->session, SSH_STAGE_AGENT);
    message = ssh_agent_frame_list(&size);
    ssh_agent_ask(login->agent, message, size);
    return SSH2_WAIT;
}

void ssh2_login_free(struct ssh2 *this)
{
    struct ssh2_login *login = this->login;

    if (login == NULL)
        return;
    (void)ssh_agent_free(login->agent);
    ssh_keys_clear(&login->keys);
    forget_signature(login);
    forget_password(login);
    free(login);
    this->login = NULL;
}
