/* SPDX-License-Identifier: Apache-2.0 */
/* finding.c - see finding.h */
#include "agent/doctor/finding.h"

#include <stdarg.h>
#include <stdio.h>

#include "shared/macro.h"

static void add(struct findings *findings, enum verdict verdict, const char *check,
                const char *format, va_list ap)
{
    struct finding *finding;

    if (findings->n == FINDINGS_MAX)
        return;
    finding = &findings->list[findings->n++];
    *finding = (struct finding){ .verdict = verdict, .check = check };
    (void)vsnprintf(finding->text, sizeof finding->text, format, ap);
}

void found_ok(struct findings *findings, const char *check, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    add(findings, VERDICT_OK, check, format, ap);
    va_end(ap);
}

void found_warning(struct findings *findings, const char *check, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    add(findings, VERDICT_WARNING, check, format, ap);
    va_end(ap);
}

void found_problem(struct findings *findings, const char *check, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    add(findings, VERDICT_PROBLEM, check, format, ap);
    va_end(ap);
}

void found_remedy(struct findings *findings, const char *format, ...)
{
    struct finding *finding;
    va_list ap;

    if (findings->n == 0)
        return;
    finding = &findings->list[findings->n - 1];
    va_start(ap, format);
    (void)vsnprintf(finding->remedy, sizeof finding->remedy, format, ap);
    va_end(ap);
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_OK] = "ok", [VERDICT_WARNING] = "warning", [VERDICT_PROBLEM] = "problem"
    };

    return names[verdict];
}

size_t findings_count(const struct findings *findings, enum verdict verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->n; i++)
        count += findings->list[i].verdict == verdict;
    return count;
}
