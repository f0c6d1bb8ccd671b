/* SPDX-License-Identifier: Apache-2.0 */
/* notice_send.c - see notice_send.h */
#include "scheduler/notices/notice_send.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/notices/mail_text.h"
#include "scheduler/notices/notice_json.h"
#include "scheduler/notices/notice_program.h"
#include "scheduler/notices/own_socket_address.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/printable.h"

#define ADDRESSES_MAX 3 /* of a host, that are tried */
#define CURL_NO_CONNECTION 7
#define SMTP "smtp://"
#define SLACK_US (2 * USEC_PER_SEC) /* curl keeps its own time */

static void end(struct notice_send *send, enum notice_result result, const char *why)
{
    send->result = result;
    (void)snprintf(send->why, sizeof send->why, "%.*s", printable_prefix(why, sizeof send->why - 1),
                   why);
    printable_mask(send->why, strlen(send->why), "");
}

/* --- curl --- */

/* One that is never asked for anything, so that no answer of a receiver can do harm: no redirect,
 * no proxy, no other protocol, and what comes is thrown away. */
static void write_settings(FILE *out, const struct notice_send *send, const char *protocols)
{
    (void)fprintf(out,
                  "silent\nshow-error\ngloboff\nmax-redirs = 0\nproto = \"=%s\"\n"
                  "noproxy = \"*\"\noutput = \"/dev/null\"\n"
                  "max-time = %.3f\n",
                  protocols, (double)send->ways.timeout_us / (double)USEC_PER_SEC);
}

/* run_curl - its settings, of a URL among them, come through its input: a command line is seen by
 * everybody on the machine; the exit status */
static int run_curl(const struct notice_send *send, const char *settings, const char *body,
                    struct program_run *ret)
{
    static const char *const argv[] = { NOTICE_CURL, "--disable", "--config", "-", NULL };

    *ret = (struct program_run){ .argv = argv,
                                 .stop_fd = send->stop_fd,
                                 .timeout_us = send->ways.timeout_us + SLACK_US,
                                 .input = settings,
                                 .body = body };
    return program_run(ret);
}

static const char *complaint_of(const struct program_run *run, int r)
{
    const char *text = run->complaint;

    if (r == PROGRAM_STOPPED)
        return "the scheduler stops";
    if (r == PROGRAM_LATE)
        return "no answer in time";
    if (strncmp(text, "curl: (", 7) == 0 && strchr(text, ')') != NULL)
        text = strchr(text, ')') + 1;
    text += strspn(text, " ");
    return *text != '\0' ? text : "it failed without a word";
}

/* --- webhooks --- */

/* An answer that says "later" is no refusal. */
static void judge(struct notice_send *send, const char *answer)
{
    long status = strtol(answer, NULL, 10);
    char why[NOTICE_WHY_MAX];

    if (status >= 200 && status < 300) {
        end(send, NOTICE_SENT, "");
        return;
    }
    (void)snprintf(why, sizeof why, "it answered %ld%s", status,
                   status >= 300 && status < 400 ? ", and no redirect is followed" : "");
    end(send,
        status >= 500 || status == 408 || status == 425 || status == 429 || status < 200
            ? NOTICE_AGAIN
            : NOTICE_NEVER,
        why);
}

/* connect_to - "[address]:port" or "address:port" as curl takes it */
static bool connect_to(const struct sockaddr *address, uint16_t port, char *ret, size_t size)
{
    char text[INET6_ADDRSTRLEN];
    bool v6 = address->sa_family == AF_INET6;
    const void *bytes =
        v6 ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
           : (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;

    if (inet_ntop(address->sa_family, bytes, text, sizeof text) == NULL)
        return false;
    (void)snprintf(ret, size, v6 ? "[%s]:%u" : "%s:%u", text, (unsigned)port);
    return true;
}

/* call - one address; the exit status of curl */
static int call(struct notice_send *send, const char *to, const char *body)
{
    char *settings = NULL;
    struct program_run run;
    size_t size;
    FILE *out = open_memstream(&settings, &size);
    int r;

    if (out == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    write_settings(out, send, "http,https");
    (void)fprintf(out,
                  "url = \"%s\"\nconnect-to = \"::%s\"\nhttp1.1\n"
                  "request = \"POST\"\ndata-binary = \"@/proc/self/fd/3\"\n"
                  "header = \"Content-Type: application/json\"\nheader = \"Expect:\"\n"
                  "header = \"X-EDL-Notice-Id: %s\"\nuser-agent = \"edl/%s\"\n"
                  "write-out = \"%%{http_code}\"\n",
                  send->target, to, send->id, EDL_VERSION);
    (void)fclose(out);
    r = run_curl(send, settings, body, &run);
    free(settings);
    if (r == 0)
        judge(send, run.output);
    else
        end(send, NOTICE_AGAIN, complaint_of(&run, r));
    return r;
}

/* call_first - the first of a host's addresses that are allowed and can be connected to */
static void call_first(struct notice_send *send, const struct webhook_url *url,
                       const struct addrinfo *addresses)
{
    _cleanup_free_ char *body = notices_envelope(send->lines, send->n_more, send->id);
    int n = 0, r = CURL_NO_CONNECTION;
    char to[INET6_ADDRSTRLEN + 16];

    for (const struct addrinfo *at = addresses;
         at != NULL && n < ADDRESSES_MAX && r == CURL_NO_CONNECTION; at = at->ai_next) {
        if (!webhook_address_allowed(&send->ways.webhooks, url->host, at->ai_addr,
                                     is_own_socket_address(at->ai_addr)) ||
            !connect_to(at->ai_addr, url->port, to, sizeof to))
            continue;
        r = call(send, to, body);
        n++;
    }
    if (n == 0)
        end(send, NOTICE_NEVER, "its address is none that webhook-allow lets the scheduler call");
}

static bool is_stopped(const struct notice_send *send)
{
    struct pollfd fd = { .fd = send->stop_fd, .events = POLLIN };

    return poll(&fd, 1, 0) != 0;
}

static void call_webhook(struct notice_send *send)
{
    const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
    struct addrinfo *addresses = NULL;
    struct webhook_url url;
    struct edl_error error = { 0 };
    int r;

    if (webhook_url_read(send->target, &url, &error) < 0) {
        end(send, NOTICE_NEVER, error.text);
        return;
    }
    if (is_stopped(send)) {
        end(send, NOTICE_AGAIN, "the scheduler stops");
        return;
    }
    atomic_store(&send->looking_up, true);
    r = getaddrinfo(url.host, NULL, &hints, &addresses);
    atomic_store(&send->looking_up, false);
    if (r != 0 || is_stopped(send))
        end(send, NOTICE_AGAIN, r != 0 ? gai_strerror(r) : "the scheduler stops");
    else
        call_first(send, &url, addresses);
    if (addresses != NULL)
        freeaddrinfo(addresses);
}

/* --- mail --- */

static char *write_mail(const struct notice_send *send, const char *from)
{
    const struct mail_head head = { .from = from,
                                    .to = send->target,
                                    .domain = send->ways.mail_domain,
                                    .host = send->host,
                                    .id = send->id,
                                    .wall_us = send->wall_us };

    return mail_text_make(&head, send->lines, send->n_more);
}

static void run_mailer(struct notice_send *send, const char *mail)
{
    const char *const argv[] = { send->ways.mailer, "-t", "-i", NULL };
    struct program_run run = {
        .argv = argv, .stop_fd = send->stop_fd, .timeout_us = send->ways.timeout_us, .input = mail
    };
    int r = program_run(&run);

    if (r == 0)
        end(send, NOTICE_SENT, "");
    else
        end(send, NOTICE_AGAIN, complaint_of(&run, r));
}

static void write_receivers(FILE *out, const struct notice_send *send)
{
    for (const char *at = send->target; *at != '\0';) {
        size_t n = strcspn(at, ",");
        bool bare = memchr(at, '@', n) == NULL && send->ways.mail_domain[0] != '\0';

        (void)fprintf(out, "mail-rcpt = \"%.*s%s%s\"\n", (int)n, at, bare ? "@" : "",
                      bare ? send->ways.mail_domain : "");
        at += n + (at[n] == ',');
    }
}

static void talk_smtp(struct notice_send *send, const char *from, const char *mail)
{
    char *settings = NULL;
    struct program_run run;
    size_t size;
    FILE *out = open_memstream(&settings, &size);
    int r;

    if (out == NULL)
        abort(); /* why: only out of memory gets here; see macro.h */
    write_settings(out, send, "smtp");
    (void)fprintf(out,
                  "url = \"%s/%s\"\nmail-from = \"%s\"\nupload-file = \"/proc/self/fd/3\"\ncrlf\n"
                  /* why: the others get theirs where the server refuses one of several */
                  "mail-rcpt-allowfails\n",
                  send->ways.mailer, send->host, from);
    write_receivers(out, send);
    (void)fclose(out);
    r = run_curl(send, settings, mail, &run);
    free(settings);
    if (r == 0)
        end(send, NOTICE_SENT, "");
    else
        end(send, NOTICE_AGAIN, complaint_of(&run, r));
}

static void send_mail(struct notice_send *send)
{
    char from[MAIL_ADDRESS_MAX + sizeof send->host] = "";
    _cleanup_free_ char *mail = NULL;

    (void)snprintf(from, sizeof from, send->ways.mail_from[0] != '\0' ? "%s" : "edl@%s",
                   send->ways.mail_from[0] != '\0' ? send->ways.mail_from : send->host);
    mail = write_mail(send, from);
    if (strncmp(send->ways.mailer, SMTP, strlen(SMTP)) == 0)
        talk_smtp(send, from, mail);
    else
        run_mailer(send, mail);
}

void notice_send_run(struct worker_job *job)
{
    struct notice_send *send = (struct notice_send *)(void *)job;

    if (send->channel == NOTICE_WEBHOOK)
        call_webhook(send);
    else
        send_mail(send);
}

void notice_send_drop(struct worker_job *job)
{
    free(job);
}
