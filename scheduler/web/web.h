/* SPDX-License-Identifier: Apache-2.0 */
/* web.h - the page at "/": files that are part of the program
 *
 * They are public and tell nothing: the page asks the API for all that it shows, with its reader's
 * token. */
#pragma once

struct http_request;

/* api_page, api_page_asset - "/", and the files that it asks for; userdata is not looked at.
 * api_page_library - a library of its system that the page uses, when it is there: the scheduler's
 */
void api_page(struct http_request *request, void *userdata);
void api_page_asset(struct http_request *request, void *userdata);
void api_page_library(struct http_request *request, void *userdata);
