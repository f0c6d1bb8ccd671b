/* SPDX-License-Identifier: Apache-2.0 */
/* job_family.c - which jobs are of one family: what is learnt of one is believed of the others
 *
 * The same user, who may lie to nobody else by what his jobs do; the same mode, programs and
 * workspace; instances of the same cores and devices on nodes of the same labels. Commands that
 * differ in nothing but numbers are the same program: learning rates, seeds, indexes, dates. The
 * data, the bounds, the name and the environment do not count. */
#include "scheduler/core/plan_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

static uint64_t digest_number(uint64_t digest, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    return digest_text(digest, text);
}

static uint64_t digest_without_digits(uint64_t digest, const char *text)
{
    char *rest = xstrdup(text);
    size_t n = 0;

    for (; *text != '\0'; text++)
        if (!isdigit((unsigned char)*text))
            rest[n++] = *text;
    rest[n] = '\0';
    digest = digest_text(digest, rest);
    free(rest);
    return digest;
}

static uint64_t digest_role(uint64_t digest, const struct role_spec *role)
{
    const struct labels *selector = role_selector(role);

    digest = digest_text(digest, role->name);
    for (char **arg = role->argv; arg != NULL && *arg != NULL; arg++)
        digest = digest_without_digits(digest, *arg);
    digest = digest_text(digest, role->workspace != NULL ? role->workspace : "");
    digest = digest_number(digest, role->cpu_millicores);
    digest = digest_number(digest, role->gpus);
    for (uint32_t i = 0; i < selector->n; i++) {
        digest = digest_text(digest, selector->items[i].name);
        digest = digest_text(digest, selector->items[i].value);
    }
    return digest;
}

void spec_family_name(const struct job_spec *spec, const char *user, char buffer[JOB_FAMILY_SIZE])
{
    uint64_t digest = digest_text(0, job_mode_to_string(spec->mode));

    for (size_t r = 0; r < spec->n_roles; r++)
        digest = digest_role(digest, &spec->roles[r]);
    (void)snprintf(buffer, JOB_FAMILY_SIZE, "%s:%016" PRIx64, user, digest);
}

void job_family_name(const struct job *job, char buffer[JOB_FAMILY_SIZE])
{
    spec_family_name(job->spec, job->user, buffer);
}

/* Of a family and a number: the user is the same. */
static void name_with(const struct job_spec *spec, const char *user, const char *what,
                      uint32_t pservers, char buffer[JOB_FAMILY_SIZE])
{
    uint64_t digest;

    spec_family_name(spec, user, buffer);
    digest = digest_number(digest_text(digest_text(0, buffer), what), pservers);
    (void)snprintf(buffer, JOB_FAMILY_SIZE, "%s:%016" PRIx64, user, digest);
}

void job_curve_name(const struct job *job, uint32_t pservers, char buffer[JOB_FAMILY_SIZE])
{
    name_with(job->spec, job->user, "speeds", pservers, buffer);
}

void job_program_name(const struct job *job, uint32_t pservers, char buffer[JOB_FAMILY_SIZE])
{
    name_with(job->spec, job->user, "seconds", pservers, buffer);
}

void job_expect_speed(const struct cluster *cluster, const struct job_spec *spec, const char *user,
                      struct goodput_family_facts *family)
{
    int role = spec_servers(spec);
    struct goodput_family_facts curve;
    char name[JOB_FAMILY_SIZE];

    if (role < 0 || family->prior.largest > 0)
        return;
    name_with(spec, user, "speeds", spec->roles[role].min, name);
    if (goodput_family_get(cluster->families, name, &curve) && curve.prior.largest > 0)
        family->prior = curve.prior;
}

uint64_t job_program(const struct job *job)
{
    uint64_t digest = digest_text(0, job_mode_to_string(job->spec->mode));

    for (size_t r = 0; r < job->spec->n_roles; r++) {
        const struct role_spec *role = &job->spec->roles[r];

        digest = digest_text(digest, role->name);
        for (char **arg = role->argv; arg != NULL && *arg != NULL; arg++)
            digest = digest_text(digest, *arg);
        digest = digest_text(digest, role->workspace != NULL ? role->workspace : "");
    }
    return digest != 0 ? digest : 1;
}
