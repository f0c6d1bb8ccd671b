/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - the error object that travels beside a negative return value
 *
 * Contract: success leaves the object untouched; failure sets it and leaves every output untouched.
 * Codes are negative errno values, or one of the project's own below -1000 (error_code_http_status
 * knows the HTTP status of both). Fixed size, never allocates, NULL is accepted everywhere. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* name, value, HTTP status, text */
#define EDL_ERROR_MAP(XX)                                                                          \
    XX(EDL_ESTALE, -1001, 409, "stale incarnation")                                                \
    XX(EDL_EBADTRANSITION, -1002, 409, "not possible in this state")                               \
    XX(EDL_EBADSPEC, -1003, 422, "the job document is not valid")                                  \
    XX(EDL_EUNAUTHENTICATED, -1004, 401, "not authenticated")                                      \
    XX(EDL_EHTTP, -1005, 502, "the server answered with an error")                                 \
    XX(EDL_EUNREACHABLE, -1006, 503, "the server cannot be reached")                               \
    XX(EDL_ECORRUPT, -1007, 500, "stored data is damaged")                                         \
    XX(EDL_EKEYREUSED, -1008, 422, "the Idempotency-Key was used for another request")             \
    XX(EDL_ECHANGED, -1009, 412, "it was changed since")                                           \
    XX(EDL_ECOMPACTED, -1010, 410, "that part of the history is gone")                             \
    XX(EDL_ETOOMANY, -1011, 429, "too many at once")                                               \
    XX(EDL_EWIRE, -1012, 426, "agent and scheduler have no version in common")                     \
    XX(EDL_ECONFIG, -1013, 422, "options or files of this program cannot be followed")             \
    XX(EDL_EPASSBEFORE, -1014, 409, "pass number smaller than master")                             \
    XX(EDL_EPASSAFTER, -1015, 409, "pass number larger than master")                               \
    XX(EDL_ENOMORETASK, -1016, 409, "no more available task")                                      \
    XX(EDL_EALLTASKSFAILED, -1017, 409, "all task finished")

enum {
#define XX(name, value, status, text) name = (value),
    EDL_ERROR_MAP(XX)
#undef XX
};

struct edl_error {
    int code;          /* the negative return value */
    char text[400];    /* what is wrong: "trainer.min-instance is 5 but max-instance is 2" */
    char pointer[160]; /* JSON pointer of the offending key, "" when none:
                          "/spec/trainer/min-instance" */
    char remedy[380];  /* what to do next, "" when nothing can be said */
};

/* edl_error_set - records a failure; returns code, so that `return edl_error_set(...)` is one line
 */
int edl_error_set(struct edl_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* edl_error_errno - as edl_error_set with ": strerror(-code)" appended */
int edl_error_errno(struct edl_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* edl_error_at - names the offending key; pointer may be NULL */
int edl_error_at(struct edl_error *error, int code, const char *pointer, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* edl_error_remedy - adds what to do next to an error already set; returns error's code */
int edl_error_remedy(struct edl_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* edl_error_at_key - what is set already becomes the fault of a key; returns code */
int edl_error_at_key(struct edl_error *error, int code, const char *pointer);

/* edl_error_prefix - puts context in front of the text: "hosts.conf line 3: " */
void edl_error_prefix(struct edl_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* error_code_text - static text of a code; never NULL */
const char *error_code_text(int code);

/* error_code_word - what stands for a code in an answer's "code", where its status does not say
 * enough; NULL: nothing does. error_code_of_word is its reverse; 0: no such word. */
const char *error_code_word(int code);
int error_code_of_word(const char *word);

/* error_code_http_status - HTTP status that reports this code to a client */
int error_code_http_status(int code);
