/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_core.c - see deploy_core.h
 *
 * A table has a function for each step, which looks at the facts and names the next one. */
#include "client/deploy/deploy_core.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/macro.h"
#include "shared/printable.h"

#define FINDINGS_MAX_BYTES 8192
#define FACT_PREFIX "edl:"

static const struct {
    const char *key;
    size_t offset;
} facts[] = {
#define FACT(name)                                                                                 \
    {                                                                                              \
#name, offsetof(struct deploy_facts, name)                                                 \
    }
    FACT(hostname),      FACT(os),
    FACT(like),          FACT(arch),
    FACT(uid),           FACT(sudo),
    FACT(systemd),       FACT(newer_here),
    FACT(newer_there),   FACT(installed),
    FACT(candidate),     FACT(dir),
    FACT(member),        FACT(active),
    FACT(root_dir),      FACT(address),
    FACT(address_now),   FACT(problems),
    FACT(warnings),      FACT(has_trainer),
    FACT(has_python),    FACT(offers_trainer),
    FACT(offers_python),
#undef FACT
};

const char *deploy_step_word(enum deploy_step step)
{
    static const char *const words[] = {
#define XX(name, word) word,
        DEPLOY_STEP_MAP(XX)
#undef XX
    };

    return words[step];
}

void deploy_host_clear(struct deploy_host *host)
{
    free(host->findings);
    *host = (struct deploy_host){ 0 };
}

/* What a host says ends on a screen and in JSON: printable ASCII, and nothing else. */
static void mask(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

static void add_finding(struct deploy_host *host, const char *text)
{
    size_t before = host->findings != NULL ? strlen(host->findings) : 0, n = strlen(text);

    if (before + n + 2 > FINDINGS_MAX_BYTES)
        return;
    host->findings = xreallocarray(host->findings, before + n + 2, 1);
    memcpy(host->findings + before, text, n);
    host->findings[before + n] = '\0';
    mask(host->findings + before);
    memcpy(host->findings + before + n, "\n", 2);
}

/* What a host says of itself is cut and masked: it ends on this person's screen. */
static void take_fact(struct deploy_host *host, const char *text)
{
    const char *value = strchr(text, '=');
    char *to;

    if (value == NULL)
        return;
    for (size_t i = 0; i < ELEMENTS(facts); i++)
        if (strlen(facts[i].key) == (size_t)(value - text) &&
            memcmp(facts[i].key, text, (size_t)(value - text)) == 0) {
            to = (char *)&host->facts + facts[i].offset;
            (void)snprintf(to, DEPLOY_WORD_MAX, "%.*s",
                           printable_prefix(value + 1, DEPLOY_WORD_MAX - 1), value + 1);
            mask(to);
            return;
        }
    if (strncmp(text, "finding=", 8) == 0)
        add_finding(host, value + 1);
}

void deploy_core_line(struct deploy_host *host, const char *line)
{
    char *to;

    if (strncmp(line, FACT_PREFIX, strlen(FACT_PREFIX)) == 0) {
        take_fact(host, line + strlen(FACT_PREFIX));
        return;
    }
    if (line[strspn(line, " \t\r")] == '\0')
        return;
    to = host->said[host->n_said++ % DEPLOY_SAID_MAX];
    (void)snprintf(to, DEPLOY_LINE_MAX, "%.*s", printable_prefix(line, DEPLOY_LINE_MAX - 1), line);
    mask(to);
}

/* The i-th last line, or NULL. */
static const char *said(const struct deploy_host *host, size_t i)
{
    return i < host->n_said && i < DEPLOY_SAID_MAX
               ? host->said[(host->n_said - 1 - i) % DEPLOY_SAID_MAX]
               : NULL;
}

static const char *said_with(const struct deploy_host *host, const char *words)
{
    for (size_t i = 0; said(host, i) != NULL; i++)
        if (strstr(said(host, i), words) != NULL)
            return said(host, i);
    return NULL;
}

static enum deploy_step fail(struct deploy_host *host)
{
    host->failed_in = host->step;
    host->step = DEPLOY_FAILED;
    return DEPLOY_FAILED;
}

void deploy_core_fail(struct deploy_host *host, const struct edl_error *error)
{
    host->error = *error;
    (void)fail(host);
}

static enum deploy_step refuse(struct deploy_host *host, const char *what, const char *remedy)
{
    (void)edl_error_set(&host->error, -EINVAL, "%s", what);
    (void)edl_error_remedy(&host->error, "%s", remedy);
    return fail(host);
}

/* Words of programs at the host that have a remedy of their own; %s: the host's name in the list.
 */
static const struct {
    const char *words, *remedy;
} known_words[] = {
    { "No space left on device", "make room on the disk of %s, then say it again" },
    { "Could not get lock",
      "another program installs packages on %s: wait for it, then say it again" },
    { "dpkg was interrupted", "on %s, as root: dpkg --configure -a" },
    { "Unable to locate package", "give the packages: edl deploy --packages DIR" },
    { "unmet dependencies", "let %s reach a mirror of Debian (apt update there), or put what it "
                            "lacks into --packages DIR" },
    { "unsatisfiable", "let %s reach a mirror of Debian (apt update there), or put what it lacks "
                       "into --packages DIR" },
    { "is not in the sudoers file",
      "name another account in HOSTS (root@%s), or let this one use sudo" },
    { "must have a tty", "take requiretty out of sudoers on %s, or name root@%s in HOSTS" },
    { "belongs to", "edl deploy --remove for %s with that cluster's scheduler first" },
    { "currently not available", "name an account with a shell in HOSTS" },
    { "Password change required", "ssh to %s once, and change the password" },
};

/* The last line that says what is wrong: not where help is. */
static const char *last_words(const struct deploy_host *host)
{
    size_t i = 0;

    while (said(host, i) != NULL && strncmp(said(host, i), "Try '", 5) == 0)
        i++;
    return said(host, i) != NULL ? said(host, i) : said(host, 0);
}

/* A script ended with a status that is no success. */
static enum deploy_step fail_script(struct deploy_host *host, int status)
{
    const char *last = last_words(host), *words = NULL, *name = host->name;
    size_t i = 0;

    while (i < ELEMENTS(known_words) && (words = said_with(host, known_words[i].words)) == NULL)
        i++;
    if (words != NULL)
        last = words;
    (void)edl_error_set(&host->error, -EIO, "%s: %s", deploy_step_word(host->step),
                        last != NULL ? last : "its script said nothing");
    if (last == NULL)
        (void)edl_error_set(&host->error, -EIO, "%s ended with exit status %d and no word",
                            deploy_step_word(host->step), status);
    if (words != NULL) {
        char remedy[sizeof host->error.remedy];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        (void)snprintf(remedy, sizeof remedy, known_words[i].remedy, name, name);
#pragma GCC diagnostic pop
        (void)edl_error_remedy(&host->error, "%s", remedy);
    } else {
        (void)edl_error_remedy(
            &host->error,
            "look at %s by hand, then say it again: finished steps are not done twice", name);
    }
    return fail(host);
}

static bool is_ours(const struct deploy_plan *plan, const struct deploy_host *host)
{
    return host->facts.member[0] != '\0' && plan->is_node != NULL &&
           plan->is_node(host->facts.member, plan->userdata);
}

static bool fits(const struct deploy_package *package, const struct deploy_host *host)
{
    return streq(package->arch, "all") || streq(package->arch, host->facts.arch);
}

static const struct deploy_package *own_package(const struct deploy_plan *plan,
                                                const struct deploy_host *host, const char *name)
{
    for (size_t i = 0; i < plan->n_packages; i++)
        if (streq(plan->packages[i].name, name) && fits(&plan->packages[i], host))
            return &plan->packages[i];
    return NULL;
}

static const struct deploy_package *own_agent(const struct deploy_plan *plan,
                                              const struct deploy_host *host)
{
    return own_package(plan, host, "edl-agent");
}

const struct deploy_package *deploy_core_package(const struct deploy_plan *plan,
                                                 const struct deploy_host *host)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_packages; i++)
        if (fits(&plan->packages[i], host) && n++ == host->n_sent)
            return &plan->packages[i];
    return NULL;
}

bool deploy_core_needs_token(const struct deploy_plan *plan, const struct deploy_host *host)
{
    return !is_ours(plan, host);
}

static bool is_set_up(const struct deploy_plan *plan, const struct deploy_host *host)
{
    const struct deploy_facts *is = &host->facts;

    return !deploy_core_needs_token(plan, host) && is->active[0] != '\0' &&
           (plan->root_dir == NULL || is->root_dir[0] != '\0') &&
           (is->address[0] == '\0' || streq(is->address, is->address_now));
}

static enum deploy_step after_connect(const struct deploy_plan *plan, struct deploy_host *host)
{
    (void)plan;
    (void)host;
    return DEPLOY_PROBE;
}

static enum deploy_step after_probe(const struct deploy_plan *plan, struct deploy_host *host)
{
    const struct deploy_facts *is = &host->facts;

    (void)plan;
    if (strstr(is->like, "debian") == NULL || is->arch[0] == '\0') {
        (void)edl_error_set(&host->error, -EINVAL, "it runs %s, and the packages are for Debian",
                            is->os[0] != '\0' ? is->os : "an unknown system");
        (void)edl_error_remedy(&host->error, "take %s out of HOSTS, or install Debian there",
                               host->name);
        return fail(host);
    }
    if (is->systemd[0] == '\0')
        return refuse(host, "systemd does not run it, and the agent is a service of systemd",
                      "without systemd use edl node add --foreground");
    if (streq(is->uid, "0"))
        host->sudo = DEPLOY_SUDO_ROOT;
    else if (streq(is->sudo, "free"))
        host->sudo = DEPLOY_SUDO_FREE;
    else if (streq(is->sudo, "password"))
        host->sudo = DEPLOY_SUDO_PASSWORD;
    else {
        (void)edl_error_set(&host->error, -EPERM, "%s is not root there, and there is no sudo",
                            host->user[0] != '\0' ? host->user : "the account");
        (void)edl_error_remedy(&host->error,
                               "name root@%s in HOSTS, or on %s, as root: apt-get install sudo",
                               host->name, host->name);
        return fail(host);
    }
    return DEPLOY_LOOK;
}

/* What apt there has goes first, unless packages were named; what this machine has where that has
 * nothing. */
static bool takes_own(const struct deploy_plan *plan, const struct deploy_host *host)
{
    return own_agent(plan, host) != NULL &&
           (plan->prefer_packages || host->facts.candidate[0] == '\0');
}

static enum deploy_step install_or_refuse(const struct deploy_plan *plan, struct deploy_host *host)
{
    if (!takes_own(plan, host) && host->facts.candidate[0] != '\0')
        return DEPLOY_INSTALL;
    if (own_agent(plan, host) != NULL) {
        host->sent_from_here = true;
        return DEPLOY_UPLOAD;
    }
    (void)edl_error_set(&host->error, -ENOENT,
                        "neither its apt nor this machine has the package edl-agent for %s",
                        host->facts.arch);
    (void)edl_error_remedy(&host->error,
                           "edl deploy --packages DIR, with the .deb files of %s in DIR",
                           host->facts.arch);
    return fail(host);
}

static enum deploy_step set_up(const struct deploy_plan *plan, const struct deploy_host *host)
{
    return is_set_up(plan, host) ? DEPLOY_DOCTOR : DEPLOY_JOIN;
}

static bool is_old(const struct deploy_plan *plan, const struct deploy_host *host)
{
    return plan->mode == DEPLOY_UPGRADE &&
           (takes_own(plan, host) ? host->facts.newer_here : host->facts.newer_there)[0] != '\0';
}

static unsigned n_programs(const struct deploy_host *host)
{
    return (host->facts.has_trainer[0] != '\0') + (host->facts.has_python[0] != '\0');
}

/* The trainer or the Python module is not there, and can be had. */
static bool may_get_programs(const struct deploy_plan *plan, const struct deploy_host *host)
{
    const struct deploy_facts *is = &host->facts;
    const bool own = takes_own(plan, host);

    return (is->has_trainer[0] == '\0' && (own ? own_package(plan, host, "edl-trainer") != NULL
                                               : is->offers_trainer[0] != '\0')) ||
           (is->has_python[0] == '\0' &&
            (own ? own_package(plan, host, "python3-edl") != NULL : is->offers_python[0] != '\0'));
}

static enum deploy_step after_look(const struct deploy_plan *plan, struct deploy_host *host)
{
    bool there = host->facts.installed[0] != '\0';

    if (plan->mode == DEPLOY_CHECK_ONLY)
        return there ? DEPLOY_DOCTOR : DEPLOY_DONE;
    if (plan->mode == DEPLOY_REMOVAL && there && host->facts.member[0] != '\0' &&
        !is_ours(plan, host))
        return refuse(host, "it is a node of another cluster",
                      "remove it where that cluster's scheduler runs");
    if (plan->mode == DEPLOY_REMOVAL)
        return there ? DEPLOY_REMOVE : DEPLOY_DONE;
    host->programs_only = there && !is_old(plan, host);
    host->n_programs_before = n_programs(host);
    if (!host->programs_only || may_get_programs(plan, host))
        return install_or_refuse(plan, host);
    return set_up(plan, host);
}

static enum deploy_step after_upload(const struct deploy_plan *plan, struct deploy_host *host)
{
    host->n_sent++;
    return deploy_core_package(plan, host) != NULL ? DEPLOY_UPLOAD : DEPLOY_INSTALL;
}

static enum deploy_step after_install(const struct deploy_plan *plan, struct deploy_host *host)
{
    host->changed = !host->programs_only || n_programs(host) != host->n_programs_before;
    return set_up(plan, host);
}

static enum deploy_step after_change(const struct deploy_plan *plan, struct deploy_host *host)
{
    host->changed = true;
    return plan->mode == DEPLOY_REMOVAL ? DEPLOY_DONE : DEPLOY_DOCTOR;
}

static enum deploy_step after_doctor(const struct deploy_plan *plan, struct deploy_host *host)
{
    (void)plan;
    (void)host;
    return DEPLOY_DONE;
}

static enum deploy_step (*const after[])(const struct deploy_plan *plan,
                                         struct deploy_host *host) = {
    [DEPLOY_CONNECT] = after_connect, [DEPLOY_PROBE] = after_probe,
    [DEPLOY_LOOK] = after_look,       [DEPLOY_UPLOAD] = after_upload,
    [DEPLOY_INSTALL] = after_install, [DEPLOY_JOIN] = after_change,
    [DEPLOY_DOCTOR] = after_doctor,   [DEPLOY_REMOVE] = after_change,
};

static enum deploy_step after_failure(const struct deploy_plan *plan, struct deploy_host *host,
                                      int status)
{
    if (host->step == DEPLOY_LOOK && host->sudo == DEPLOY_SUDO_PASSWORD &&
        said_with(host, "incorrect password") != NULL) {
        host->password_refused = true;
        host->n_said = 0;
        return DEPLOY_LOOK;
    }
    if (host->step == DEPLOY_INSTALL && !host->sent_from_here && own_agent(plan, host) != NULL) {
        host->sent_from_here = true; /* its repository cannot be reached */
        host->n_said = 0;
        return host->step = DEPLOY_UPLOAD;
    }
    return fail_script(host, status);
}

enum deploy_step deploy_core_next(const struct deploy_plan *plan, struct deploy_host *host,
                                  int status)
{
    enum deploy_step step;

    host->password_refused = false;
    if (status != 0)
        return after_failure(plan, host, status);
    host->n_said = 0;
    step = after[host->step](plan, host);
    if (step != DEPLOY_FAILED)
        host->step = step;
    return step;
}

const char *deploy_core_outcome(const struct deploy_plan *plan, const struct deploy_host *host,
                                char *buffer, size_t size)
{
    bool there = host->facts.installed[0] != '\0';
    const char *node = host->facts.member[0] != '\0' ? host->facts.member : host->facts.hostname;

    if (host->step == DEPLOY_FAILED)
        (void)snprintf(buffer, size, "%s", host->error.text);
    else if (host->step != DEPLOY_DONE)
        (void)snprintf(buffer, size, "%s", deploy_step_word(host->step));
    else if (plan->mode == DEPLOY_REMOVAL)
        (void)snprintf(buffer, size, "%s",
                       host->changed ? "its packages are gone" : "nothing to remove");
    else if (plan->mode == DEPLOY_CHECK_ONLY && !there)
        (void)snprintf(buffer, size, "can be deployed to: %s", host->facts.os);
    else if (plan->mode == DEPLOY_CHECK_ONLY)
        (void)snprintf(buffer, size, "edl %s, %s", host->facts.installed,
                       is_ours(plan, host)             ? "of this cluster"
                       : host->facts.member[0] != '\0' ? "of another cluster"
                                                       : "of no cluster");
    else
        (void)snprintf(buffer, size, "node %s%s", node,
                       host->changed ? ", set up now" : ", nothing to do");
    return buffer;
}
