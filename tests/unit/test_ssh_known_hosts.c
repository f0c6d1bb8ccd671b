/* SPDX-License-Identifier: Apache-2.0 */
/* test_ssh_known_hosts.c - what lines of known_hosts say, and that ssh-keygen's lines are
 * understood
 *
 * Keys, hashes and fingerprints are ssh-keygen's own output; no private key belongs to them. */
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "client/ssh/ssh_known_hosts.h"
#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define ED_1 "AAAAC3NzaC1lZDI1NTE5AAAAIDrSfLQMcImmsD9ooW1K8utZj7x5zBV3wJjlNrGPnVwV"
#define ED_2 "AAAAC3NzaC1lZDI1NTE5AAAAIND82IhMhpSzWPsqekM5X4PF++uX6fPYzy1XSXjza6xm"
#define EC_1                                                                                       \
    "AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHR/gtuCVh84VsQ0kPmFdO3yBEsE"             \
    "6iTh5T451FOxuIegrqEaaNcO6JF2jfCidCdLRqSCqvjyo5zDiOFhdRxAsps="
#define RSA_1                                                                                      \
    "AAAAB3NzaC1yc2EAAAADAQABAAAAgQCovfzOBk+6Kyu1a3uMzZADF5Me0xxiC6mkb01HKIwLeTe+rZWg"             \
    "s7CKl41m4Eqn3OkpeMLlH/n9HfA1nrAHcN97FZLj7lPep3nEtpBzS7+Bx9XeiaosaapXNkvbxwuVcJDL"             \
    "DDvaAimAi6le7cqAZwAUh8dOWQi/wOwIsLuZ6oE/nw=="
#define ED "ssh-ed25519 "
#define EC "ecdsa-sha2-nistp256 "
#define RSA "ssh-rsa "
#define HASHED_N1 "|1|tkCuY544tGfqPFAwIRymc4QZzLQ=|2l0Ugh3mJ04zLRLLD/NyZ50WGO4="
#define HASHED_N1_2222 "|1|4K/l4zO8wVob+TIHtIcV4cPGfRs=|Nf0PzGmKki/VRuqvyUDQ/H+NJzQ="

/* the host shows the key ED_1 */
static const struct {
    const char *host;
    uint16_t port;
    const char *file;
    enum ssh_known verdict;
    unsigned int line; /* 0: none is named */
} rows[] = {
    { "n7", 22, "", SSH_KNOWN_NEW, 0 },
    { "n7", 22, "n7 " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n7", 22, "n7 " ED ED_1, SSH_KNOWN_SAME, 1 },
    { "n7", 22, "n7 " ED ED_1 " a comment\r\n", SSH_KNOWN_SAME, 1 },
    { "n7", 22, "# n7\n\n \t\n\tn7\t" ED "\t" ED_1 "\n", SSH_KNOWN_SAME, 4 },
    { "n7", 22, "a,n7,b " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n7", 22, "n70,n,7 " ED ED_1 "\n", SSH_KNOWN_NEW, 0 },
    { "N7", 22, "n7 " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n7", 22, "N7 " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    /* names of one and two letters are no hashes */
    { "n", 22, "n " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    /* ports */
    { "n7", 2222, "[n7]:2222 " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n7", 22, "[n7]:2222 " ED ED_1 "\n", SSH_KNOWN_NEW, 0 },
    { "n7", 2222, "n7 " ED ED_1 "\n[n7]:2222 " ED ED_2 "\n", SSH_KNOWN_CHANGED, 2 },
    { "::1", 2222, "[::1]:2222 " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    /* hashed by ssh-keygen -H */
    { "n1", 22, HASHED_N1 " " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n1", 2222, HASHED_N1_2222 " " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n1", 2222, HASHED_N1 " " ED ED_1 "\n", SSH_KNOWN_NEW, 0 },
    { "n2", 22, HASHED_N1 " " ED ED_1 "\n", SSH_KNOWN_NEW, 0 },
    { "n1", 22, HASHED_N1 " " ED ED_2 "\n", SSH_KNOWN_CHANGED, 1 },
    { "n1", 22, "|1|AAAA|AAAA " ED ED_1 "\n|1| " ED ED_1 "\n|2|a|b " ED ED_1, SSH_KNOWN_NEW, 0 },
    /* wildcards and negation */
    { "n1.example.org", 22, "*.example.org " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n1.example.org", 22, "*.org,!n1.* " ED ED_1 "\n", SSH_KNOWN_NEW, 0 },
    { "n2.example.org", 22, "*.org,!n1.* " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n7", 22, "!x " ED ED_1 "\n", SSH_KNOWN_NEW, 0 },
    { "n7", 22, "n? " ED ED_1 "\n", SSH_KNOWN_SAME, 1 },
    { "n7", 22, "n?? " ED ED_1 "\n", SSH_KNOWN_NEW, 0 },
    { "a.b.c.d", 22, "*a*b*d*d " ED ED_1 "\n*.*.d " ED ED_1 "\n", SSH_KNOWN_SAME, 2 },
    /* other keys */
    { "n7", 22, "n7 " ED ED_2 "\n", SSH_KNOWN_CHANGED, 1 },
    { "n7", 22, "n7 " ED ED_2 "\nn7 " ED ED_1 "\n", SSH_KNOWN_SAME, 2 },
    { "n7", 22, "n7 " ED ED_1 "\nn7 " ED ED_2 "\n", SSH_KNOWN_SAME, 1 },
    { "n7", 22, "n7 " RSA RSA_1 "\nn7 " EC EC_1 "\n", SSH_KNOWN_OTHER, 1 },
    { "n7", 22, "n7 " RSA RSA_1 "\nn7 " ED ED_2 "\n", SSH_KNOWN_CHANGED, 2 },
    /* markers */
    { "n7", 22, "@revoked n7 " ED ED_1 "\nn7 " ED ED_1 "\n", SSH_KNOWN_REVOKED, 1 },
    { "n7", 22, "n7 " ED ED_1 "\n@revoked * " ED ED_1 "\n", SSH_KNOWN_REVOKED, 2 },
    { "n7", 22, "@revoked n7 " ED ED_2 "\nn7 " ED ED_1 "\n", SSH_KNOWN_SAME, 2 },
    { "n7", 22, "@revoked n7 " ED ED_2 "\n", SSH_KNOWN_NEW, 0 },
    { "n7", 22, "@cert-authority n* " ED ED_1 "\n", SSH_KNOWN_CA, 0 },
    { "n7", 22, "@cert-authority * " ED ED_2 "\nn7 " ED ED_1 "\n", SSH_KNOWN_SAME, 2 },
    { "n7", 22, "@else n7 " ED ED_1 "\n", SSH_KNOWN_NEW, 0 },
    /* lines that are none */
    { "n7", 22, "word\nn7\nn7 " ED "\nn7 1024 35 123\nn7 " ED ED_1 "\n", SSH_KNOWN_SAME, 5 },
    { "n7", 22, "n7 " RSA ED_1 "\n", SSH_KNOWN_NEW, 0 },
    { "n7", 22, "n7 " ED "AAAA\n", SSH_KNOWN_NEW, 0 },
};

static uint8_t *decoded(const char *text, size_t *ret_size)
{
    uint8_t *blob = NULL;

    assert_true(ssh_base64_decode(text, strlen(text), &blob, ret_size));
    return blob;
}

TEST(test_rows)
{
    size_t size;
    _cleanup_free_ uint8_t *key = decoded(ED_1, &size);

    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct ssh_known_hosts known;
        char name[SSH_KNOWN_NAME_MAX];

        print_message("%s:%u %.60s\n", rows[i].host, rows[i].port, rows[i].file);
        assert_true(ssh_known_hosts_name(rows[i].host, rows[i].port, NULL, name));
        ssh_known_hosts_begin(&known, name, key, size);
        ssh_known_hosts_read(&known, "file", rows[i].file, strlen(rows[i].file));
        assert_int_equal(ssh_known_hosts_verdict(&known), rows[i].verdict);
        assert_int_equal(known.line, rows[i].line);
        assert_true((known.file != NULL) == (rows[i].line != 0));
    }
}

/* ssh reads its users' files and those of the machine: what one has forgotten the other may know */
TEST(test_files)
{
    static const char user[] = "n7 " RSA RSA_1 "\n", global[] = "\nn7 " ED ED_1 "\n";
    size_t size;
    _cleanup_free_ uint8_t *key = decoded(ED_1, &size);
    struct ssh_known_hosts known;

    ssh_known_hosts_begin(&known, "n7", key, size);
    ssh_known_hosts_read(&known, "user", user, strlen(user));
    assert_int_equal(ssh_known_hosts_verdict(&known), SSH_KNOWN_OTHER);
    ssh_known_hosts_read(&known, "global", global, strlen(global));
    assert_int_equal(ssh_known_hosts_verdict(&known), SSH_KNOWN_SAME);
    assert_string_equal(known.file, "global");
    assert_int_equal(known.line, 2);
    assert_int_equal(known.types, SSH_KEY_RSA | SSH_KEY_ED25519);
}

TEST(test_long_line)
{
    static const char end[] = " " ED ED_1 "\nn7 " ED ED_1 "\n";
    size_t size, length = 100000;
    _cleanup_free_ uint8_t *key = decoded(ED_1, &size);
    _cleanup_free_ char *text = xcalloc(length + sizeof end, 1);
    struct ssh_known_hosts known;

    memset(text, 'a', length);
    memcpy(text + length, end, sizeof end);
    ssh_known_hosts_begin(&known, "n7", key, size);
    ssh_known_hosts_read(&known, "file", text, strlen(text));
    assert_int_equal(ssh_known_hosts_verdict(&known), SSH_KNOWN_SAME);
    assert_int_equal(known.line, 2);
}

TEST(test_fingerprints)
{
    static const struct {
        const char *key, *type, *fingerprint;
    } of[] = {
        { ED_1, "ED25519", "SHA256:BP6YNfpEKhKYm6SSJHTHAWyAJ5RtAkde5vXwWVe8Oe0" },
        { EC_1, "ECDSA", "SHA256:VDHAtpDuU8kiKPlBWOonnBKOjwyUBYd/1B/06PYrxfk" },
        { RSA_1, "RSA", "SHA256:PNxdO76kjzLcV/LIyZn29leokeyvi5oS6o39hDOUrOQ" },
    };

    for (size_t i = 0; i < ELEMENTS(of); i++) {
        size_t size;
        _cleanup_free_ uint8_t *key = decoded(of[i].key, &size);
        char fingerprint[SSH_FINGERPRINT_MAX];
        const char *type;

        ssh_fingerprint(key, size, fingerprint);
        assert_string_equal(fingerprint, of[i].fingerprint);
        (void)ssh_blob_type(key, size, &type);
        assert_string_equal(type, of[i].type);
    }
    assert_int_equal(ssh_blob_type((const uint8_t *)"\0\0\0\5x", 5, NULL), SSH_KEY_STRANGE);
}

/* what is written is what ssh-keygen -H writes with that salt, and is found again */
TEST(test_written)
{
    size_t size, salt_size;
    _cleanup_free_ uint8_t *key = decoded(ED_1, &size), *salt = NULL;
    const char *salt_end = strchr(HASHED_N1 + 3, '|');
    _cleanup_free_ char *plain = ssh_known_hosts_line("[n7]:2222", key, size, NULL), *hashed = NULL;

    assert_string_equal(plain, "[n7]:2222 " ED ED_1 "\n");
    assert_true(
        ssh_base64_decode(HASHED_N1 + 3, (size_t)(salt_end - HASHED_N1 - 3), &salt, &salt_size));
    assert_int_equal(salt_size, SSH_SHA1_BYTES);
    hashed = ssh_known_hosts_line("n1", key, size, salt);
    assert_string_equal(hashed, HASHED_N1 " " ED ED_1 "\n");
}

TEST(test_names)
{
    char name[SSH_KNOWN_NAME_MAX], long_host[400];

    assert_true(ssh_known_hosts_name("N7", 22, NULL, name));
    assert_string_equal(name, "n7");
    assert_true(ssh_known_hosts_name("n7", 2222, "Alias", name));
    assert_string_equal(name, "alias");
    memset(long_host, 'a', sizeof long_host - 1);
    long_host[sizeof long_host - 1] = '\0';
    assert_false(ssh_known_hosts_name(long_host, 22, NULL, name));
}
