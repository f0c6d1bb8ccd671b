/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_notify.c - who is told of a job: addresses, URLs, and the key `notify` of a document */
#include "shared/job_notify.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "shared/error.h"
#include "shared/job_document.h"
#include "shared/job_spec.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

TEST(test_addresses)
{
    static const char *const good[] = { "ann@lab.example", "ann.b+c_d=e~f'g-h@a-b.c", "ann", "_x",
                                        "a@localhost" };
    static const char *const bad[] = { "",
                                       "@lab",
                                       "ann@",
                                       "ann@-lab",
                                       "ann@lab-",
                                       "ann@lab..example",
                                       "-ann@lab",
                                       "ann b@lab",
                                       "ann@lab\nBcc: eve@x",
                                       "ann@lab\r",
                                       "ann,eve@lab",
                                       "ann@lab@x",
                                       "|sh@lab",
                                       "/etc/x@lab",
                                       "ann%eve@lab",
                                       "ann!eve@lab",
                                       "\"ann\"@lab",
                                       "<ann@lab>",
                                       "ann@[127.0.0.1]",
                                       ":include:x",
                                       "ann\\x@lab",
                                       "\xc3\xa4nn@lab",
                                       "DOM\\ann",
                                       ".ann@lab" };

    for (size_t i = 0; i < ELEMENTS(good); i++)
        if (!mail_address_valid(good[i]))
            fail_msg("%s is refused", good[i]);
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        if (mail_address_valid(bad[i]))
            fail_msg("%s is taken", bad[i]);
}

TEST(test_urls)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
        bool tls, v6;
    } good[] = {
        { "https://hooks.example/T/B?x=%20&y=1", "hooks.example", 443, true, false },
        { "http://h:8080", "h", 8080, false, false },
        { "http://10.0.0.1/", "10.0.0.1", 80, false, false },
        { "http://[::1]:9/x", "::1", 9, false, true },
        { "https://[fe80::1]", "fe80::1", 443, true, true },
    };
    static const char *const bad[] = {
        "",
        "hooks.example",
        "ftp://h/",
        "file:///etc/passwd",
        "http://",
        "http:///x",
        "http://h:0/",
        "http://h:65536/",
        "http://h:/x",
        "http://h:80x/",
        "http://u:p@h/",
        "http://u@h/",
        "http://h/a b",
        "http://h/\n",
        "http://h/\"x",
        "http://h\\@e/",
        "http://h/#x",
        "http://[::1/",
        "http://[]/",
        "http://[h]/",
        "http://-h/",
        "http://h../",
        "http://h/{1,2}",
        "http://h/x[1]",
        "HTTP://h/",
        "http://[::1]x/",
        "http://h%00/",
    };
    struct webhook_url url;
    struct edl_error error;

    for (size_t i = 0; i < ELEMENTS(good); i++) {
        int r = webhook_url_read(good[i].text, &url, &error);

        if (r < 0)
            fail_msg("%s: %s", good[i].text, error.text);
        assert_string_equal(url.host, good[i].host);
        assert_int_equal(url.port, good[i].port);
        assert_int_equal(url.tls, good[i].tls);
        assert_int_equal(url.is_v6, good[i].v6);
    }
    for (size_t i = 0; i < ELEMENTS(bad); i++) {
        if (webhook_url_read(bad[i], &url, &error) != -EINVAL)
            fail_msg("%s is taken", bad[i]);
        assert_true(error.remedy[0] != '\0');
    }
}

TEST(test_a_shown_url_has_no_secret)
{
    char shown[WEBHOOK_SHOWN_MAX], text[WEBHOOK_URL_MAX];

    assert_string_equal(webhook_url_shown("https://h.example/T00/secret?k=1", shown),
                        "https://h.example/...");
    assert_string_equal(webhook_url_shown("http://h:80?secret", shown), "http://h:80/...");
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_true(strlen(webhook_url_shown(text, shown)) < WEBHOOK_SHOWN_MAX);
}

/* read_notify - of a whole document with this notify; NULL with error */
static struct job_spec *read_notify(const char *notify, struct edl_error *error)
{
    json_error_t problem;
    json_t *document = json_pack("{s:s,s:{s:s},s:o}", "name", "j", "trainer", "entrypoint", "true",
                                 "notify", json_loads(notify, JSON_DECODE_ANY, &problem));
    struct job_spec *spec = NULL;

    assert_non_null(document);
    *error = (struct edl_error){ 0 };
    if (job_spec_from_document(document, &spec, NULL, error) < 0)
        spec = NULL;
    json_decref(document);
    return spec;
}

TEST(test_notify_of_a_document)
{
    struct edl_error error;
    struct job_spec *spec = read_notify("{\"mail\":\"ann\"}", &error), *back = NULL, *copy;
    json_t *document;

    assert_non_null(spec);
    assert_int_equal(spec->notify->on, NOTIFY_END | NOTIFY_FAIL);
    assert_false(spec->notify->each);
    assert_string_equal(spec->notify->mails[0], "ann");
    assert_null(spec->notify->mails[1]);
    (void)job_spec_free(spec);
    spec = read_notify("{\"on\":[\"begin\",\"requeue\"],\"each\":true,"
                       "\"mail\":[\"a@b\",\"c@d\"],\"webhook\":\"https://h/x\"}",
                       &error);
    assert_non_null(spec);
    document = job_spec_to_document(spec);
    assert_int_equal(job_spec_from_document(document, &back, NULL, &error), 0);
    assert_true(job_spec_equal(spec, back));
    copy = job_spec_copy(spec);
    assert_true(job_spec_equal(spec, copy));
    copy->notify->mails[1][0] = 'x';
    assert_false(job_spec_equal(spec, copy));
    back->notify->each = false;
    assert_false(job_spec_equal(spec, back));
    back->notify->each = true;
    back->notify->on = NOTIFY_END;
    assert_false(job_spec_equal(spec, back));
    assert_true(job_spec_bytes(spec) > sizeof *spec + 4 * 32);
    json_decref(document);
    (void)job_spec_free(spec);
    (void)job_spec_free(back);
    (void)job_spec_free(copy);
}

TEST(test_notify_is_refused_at_its_key)
{
    static const struct {
        const char *notify, *pointer;
    } cases[] = {
        { "{}", "/notify" },
        { "{\"on\":\"end\"}", "/notify" },
        { "{\"on\":[],\"mail\":\"a\"}", "/notify/on" },
        { "{\"on\":\"finish\",\"mail\":\"a\"}", "/notify/on" },
        { "{\"on\":[\"end\",\"x\"],\"mail\":\"a\"}", "/notify/on/1" },
        { "{\"mail\":[\"a\",\"b c\"]}", "/notify/mail/1" },
        { "{\"mail\":[1]}", "/notify/mail/0" },
        { "{\"mail\":[\"a\\nb\"]}", "/notify/mail/0" },
        { "{\"mail\":[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]}", "/notify/mail/8" },
        { "{\"webhook\":\"http://u:p@h/\"}", "/notify/webhook" },
        { "{\"webhook\":\"gopher://h/\"}", "/notify/webhook" },
        { "{\"webhok\":\"http://h/\"}", "/notify/webhok" },
        { "{\"mail\":\"a\",\"each\":\"yes\"}", "/notify/each" },
        { "\"ann\"", "/notify" },
    };

    for (size_t i = 0; i < ELEMENTS(cases); i++) {
        struct edl_error error;

        if (read_notify(cases[i].notify, &error) != NULL)
            fail_msg("%s is taken", cases[i].notify);
        if (!streq(error.pointer, cases[i].pointer))
            fail_msg("%s: %s at %s", cases[i].notify, error.text, error.pointer);
        assert_int_equal(error.code, EDL_EBADSPEC);
    }
}
