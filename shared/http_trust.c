/* SPDX-License-Identifier: Apache-2.0 */
/* http_trust.c - which servers a client believes, and the fault of one that it does not
 *
 * libcurl is the one built with GnuTLS: CURLINFO_SSL_VERIFYRESULT is its bit mask of the faults of
 * the chain. 0 after CURLE_PEER_FAILED_VERIFICATION means that the name is wrong. */
#include "shared/http_trust.h"

#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"

#include <stdio.h>

/* gnutls_certificate_status_t, which is part of the library's interface for good. */
enum {
    GNUTLS_SIGNER_NOT_FOUND = 1 << 6,
    GNUTLS_NOT_ACTIVATED = 1 << 9,
    GNUTLS_EXPIRED = 1 << 10,
};

void http_trust_set(CURL *easy, const struct http_base *base)
{
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (base->ca_path == NULL)
        return;
    (void)curl_easy_setopt(easy, CURLOPT_CAINFO, base->ca_path);
    (void)curl_easy_setopt(easy, CURLOPT_CAPATH,
                           NULL); /* why: the system's would be believed too */
}

/* --- what is wrong --- */

static const struct {
    long bit;
    const char *text, *remedy;
} chain_faults[] = {
    { GNUTLS_EXPIRED, "its certificate has expired",
      "set this clock right; or look into the scheduler's log: it renews its certificate by "
      "itself" },
    { GNUTLS_NOT_ACTIVATED, "its certificate is not valid yet",
      "look at the clocks of both machines: date" },
    { GNUTLS_SIGNER_NOT_FOUND, "its certificate is not signed by the authority that is believed",
      "give the ca.pem of the scheduler's state directory: --ca FILE" },
    { ~0L, "its certificate is not valid",
      "give the ca.pem of the scheduler's state directory: --ca FILE" },
};

static void explain_chain(CURL *easy, const char **text, const char **remedy)
{
    long faults = 0;

    (void)curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &faults);
    if (faults == 0) {
        *text = "its certificate is for other names and addresses";
        *remedy = "use a name or address that it is for, or start edl-scheduler with --name and "
                  "this one";
        return;
    }
    for (size_t i = 0; i < ELEMENTS(chain_faults); i++)
        if ((faults & chain_faults[i].bit) != 0) {
            *text = chain_faults[i].text;
            *remedy = chain_faults[i].remedy;
            return;
        }
}

void http_trust_explain(CURL *easy, const struct http_base *base, CURLcode result, char *text,
                        size_t text_size, char *remedy, size_t remedy_size)
{
    bool tls = strncmp(base->url, "https:", 6) == 0;
    const char *what = NULL;
    const char *next = "";

    if (result == CURLE_PEER_FAILED_VERIFICATION) {
        explain_chain(easy, &what, &next);
    } else if (tls && result == CURLE_SSL_CACERT_BADFILE) {
        what = "the certificate of the authority cannot be read";
        next = "--ca FILE has to be a PEM file: ca.pem of the scheduler's state directory";
    } else if (tls && result == CURLE_SSL_CONNECT_ERROR) {
        next = "if the server speaks plain HTTP at this port, give http:// instead of https://";
    } else if (!tls && base->socket_path == NULL &&
               (result == CURLE_GOT_NOTHING || result == CURLE_RECV_ERROR ||
                result == CURLE_WEIRD_SERVER_REPLY || result == CURLE_UNSUPPORTED_PROTOCOL)) {
        next = HTTP_REMEDY_TLS;
    }
    if (what != NULL)
        (void)snprintf(text, text_size, "%s", what);
    (void)snprintf(remedy, remedy_size, "%s", next);
}

/* --- a server's certificates, before anything is believed --- */

/* Each certificate of the chain is a line of text "Cert:-----BEGIN ...". */
static char *collect_chain(CURL *easy)
{
    struct curl_certinfo *info = NULL;
    char *chain = xstrdup("");

    if (curl_easy_getinfo(easy, CURLINFO_CERTINFO, &info) != CURLE_OK || info == NULL)
        return chain;
    for (int i = 0; i < info->num_of_certs; i++)
        for (const struct curl_slist *line = info->certinfo[i]; line != NULL; line = line->next) {
            char *longer;

            if (strncmp(line->data, "Cert:", 5) != 0)
                continue;
            if (asprintf(&longer, "%s%s\n", chain, line->data + 5) == -1)
                abort();
            free(chain);
            chain = longer;
        }
    return chain;
}

int http_peer_chain(const char *base_text, uint64_t timeout_us, char **ret,
                    char address[HTTP_ADDRESS_MAX], struct edl_error *error)
{
    char *local = NULL;
    char text[CURL_ERROR_SIZE] = "";
    struct http_base base;
    CURLcode result;
    CURL *easy;
    int r = http_base_parse(base_text, &base, error);

    if (r < 0)
        return r;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    easy = curl_easy_init();
    if (easy == NULL)
        abort();
    http_trust_set(easy, &base);
    (void)curl_easy_setopt(easy, CURLOPT_URL, base.url);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(timeout_us / USEC_PER_MSEC));
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, text);
    /* Nothing is believed and nothing is sent: the handshake, and the connection ends. */
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_CERTINFO, 1L);
    result = curl_easy_perform(easy);
    if (result == CURLE_OK) {
        *ret = collect_chain(easy);
        (void)curl_easy_getinfo(easy, CURLINFO_LOCAL_IP, &local);
        (void)snprintf(address, HTTP_ADDRESS_MAX, "%s", local != NULL ? local : "");
    } else {
        r = edl_error_set(error, EDL_EUNREACHABLE, "%s: %s", base_text,
                          text[0] != '\0' ? text : curl_easy_strerror(result));
        if (result == CURLE_SSL_CONNECT_ERROR)
            (void)edl_error_remedy(error, "does the scheduler speak TLS at this port?");
    }
    curl_easy_cleanup(easy);
    curl_global_cleanup();
    http_base_clear(&base);
    return r;
}
