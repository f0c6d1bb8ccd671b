/* SPDX-License-Identifier: Apache-2.0 */
/* job_family.c - which jobs are of one family: the facts of one are believed of the others
 *
 * The same user, whose jobs can mislead about no other's; the same mode, programs and workspace;
 * instances of the same cores and devices on nodes of the same labels, or on the same nodes where
 * it names them. Commands that differ in nothing but numbers are the same program: learning rates,
 * seeds, indexes, dates. Numbers in the file name of the program itself count. The data, the
 * bounds, the name of the job and the environment do not. */
#include "scheduler/core/learn/job_family.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "scheduler/core/base/digest.h"
#include "scheduler/core/model/cluster_internal.h"
#include "scheduler/core/model/job_roles.h"
#include "scheduler/core/speed/family.h"
#include "shared/job_spec.h"

static uint64_t digest_decimal(uint64_t digest, uint64_t number)
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

/* It ends like a file: a dot and letters. */
static bool is_script(const char *word, size_t n)
{
    size_t letters = 0;

    while (letters < n && isalpha((unsigned char)word[n - 1 - letters]))
        letters++;
    return *word != '-' && letters > 0 && letters + 1 < n && word[n - 1 - letters] == '.';
}

static uint64_t digest_file_name(uint64_t digest, const char *word, size_t n)
{
    char *name = xstrdup(word);
    char *slash;

    name[n] = '\0';
    slash = strrchr(name, '/');
    digest = digest_text(digest, slash != NULL ? slash + 1 : name);
    free(name);
    return digest;
}

/* The words of a command without their numbers, but for the file name of the program and of the
 * first script: train-1.py and train-2.py are two programs, in whichever folder they are. An
 * argument may be a whole command line of a shell. */
static uint64_t digest_command(uint64_t digest, char *const *argv)
{
    bool named = false; /* the script was */

    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++) {
        const char *word = argv[i];

        digest = digest_without_digits(digest, word);
        for (bool first = i == 0; !named; first = false) {
            size_t n = strcspn(word += strspn(word, " \t\n"), " \t\n");

            if (n == 0)
                break;
            named = is_script(word, n);
            if (first || named)
                digest = digest_file_name(digest, word, n);
            word += n;
        }
    }
    return digest;
}

static uint64_t digest_role(uint64_t digest, const struct role_spec *role)
{
    const struct labels *selector = role_selector(role);

    digest = digest_text(digest, role->name);
    digest = digest_command(digest, role->argv);
    digest = digest_text(digest, role->workspace != NULL ? role->workspace : "");
    digest = digest_decimal(digest, role->cpu_millicores);
    digest = digest_decimal(digest, role->gpus);
    for (uint32_t i = 0; i < selector->n; i++) {
        digest = digest_text(digest, selector->items[i].name);
        digest = digest_text(digest, selector->items[i].value);
    }
    for (uint32_t i = 0; i < role->n_nodes; i++)
        digest = digest_text(digest, role->nodes[i]);
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
    digest = digest_decimal(digest_text(digest_text(0, buffer), what), pservers);
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

void job_length_name(const struct job *job, char buffer[JOB_FAMILY_SIZE])
{
    uint32_t instances = 0;

    for (size_t r = 0; r < job->spec->n_roles; r++)
        instances += job->spec->roles[r].min;
    if (job_elastic_role(job) < 0)
        name_with(job->spec, job->user, job->spec->expected_us > 0 ? "guessed" : "fixed", instances,
                  buffer);
    else
        job_family_name(job, buffer);
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
