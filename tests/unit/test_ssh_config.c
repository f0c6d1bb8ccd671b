/* SPDX-License-Identifier: Apache-2.0 */
/* test_ssh_config.c - what `ssh -G` prints, read; ssh itself is asked in 320-ssh.sh */
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_config.h"
#include "client/ssh/ssh_session.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const struct ssh_place place = { "/home/me", "me", "/run/agent" };
static const struct ssh_target target = { .host = "n7" };

TEST(test_default)
{
    const struct ssh_target other = { .host = "n7", .user = "root", .port = 2222 };
    struct ssh_config config;

    ssh_config_default(&target, &place, &config);
    assert_string_equal(config.hostname, "n7");
    assert_string_equal(config.user, "me");
    assert_int_equal(config.port, 22);
    assert_string_equal(config.identity_agent, "/run/agent");
    assert_string_equal(config.identity_files.items[3], "/home/me/.ssh/id_ed25519");
    assert_string_equal(config.user_known_hosts.items[0], "/home/me/.ssh/known_hosts");
    assert_string_equal(config.global_known_hosts.items[0], "/etc/ssh/ssh_known_hosts");
    assert_null(config.proxy);
    ssh_config_clear(&config);
    ssh_config_default(&other, &place, &config);
    assert_string_equal(config.user, "root");
    assert_int_equal(config.port, 2222);
    ssh_config_clear(&config);
}

TEST(test_parse)
{
    static const char text[] = "user ops\nhostname n7.example.org\nport 2200\nhashknownhosts yes\n"
                               "identitiesonly yes\nstricthostkeychecking ask\n"
                               "identityfile ~/a b\nidentityfile %d/k-%h-%r-%p-%u-%%\n"
                               "identityfile /x/%i\nidentityfile none\n"
                               "certificatefile ~/k-cert.pub\n"
                               "userknownhostsfile /home/me/k1 /home/me/k2\n"
                               "globalknownhostsfile none\nidentityagent ~/agent\n"
                               "hostkeyalias alias\nproxyjump gate\nunknown x\nempty\nempty \n";
    struct ssh_config config;

    ssh_config_parse(text, &target, &place, &config);
    assert_string_equal(config.hostname, "n7.example.org");
    assert_string_equal(config.user, "ops");
    assert_int_equal(config.port, 2200);
    assert_true(config.hash_known_hosts);
    assert_true(config.identities_only);
    assert_int_equal(config.strict, SSH_STRICT_ASK);
    /* a sign that is not known here and "none" are no paths */
    assert_int_equal(config.identity_files.n, 2);
    assert_string_equal(config.identity_files.items[0], "/home/me/a b");
    assert_string_equal(config.identity_files.items[1], "/home/me/k-n7.example.org-ops-2200-me-%");
    assert_string_equal(config.certificate_files.items[0], "/home/me/k-cert.pub");
    assert_int_equal(config.user_known_hosts.n, 2);
    assert_string_equal(config.user_known_hosts.items[1], "/home/me/k2");
    assert_int_equal(config.global_known_hosts.n, 0);
    assert_string_equal(config.identity_agent, "/home/me/agent");
    assert_string_equal(config.host_key_alias, "alias");
    assert_string_equal(config.proxy, "gate");
    ssh_config_clear(&config);
}

TEST(test_agents)
{
    static const struct {
        const char *text, *agent;
    } rows[] = { { "", "/run/agent" },
                 { "identityagent none\n", NULL },
                 { "identityagent SSH_AUTH_SOCK\n", "/run/agent" },
                 { "identityagent $EDL_TEST_AGENT\n", "/from/variable" },
                 { "identityagent $EDL_TEST_NO_AGENT\n", NULL },
                 { "identityagent %d/s\n", "/home/me/s" } };

    assert_int_equal(setenv("EDL_TEST_AGENT", "/from/variable", 1), 0);
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct ssh_config config;

        ssh_config_parse(rows[i].text, &target, &place, &config);
        if (rows[i].agent == NULL)
            assert_null(config.identity_agent);
        else
            assert_string_equal(config.identity_agent, rows[i].agent);
        ssh_config_clear(&config);
    }
}

TEST(test_key_judges)
{
    static const struct {
        const char *text, *judge;
    } rows[] = { { "", NULL },
                 { "revokedhostkeys none\nknownhostscommand none\n", NULL },
                 { "revokedhostkeys /etc/ssh/revoked\n", "RevokedHostKeys" },
                 { "knownhostscommand /usr/bin/keys %H\n", "KnownHostsCommand" } };

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct ssh_config config;

        ssh_config_parse(rows[i].text, &target, &place, &config);
        if (rows[i].judge == NULL)
            assert_null(config.key_judge);
        else
            assert_string_equal(config.key_judge, rows[i].judge);
        ssh_config_clear(&config);
    }
}

TEST(test_bounds)
{
    char text[40000] = "port 99999\nproxycommand none\n";
    struct ssh_config config;

    for (size_t i = 0; i < 100; i++)
        (void)strncat(text, "identityfile /a\n", sizeof text - strlen(text) - 1);
    (void)strncat(text, "userknownhostsfile ", sizeof text - strlen(text) - 1);
    memset(text + strlen(text), 'x', 5000);
    ssh_config_parse(text, &target, &place, &config);
    assert_int_equal(config.port, 22);
    assert_null(config.proxy);
    assert_int_equal(config.identity_files.n, SSH_CONFIG_LIST_MAX);
    assert_int_equal(config.user_known_hosts.n, 0);
    ssh_config_clear(&config);
}

TEST(test_argv)
{
    const struct ssh_target other = { .host = "n7", .user = "root", .port = 2222 };
    static const char *const wanted[] = { "ssh",  "-TG", "-F",   "file", "-l",
                                          "root", "-p",  "2222", "--",   "n7" };
    const char *argv[SSH_CONFIG_ARGV_MAX];
    char storage[8];

    ssh_config_argv(&other, "file", storage, argv);
    for (size_t i = 0; i < ELEMENTS(wanted); i++)
        assert_string_equal(argv[i], wanted[i]);
    assert_null(argv[ELEMENTS(wanted)]);
}
