/* SPDX-License-Identifier: Apache-2.0 */
/* test_certificate.c - the authority, the server's certificate, pins, and the files they are kept
 * in; the clock is a number */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/calls/tls_files.h"
#include "shared/certificate.h"
#include "shared/cleanup.h"
#include "shared/error.h"
#include "shared/macro.h"
#include "shared/whole_file.h"
#include "tests/unit/test.h"

#define NOW_S 1800000000ULL
#define DAY_S 86400ULL

static const char *const names[] = { "cluster.example.org", "10.1.2.3", "fd00::7", "localhost" };

struct made {
    struct certificate_pair ca, server;
    char pin[CERTIFICATE_PIN_MAX];
};

static void make(struct made *made, uint64_t now_s)
{
    struct edl_error error = { 0 };

    *made = (struct made){ 0 };
    assert_int_equal(certificate_make_ca(NULL, now_s, &made->ca, &error), 0);
    assert_int_equal(certificate_make_server(&made->ca, names, ELEMENTS(names), now_s,
                                             &made->server, &error),
                     0);
    assert_int_equal(certificate_pin(made->ca.certificate, made->pin, &error), 0);
}

static void unmake(struct made *made)
{
    certificate_pair_clear(&made->ca);
    certificate_pair_clear(&made->server);
}

/* What check_server says of it. */
static const char *fault(const struct certificate_pair *server, const char *ca, const char *name,
                         uint64_t now_s)
{
    static struct edl_error error;

    error = (struct edl_error){ 0 };
    if (certificate_check_server(server, ca, &name, 1, now_s, &error) == 0)
        return "";
    assert_int_equal(error.code, -EINVAL);
    return error.text;
}

TEST(test_server_certificate_is_good_for_its_names_and_time)
{
    struct made made, other;

    make(&made, NOW_S);
    make(&other, NOW_S);
    for (size_t i = 0; i < ELEMENTS(names); i++)
        assert_string_equal(fault(&made.server, made.ca.certificate, names[i], NOW_S), "");
    assert_string_equal(fault(&made.server, made.ca.certificate, "10.1.2.4", NOW_S),
                        "it is not for 10.1.2.4");
    assert_string_equal(fault(&made.server, made.ca.certificate, "example.org", NOW_S),
                        "it is not for example.org");
    assert_int_equal(certificate_end_s(made.server.certificate), NOW_S + CERTIFICATE_SERVER_S);
    assert_int_equal(certificate_end_s("nothing"), 0);
    assert_string_equal(fault(&made.server, other.ca.certificate, names[0], NOW_S),
                        "it is not signed by this cluster's authority");
    /* due a year before its end; not before */
    assert_string_equal(fault(&made.server, made.ca.certificate, names[0],
                              NOW_S + CERTIFICATE_SERVER_S - CERTIFICATE_RENEW_S),
                        "");
    assert_string_equal(fault(&made.server, made.ca.certificate, names[0],
                              NOW_S + CERTIFICATE_SERVER_S - CERTIFICATE_RENEW_S + 1),
                        "it is about to expire");
    assert_string_equal(fault(&made.server, made.ca.certificate, names[0],
                              NOW_S + CERTIFICATE_SERVER_S + 1),
                        "it has expired");
    assert_string_equal(fault(&made.server, made.ca.certificate, names[0], NOW_S - 2 * DAY_S),
                        "it is not valid yet (the clock was set back)");
    { /* another's key */
        struct certificate_pair mixed = { made.server.certificate, other.server.key };

        assert_string_equal(fault(&mixed, made.ca.certificate, names[0], NOW_S),
                            "certificate and key do not belong together");
    }
    unmake(&other);
    unmake(&made);
}

TEST(test_pin_names_the_key)
{
    struct certificate_pair again = { 0 };
    char pin[CERTIFICATE_PIN_MAX];
    struct made made, other;
    struct edl_error error = { 0 };

    make(&made, NOW_S);
    make(&other, NOW_S);
    assert_int_equal(certificate_pin_valid(made.pin, &error), 0);
    assert_string_not_equal(made.pin, other.pin);
    /* a certificate made anew for the same key: same pin, and what was signed stays good */
    assert_int_equal(certificate_make_ca(made.ca.key, NOW_S + DAY_S, &again, &error), 0);
    assert_string_not_equal(again.certificate, made.ca.certificate);
    assert_int_equal(certificate_pin(again.certificate, pin, &error), 0);
    assert_string_equal(pin, made.pin);
    assert_string_equal(fault(&made.server, again.certificate, names[0], NOW_S), "");
    certificate_pair_clear(&again);
    unmake(&other);
    unmake(&made);
}

TEST(test_pick_takes_the_pinned_authority_only)
{
    static const char *const malformed[] = { "", "sha256:", "sha256:00", "md5:0",
                                             "sha256:zz00000000000000000000000000000000000000000000"
                                             "000000000000000000" };
    struct edl_error error = { 0 };
    _cleanup_free_ char *picked = NULL;
    _cleanup_free_ char *spliced = NULL;
    char leaf_pin[CERTIFICATE_PIN_MAX];
    char *none = NULL;
    struct made made, other;

    make(&made, NOW_S);
    make(&other, NOW_S);
    assert_int_equal(certificate_pick(made.server.certificate, made.pin, &picked, &error), 0);
    assert_string_equal(picked, made.ca.certificate);
    assert_int_equal(certificate_pick(other.server.certificate, made.pin, &none, &error), -EACCES);
    assert_non_null(strstr(error.text, made.pin));
    assert_true(error.remedy[0] != '\0');
    /* somebody in between shows the true authority behind a certificate of his own */
    assert_true(asprintf(&spliced, "%s%s", other.server.certificate, made.ca.certificate) > 0);
    assert_int_equal(certificate_pick(spliced, made.pin, &none, &error), -EACCES);
    assert_non_null(strstr(error.text, "not signed by"));
    /* the pin of something that is no authority */
    assert_int_equal(certificate_pin(made.server.certificate, leaf_pin, &error), 0);
    assert_int_equal(certificate_pick(made.server.certificate, leaf_pin, &none, &error), -EACCES);
    assert_int_equal(certificate_pick("", made.pin, &none, &error), -EINVAL);
    assert_int_equal(certificate_pick("-----BEGIN CERTIFICATE-----\nAAAA\n", made.pin, &none,
                                      &error),
                     -EINVAL);
    for (size_t i = 0; i < ELEMENTS(malformed); i++)
        assert_int_equal(certificate_pick(made.server.certificate, malformed[i], &none, &error),
                         -EINVAL);
    assert_null(none);
    unmake(&other);
    unmake(&made);
}

/* --- files --- */

struct fixture {
    char folder[64];
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)snprintf(f->folder, sizeof f->folder, "/tmp/edl-test-certificate-XXXXXX");
    *state = f;
    return mkdtemp(f->folder) != NULL ? 0 : -1;
}

static const char *const files[] = { "ca.pem", "ca.key", "server.pem", "server.key" };

static char *path_of(const struct fixture *f, const char *name)
{
    char *path;

    assert_true(asprintf(&path, "%s/%s", f->folder, name) > 0);
    return path;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < ELEMENTS(files); i++) {
        _cleanup_free_ char *path = path_of(f, files[i]);

        (void)unlink(path);
    }
    assert_int_equal(rmdir(f->folder), 0); /* nothing else was left there */
    free(f);
    return 0;
}

TEST_EACH(set_up, tear_down);

static char *content(const struct fixture *f, const char *name)
{
    _cleanup_free_ char *path = path_of(f, name);
    struct edl_error error = { 0 };
    char *text = NULL;

    assert_int_equal(whole_file_read(path, false, &text, &error), 0);
    return text;
}

static int open_at(const struct fixture *f, const char *name, uint64_t now_s, struct tls_files *ret,
                   struct edl_error *error)
{
    *ret = (struct tls_files){ 0 };
    return tls_files_open(f->folder, &name, 1, now_s, ret, error);
}

/* open_good - and which certificate that gave: the caller's */
static char *open_good(const struct fixture *f, const char *name, uint64_t now_s,
                       char pin[CERTIFICATE_PIN_MAX])
{
    struct tls_files tls;
    struct edl_error error = { 0 };
    char *certificate;

    if (open_at(f, name, now_s, &tls, &error) < 0)
        fail_msg("%s", error.text);
    (void)snprintf(pin, CERTIFICATE_PIN_MAX, "%s", tls.pin);
    certificate = TAKE_PTR(tls.server.certificate);
    tls_files_clear(&tls);
    return certificate;
}

TEST(test_files_are_made_once_and_renewed_when_due)
{
    const struct fixture *f = *state;
    char pin[CERTIFICATE_PIN_MAX], later[CERTIFICATE_PIN_MAX];
    _cleanup_free_ char *first = open_good(f, "n1", NOW_S, pin);
    _cleanup_free_ char *same = open_good(f, "n1", NOW_S + 300 * DAY_S, later);
    _cleanup_free_ char *ca = content(f, "ca.pem");
    _cleanup_free_ char *renewed = NULL;
    _cleanup_free_ char *renamed = NULL;
    _cleanup_free_ char *ca_later = NULL;

    assert_string_equal(first, same);
    assert_string_equal(pin, later);
    renewed = open_good(f, "n1", NOW_S + 400 * DAY_S, later);
    assert_string_not_equal(first, renewed);
    assert_string_equal(pin, later); /* those who joined notice nothing */
    renamed = open_good(f, "n2", NOW_S + 400 * DAY_S, later);
    assert_string_not_equal(renewed, renamed);
    ca_later = content(f, "ca.pem");
    assert_string_equal(ca, ca_later);
    for (size_t i = 0; i < ELEMENTS(files); i++) {
        _cleanup_free_ char *path = path_of(f, files[i]);
        struct stat st;

        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, strstr(files[i], ".key") != NULL ? 0600 : 0644);
    }
}

/* A crash between any two files, and people who remove one. */
TEST(test_every_half_is_completed_or_refused)
{
    const struct fixture *f = *state;
    char pin[CERTIFICATE_PIN_MAX], later[CERTIFICATE_PIN_MAX];
    struct edl_error error = { 0 };
    struct tls_files tls;

    free(open_good(f, "n1", NOW_S, pin));
    for (size_t i = 0; i < ELEMENTS(files); i++) {
        _cleanup_free_ char *path = path_of(f, files[i]);
        _cleanup_free_ char *before = content(f, files[i]);

        assert_int_equal(unlink(path), 0);
        if (streq(files[i], "ca.key")) {
            assert_int_equal(open_at(f, "n1", NOW_S, &tls, &error), -EINVAL);
            assert_non_null(strstr(error.remedy, "backup"));
            assert_int_equal(whole_file_write(path, before, 0600, &error), 0);
        }
        free(open_good(f, "n1", NOW_S, later));
        assert_string_equal(pin, later);
    }
}

TEST(test_damaged_and_open_files)
{
    const struct fixture *f = *state;
    _cleanup_free_ char *server = path_of(f, "server.pem");
    _cleanup_free_ char *server_key = path_of(f, "server.key");
    _cleanup_free_ char *ca = path_of(f, "ca.pem");
    _cleanup_free_ char *key = path_of(f, "ca.key");
    char pin[CERTIFICATE_PIN_MAX], later[CERTIFICATE_PIN_MAX];
    struct edl_error error = { 0 };
    struct tls_files tls;

    free(open_good(f, "n1", NOW_S, pin));
    /* the server's own are made anew, whatever is in them */
    assert_int_equal(whole_file_write(server, "garbage", 0644, &error), 0);
    free(open_good(f, "n1", NOW_S, later));
    assert_int_equal(whole_file_write(server_key, "", 0600, &error), 0);
    free(open_good(f, "n1", NOW_S, later));
    assert_string_equal(pin, later);
    /* the authority's are not */
    assert_int_equal(chmod(key, 0640), 0);
    assert_int_equal(open_at(f, "n1", NOW_S, &tls, &error), -EPERM);
    assert_int_equal(chmod(key, 0600), 0);
    assert_int_equal(whole_file_write(ca, "garbage", 0644, &error), 0);
    assert_int_equal(open_at(f, "n1", NOW_S, &tls, &error), -EINVAL);
    assert_non_null(strstr(error.text, "ca.pem"));
    assert_true(error.remedy[0] != '\0');
}

/* The same authority with its key elsewhere: passed by the service manager. */
TEST(test_key_as_a_credential)
{
    const struct fixture *f = *state;
    char folder[] = "/tmp/edl-test-credentials-XXXXXX";
    char pin[CERTIFICATE_PIN_MAX], later[CERTIFICATE_PIN_MAX], passed[80];
    _cleanup_free_ char *key = path_of(f, "ca.key");
    _cleanup_free_ char *ca = path_of(f, "ca.pem");
    _cleanup_free_ char *text = NULL;
    struct edl_error error = { 0 };
    struct tls_files tls;

    free(open_good(f, "n1", NOW_S, pin));
    text = content(f, "ca.key");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(passed, sizeof passed, "%s/edl.ca-key", folder);
    assert_int_equal(setenv("CREDENTIALS_DIRECTORY", folder, 1), 0);
    free(open_good(f, "n1", NOW_S, later));                            /* none was passed */
    assert_int_equal(whole_file_write(passed, text, 0440, &error), 0); /* as by an ACL */
    assert_int_equal(unlink(key), 0);
    free(open_good(f, "n2", NOW_S, later));
    assert_string_equal(pin, later);
    assert_int_equal(access(key, F_OK), -1); /* it does not come to lie there again */
    assert_int_equal(unlink(ca), 0);
    free(open_good(f, "n1", NOW_S, later));
    assert_string_equal(pin, later);
    assert_int_equal(access(key, F_OK), -1);
    /* one of another authority */
    assert_int_equal(unlink(passed), 0);
    assert_int_equal(whole_file_write(passed, "garbage", 0400, &error), 0);
    assert_int_equal(open_at(f, "n1", NOW_S, &tls, &error), -EINVAL);
    (void)unlink(passed);
    (void)rmdir(folder);
    assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}
