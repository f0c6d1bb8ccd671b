/* SPDX-License-Identifier: Apache-2.0 */
/* body.h - members of a request's JSON body, with every way of being wrong refused (-EINVAL and a
 * pointer)
 *
 * An absent optional member leaves *ret alone. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edl_error;
struct http_request;

/* body_object - the body as an object (new reference); an empty body is an empty object */
int body_object(struct http_request *request, json_t **ret, struct edl_error *error);

struct body_field {
    const json_t *object;
    const char *at; /* where the object is, for the pointer: "" or "/processes/3" */
    bool required;
};

/* body_has - whether the member is there and not null */
bool body_has(const struct body_field *field, const char *key);

/* body_known - no other members than these (a blank between): people's calls want to hear of a
 * typing error. Bodies of programs of another version may have more. */
int body_known(const struct body_field *field, const char *keys, struct edl_error *error);

int body_u64(const struct body_field *field, const char *key, uint64_t most, uint64_t *ret,
             struct edl_error *error);
int body_i64(const struct body_field *field, const char *key, int64_t least, int64_t most,
             int64_t *ret, struct edl_error *error);
int body_bool(const struct body_field *field, const char *key, bool *ret, struct edl_error *error);
/* body_string - at most `most` bytes without control characters: it is shown in logs and on
 * terminals; borrowed from the object */
int body_string(const struct body_field *field, const char *key, size_t most, const char **ret,
                struct edl_error *error);
/* body_reported - as body_string, of a program that cannot help what it tells of: a control
 * character becomes '?', in the object too */
int body_reported(const struct body_field *field, const char *key, size_t most, const char **ret,
                  struct edl_error *error);
/* body_verbatim - as body_string, with any bytes */
int body_verbatim(const struct body_field *field, const char *key, size_t most, const char **ret,
                  struct edl_error *error);
/* body_array - borrowed */
int body_array(const struct body_field *field, const char *key, const json_t **ret,
               struct edl_error *error);
