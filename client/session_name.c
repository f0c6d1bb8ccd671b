/* SPDX-License-Identifier: Apache-2.0 */
/* session_name.c - see session_name.h */
#include "client/session_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/text.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#define HOST_ENDING ".edl"

/* is_process - "trainer-1": a role, a hyphen, a number */
static bool is_process(const char *text)
{
    const char *hyphen = strrchr(text, '-');

    return hyphen != NULL && hyphen != text && hyphen[1] != '\0' &&
           strspn(hyphen + 1, "0123456789") == strlen(hyphen + 1) && strlen(hyphen + 1) <= 9;
}

static int refuse(const char *word, const char *meant, struct edl_error *error)
{
    (void)edl_error_set(error, -EINVAL, "\"%.100s\" names no process of a job", word);
    return edl_error_remedy(error, "%s", meant);
}

/* The name of a job has no dot, that of its user may have one. */
static const char *job_part(const char *word)
{
    const char *slash = strchr(word, '/');

    return slash != NULL ? slash + 1 : word;
}

static int refuse_colon(const char *word, const char *colon, struct edl_error *error)
{
    _cleanup_free_ char *meant = text_format("%.*s.%.80s", (int)(colon - word), word, colon + 1);

    return refuse(word, meant, error);
}

int session_name_read(const char *word, struct session_name *ret, struct edl_error *error)
{
    const char *part = job_part(word);
    const char *dot = strchr(part, '.'), *colon = strchr(part, ':'), *slash = strchr(part, '/');

    if (colon != NULL && is_process(colon + 1))
        return refuse_colon(word, colon, error);
    if (slash != NULL && is_process(slash + 1))
        return refuse_colon(word, slash, error);
    if (*part == '\0' || dot == part || (dot != NULL && dot[1] == '\0'))
        return refuse(word, "JOB or JOB.ROLE-N, as in train.trainer-1 (edl ps lists jobs)", error);
    if (dot != NULL && !is_process(dot + 1)) {
        _cleanup_free_ char *meant = text_format("%.100s-0 (edl show %.*s lists the processes)",
                                                 word, (int)(dot - word), word);

        return refuse(word, meant, error);
    }
    *ret = (struct session_name){
        .job = text_format("%.*s", (int)(dot != NULL ? (size_t)(dot - word) : strlen(word)), word),
        .process = dot != NULL ? xstrdup(dot + 1) : NULL,
    };
    return 0;
}

int session_name_read_host(const char *host, struct session_name *ret, struct edl_error *error)
{
    size_t size = strlen(host), ending = strlen(HOST_ENDING);
    _cleanup_free_ char *word = NULL;

    if (size <= ending || !streq(host + size - ending, HOST_ENDING)) {
        (void)edl_error_set(error, -EINVAL, "\"%.100s\" is no host of this kind", host);
        return edl_error_remedy(error, "JOB" HOST_ENDING " or JOB.ROLE-N" HOST_ENDING);
    }
    word = text_format("%.*s", (int)(size - ending), host);
    return session_name_read(word, ret, error);
}

void session_name_clear(struct session_name *name)
{
    free(name->job);
    free(name->process);
    *name = (struct session_name){ 0 };
}

bool session_place_is(const char *word)
{
    return word[0] != '/' && word[0] != '.' && word[0] != '-' && strchr(word, ':') != NULL;
}

int session_place_read(const char *word, struct session_place *ret, struct edl_error *error)
{
    const char *colon = strchr(word, ':');
    _cleanup_free_ char *name = NULL;

    if (colon == NULL || colon[1] == '\0') {
        (void)edl_error_set(error, -EINVAL, "\"%.100s\" names no file of a job", word);
        return edl_error_remedy(error, "JOB:PATH or JOB.ROLE-N:PATH");
    }
    name = text_format("%.*s", (int)(colon - word), word);
    ret->path = colon + 1;
    return session_name_read(name, &ret->name, error);
}
