/* SPDX-License-Identifier: Apache-2.0 */
/* late_curl.c - the functions of libcurl that `edl` calls (see late_library.h) */
#include <curl/curl.h>
#include <stdarg.h>

#include "shared/late_library.h"

static struct late_library curl = { .name = LIBCURL_SONAME };

CURLcode curl_global_init(long flags)
{
    return LATE(curl, curl_global_init)(flags);
}

void curl_global_cleanup(void)
{
    LATE(curl, curl_global_cleanup)();
}

struct curl_slist *curl_slist_append(struct curl_slist *list, const char *data)
{
    return LATE(curl, curl_slist_append)(list, data);
}

void curl_slist_free_all(struct curl_slist *list)
{
    LATE(curl, curl_slist_free_all)(list);
}

CURL *curl_easy_init(void)
{
    return LATE(curl, curl_easy_init)();
}

CURLcode curl_easy_perform(CURL *curl_handle)
{
    return LATE(curl, curl_easy_perform)(curl_handle);
}

void curl_easy_reset(CURL *curl_handle)
{
    LATE(curl, curl_easy_reset)(curl_handle);
}

void curl_easy_cleanup(CURL *curl_handle)
{
    LATE(curl, curl_easy_cleanup)(curl_handle);
}

const char *curl_easy_strerror(CURLcode code)
{
    return LATE(curl, curl_easy_strerror)(code);
}

CURLcode curl_easy_pause(CURL *handle, int bitmask)
{
    return LATE(curl, curl_easy_pause)(handle, bitmask);
}

CURLM *curl_multi_init(void)
{
    return LATE(curl, curl_multi_init)();
}

CURLMcode curl_multi_cleanup(CURLM *multi)
{
    return LATE(curl, curl_multi_cleanup)(multi);
}

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy)
{
    return LATE(curl, curl_multi_add_handle)(multi, easy);
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy)
{
    return LATE(curl, curl_multi_remove_handle)(multi, easy);
}

CURLMcode curl_multi_assign(CURLM *multi, curl_socket_t fd, void *data)
{
    return LATE(curl, curl_multi_assign)(multi, fd, data);
}

CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t fd, int events, int *ret_running)
{
    return LATE(curl, curl_multi_socket_action)(multi, fd, events, ret_running);
}

CURLMsg *curl_multi_info_read(CURLM *multi, int *ret_left)
{
    return LATE(curl, curl_multi_info_read)(multi, ret_left);
}

/* --- of an option's number follows what its value is; an answer's is always a pointer --- */

#define IS_LONG(option) ((option) < CURLOPTTYPE_OBJECTPOINT)
#define IS_OFFSET(option) ((option) >= CURLOPTTYPE_OFF_T && (option) < CURLOPTTYPE_BLOB)

CURLcode(curl_easy_setopt)(CURL *handle, CURLoption option, ...)
{
    CURLcode result;
    va_list ap;

    va_start(ap, option);
    if (IS_LONG(option))
        result = LATE(curl, curl_easy_setopt)(handle, option, va_arg(ap, long));
    else if (IS_OFFSET(option))
        result = LATE(curl, curl_easy_setopt)(handle, option, va_arg(ap, curl_off_t));
    else
        result = LATE(curl, curl_easy_setopt)(handle, option, va_arg(ap, void *));
    va_end(ap);
    return result;
}

CURLMcode(curl_multi_setopt)(CURLM *multi, CURLMoption option, ...)
{
    CURLMcode result;
    va_list ap;

    va_start(ap, option);
    if (IS_LONG(option))
        result = LATE(curl, curl_multi_setopt)(multi, option, va_arg(ap, long));
    else if (IS_OFFSET(option))
        result = LATE(curl, curl_multi_setopt)(multi, option, va_arg(ap, curl_off_t));
    else
        result = LATE(curl, curl_multi_setopt)(multi, option, va_arg(ap, void *));
    va_end(ap);
    return result;
}

CURLcode(curl_easy_getinfo)(CURL *easy, CURLINFO info, ...)
{
    CURLcode result;
    va_list ap;

    va_start(ap, info);
    result = LATE(curl, curl_easy_getinfo)(easy, info, va_arg(ap, void *));
    va_end(ap);
    return result;
}
