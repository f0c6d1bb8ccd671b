/* SPDX-License-Identifier: Apache-2.0 */
/* precondition.h - ETag and If-Match (RFC 9110 §8.8.3, §13.1.1): "change it if it is still as I saw
 * it"
 *
 * People can change bounds and priority of a job, the wanted state of a node, role and group of a
 * user, and a group's shares. A tag spells these out, and nothing that changes by itself: progress
 * does not break anybody's If-Match. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct edl_error;
struct group_spec;
struct http_request;
struct job;
struct node;
struct user;

#define ETAG_MAX 224

/* etag_of_* - the tag with its quotes; size: ETAG_MAX holds any */
void etag_of_job(const struct job *job, char *ret, size_t size);
void etag_of_node(const struct node *node, char *ret, size_t size);
void etag_of_user(const struct user *user, char *ret, size_t size);
void etag_of_group(const struct group_spec *group, char *ret, size_t size);

/* precondition_check - 0 when the request has no If-Match, or one that names tag; EDL_ECHANGED
 * (412) with the present one. -EINVAL: the header is no list of tags */
int precondition_check(const struct http_request *request, const char *tag,
                       struct edl_error *error);

/* precondition_is_known - whether If-None-Match names tag: the caller has it already (304) */
bool precondition_is_known(const struct http_request *request, const char *tag);
