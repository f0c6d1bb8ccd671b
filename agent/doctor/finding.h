/* SPDX-License-Identifier: Apache-2.0 */
/* finding.h - what `edl doctor` says: a line for each thing that it looked at; pure */
#pragma once

#include <stddef.h>

enum verdict {
    VERDICT_OK,
    VERDICT_WARNING, /* it works, and something is lost or will be */
    VERDICT_PROBLEM, /* the node, or a part of it, will not work */
};

#define FINDINGS_MAX 64

struct finding {
    enum verdict verdict;
    const char *check; /* static: "clock" */
    char text[400];
    char remedy[400]; /* what to type next; "": nothing */
};

struct findings {
    struct finding list[FINDINGS_MAX];
    size_t n;
};

/* One more, for each verdict; what is beyond FINDINGS_MAX is dropped. check is static. */
void found_ok(struct findings *findings, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void found_warning(struct findings *findings, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void found_problem(struct findings *findings, const char *check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* found_remedy - of the one that was added last */
void found_remedy(struct findings *findings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* verdict_name - "ok", "warning", "problem" */
const char *verdict_name(enum verdict verdict);

/* findings_count - how many have this verdict */
size_t findings_count(const struct findings *findings, enum verdict verdict);
