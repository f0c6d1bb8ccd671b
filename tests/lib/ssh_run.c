/* SPDX-License-Identifier: Apache-2.0 */
/* ssh_run.c - for tests: runs a script on hosts over one ssh session each, all in one loop
 *
 *   ssh_run [--transport=auto|libssh2|openssh] [--config=FILE] [--known-hosts=FILE] [--yes]
 *           [--password-file=FILE] [--patience=FACTOR] [--input=FILE] [--twice] [--silent=SECONDS]
 *           [USER@]HOST:PORT... SCRIPT
 *
 * Prints on stdout, one a line, each behind the target and a space:
 *   open TRANSPORT [WHY]    key TYPE FINGERPRINT    password TRIED    out LINE    sent BYTES
 *   end STATUS              fault WORD    text TEXT    remedy REMEDY
 * Exit status: 0 when every script ended with 0, 1 when one ended otherwise, 2 after a fault, 3 for
 * wrong options. --yes accepts new keys. --twice runs the script again in the same session. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>

#include "client/ssh/ssh_session.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"

#define TARGETS_MAX 64

struct run {
    const char *name;
    struct ssh_session *session;
    int input_fd;
    uint64_t sent_bytes;
    unsigned int runs;
};

static struct {
    struct ssh_options options;
    const char *script, *input;
    char *password;
    bool accept, twice;
    unsigned int silent_s, open;
    int status;
    sd_event *event;
} all;

static void over(struct run *run, int status)
{
    ssh_session_free(run->session);
    run->session = NULL;
    run->input_fd = safe_close(run->input_fd);
    all.status = MAX_OF(all.status, status);
    if (--all.open == 0)
        (void)sd_event_exit(all.event, all.status);
}

static void print_error(struct run *run, const char *word, const struct edl_error *error)
{
    (void)printf("%s fault %s\n%s text %s\n%s remedy %s\n", run->name, word, run->name, error->text,
                 run->name, error->remedy);
}

static void start(struct run *run)
{
    struct ssh_input input = { .fd = -1 };
    struct edl_error error = { 0 };

    if (all.input != NULL) {
        run->input_fd = safe_close(run->input_fd);
        input.fd = run->input_fd = open(all.input, O_RDONLY | O_CLOEXEC);
    }
    run->runs++;
    if (ssh_session_run(run->session, all.script, &input, all.silent_s, &error) < 0) {
        print_error(run, "run", &error);
        over(run, 2);
    }
}

static void on_opened(struct ssh_session *session, void *userdata)
{
    struct run *run = userdata;
    const char *why = ssh_session_why(session);

    (void)printf("%s open %s%s%s\n", run->name, ssh_transport_word(ssh_session_transport(session)),
                 why != NULL ? " " : "", why != NULL ? why : "");
    start(run);
}

static void on_key(struct ssh_session *session, const struct ssh_host_key *key, void *userdata)
{
    struct run *run = userdata;

    (void)printf("%s key %s %s\n", run->name, key->type, key->fingerprint);
    ssh_session_accept_key(session, all.accept);
}

static void on_password(struct ssh_session *session, unsigned int tried, void *userdata)
{
    struct run *run = userdata;

    (void)printf("%s password %u\n", run->name, tried);
    ssh_session_password(session, tried == 0 ? all.password : NULL);
}

static void on_line(struct ssh_session *session, const char *line, void *userdata)
{
    struct run *run = userdata;

    (void)session;
    (void)printf("%s out %s\n", run->name, line);
}

static void on_sent(struct ssh_session *session, uint64_t sent_bytes, void *userdata)
{
    struct run *run = userdata;

    (void)session;
    run->sent_bytes = sent_bytes;
}

static void on_ended(struct ssh_session *session, int status, void *userdata)
{
    struct run *run = userdata;

    (void)session;
    if (all.input != NULL)
        (void)printf("%s sent %llu\n", run->name, (unsigned long long)run->sent_bytes);
    (void)printf("%s end %d\n", run->name, status);
    if (all.twice && run->runs < 2)
        start(run);
    else
        over(run, status == 0 ? 0 : 1);
}

static void on_failed(struct ssh_session *session, enum ssh_fault fault,
                      const struct edl_error *error, void *userdata)
{
    struct run *run = userdata;

    (void)printf("%s with %s\n", run->name, ssh_transport_word(ssh_session_transport(session)));
    print_error(run, ssh_fault_word(fault), error);
    over(run, 2);
}

/* begin - one target; its text is cut into pieces */
static void begin(struct run *run, char *text)
{
    static const struct ssh_handlers handlers = { on_opened, on_key,   on_password, on_line,
                                                  on_sent,   on_ended, on_failed };
    struct ssh_target target = { 0 };
    struct edl_error error = { 0 };
    char *at = strrchr(text, '@'), *colon;

    run->name = xstrdup(text);
    run->input_fd = -1;
    if (at != NULL)
        *at = '\0';
    target.user = at != NULL ? text : NULL;
    target.host = at != NULL ? at + 1 : text;
    colon = strrchr(target.host, ':');
    if (colon != NULL) {
        *colon = '\0';
        target.port = (uint16_t)strtoul(colon + 1, NULL, 10);
    }
    if (ssh_session_new(all.event, &target, &all.options, &handlers, run, &run->session, &error) <
        0) {
        print_error(run, "target", &error);
        over(run, 2);
    }
}

static bool read_options(int argc, char **argv)
{
    static const struct option longs[] = { { "transport", required_argument, NULL, 't' },
                                           { "config", required_argument, NULL, 'c' },
                                           { "known-hosts", required_argument, NULL, 'k' },
                                           { "yes", no_argument, NULL, 'y' },
                                           { "password-file", required_argument, NULL, 'p' },
                                           { "patience", required_argument, NULL, 'f' },
                                           { "input", required_argument, NULL, 'i' },
                                           { "twice", no_argument, NULL, '2' },
                                           { "silent", required_argument, NULL, 's' },
                                           { 0 } };
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (c) {
        case 't':
            if (!ssh_transport_of(optarg, &all.options.transport))
                return false;
            break;
        case 'c':
            all.options.config_file = optarg;
            break;
        case 'k':
            all.options.known_hosts_file = optarg;
            break;
        case 'y':
            all.accept = true;
            break;
        case 'p':
            if (whole_file_read(optarg, false, &all.password, NULL) < 0)
                return false;
            all.password[strcspn(all.password, "\n")] = '\0';
            break;
        case 'f':
            all.options.patience = strtod(optarg, NULL);
            break;
        case 'i':
            all.input = optarg;
            break;
        case '2':
            all.twice = true;
            break;
        case 's':
            all.silent_s = (unsigned int)strtoul(optarg, NULL, 10);
            break;
        default:
            return false;
        }
    }
    return argc - optind >= 2 && argc - optind - 1 <= TARGETS_MAX;
}

int main(int argc, char **argv)
{
    static struct run runs[TARGETS_MAX];
    int n, r = 0;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_options(argc, argv)) {
        (void)fprintf(stderr, "ssh_run: see the head of tests/lib/ssh_run.c\n");
        return 3;
    }
    if (sd_event_new(&all.event) < 0)
        return 3;
    n = argc - optind - 1;
    all.script = argv[argc - 1];
    all.open = (unsigned int)n + 1; /* one for this loop: it must not end before it began */
    for (int i = 0; i < n; i++)
        begin(&runs[i], argv[optind + i]);
    all.open--;
    r = all.open > 0 ? sd_event_loop(all.event) : all.status;
    for (int i = 0; i < n; i++)
        free((char *)(uintptr_t)runs[i].name);
    free(all.password);
    all.event = sd_event_unref(all.event);
    return r < 0 ? 3 : r;
}
