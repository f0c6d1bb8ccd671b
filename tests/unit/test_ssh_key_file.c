/* SPDX-License-Identifier: Apache-2.0 */
/* test_ssh_key_file.c - which key a file holds, and whether it needs a passphrase
 *
 * The keys were made for this test by ssh-keygen; nothing lets them in. */
#include <stdint.h>

#include <string.h>

#include "client/ssh/ssh_digest.h"
#include "client/ssh/ssh_key_file.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

static const char plain[] =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
    "QyNTUxOQAAACA60ny0DHCJprA/aKFtSvLrWY+8ecwVd8CY5Taxj51cFQAAAIhoJFozaCRa\n"
    "MwAAAAtzc2gtZWQyNTUxOQAAACA60ny0DHCJprA/aKFtSvLrWY+8ecwVd8CY5Taxj51cFQ\n"
    "AAAED8RgjYG6Xckuq28CfGw/RUOmbig7cOuWPeH8cVpQQ0YjrSfLQMcImmsD9ooW1K8utZ\n"
    "j7x5zBV3wJjlNrGPnVwVAAAAAAECAwQF\n"
    "-----END OPENSSH PRIVATE KEY-----\n";
static const char encrypted[] =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABDWaWW6z3\n"
    "LVQWcjNMmyK5enAAAAEAAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIKIgIrcAIyOy+wvk\n"
    "OM/uF1pepnoNMhuw4nwkN3cEWMHxAAAAkLPdowWW9z0QxaobuoeUHi75YWmXzfCsxZ0L/0\n"
    "7zSyZBf7Cxl+MAVYz5s5rddiMnLdzY1nxh2bUzNXyiM8svnbmY/3JMdJUuPvvndJNAKL6R\n"
    "Lx+WLp/bGLDCeAmEm1Vx+q9Yuu6iUOPZ9O3f4BKipfoQBpjzgNMXCH1Cz12Z1hTvFt+4Jv\n"
    "0gxZpnBnuQdolZag==\n"
    "-----END OPENSSH PRIVATE KEY-----\n";
#define PLAIN_PUBLIC                                                                               \
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrSfLQMcImmsD9ooW1K8utZj7x5zBV3wJjlNrGPnVwV"
#define PLAIN_PRINT "SHA256:BP6YNfpEKhKYm6SSJHTHAWyAJ5RtAkde5vXwWVe8Oe0"
#define ENCRYPTED_PRINT "SHA256:wEGLBYmq+el3fww59g2iKfW/2aeUMH39cdxMPftSloo"

static const struct {
    const char *text;
    bool is_key, encrypted;
    unsigned int type;
    const char *fingerprint; /* NULL: the format does not tell it */
} rows[] = {
    { plain, true, false, SSH_KEY_ED25519, PLAIN_PRINT },
    { encrypted, true, true, SSH_KEY_ED25519, ENCRYPTED_PRINT },
    { "-----BEGIN EC PRIVATE KEY-----\nAAAA\n", true, false, SSH_KEY_ECDSA_256, NULL },
    { "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n", true, true, SSH_KEY_ECDSA_256,
      NULL },
    { "-----BEGIN RSA PRIVATE KEY-----\n", true, false, SSH_KEY_RSA, NULL },
    { "-----BEGIN PRIVATE KEY-----\n", true, false, 0, NULL },
    { "-----BEGIN ENCRYPTED PRIVATE KEY-----\n", true, true, 0, NULL },
    { "", false, false, 0, NULL },
    { "ssh-ed25519 AAAA\n", false, false, 0, NULL },
    { "-----BEGIN OPENSSH PRIVATE KEY-----\n", false, false, 0, NULL },
    { "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END", false, false, 0, NULL },
};

static void check_print(const struct ssh_key_file *file, const char *wanted)
{
    char fingerprint[SSH_FINGERPRINT_MAX];

    assert_true((file->blob != NULL) == (wanted != NULL));
    if (wanted == NULL)
        return;
    ssh_fingerprint(file->blob, file->blob_size, fingerprint);
    assert_string_equal(fingerprint, wanted);
}

TEST(test_rows)
{
    for (size_t i = 0; i < ELEMENTS(rows); i++) {
        struct ssh_key_file file;

        assert_int_equal(ssh_key_file_read(rows[i].text, strlen(rows[i].text), &file),
                         rows[i].is_key);
        assert_int_equal(file.encrypted, rows[i].encrypted);
        assert_int_equal(file.type, rows[i].type);
        check_print(&file, rows[i].fingerprint);
        ssh_key_file_clear(&file);
    }
}

/* a file that is cut off anywhere is no key, or the whole one where only its end line is gone */
TEST(test_cut)
{
    for (size_t size = 0; size < strlen(plain); size++) {
        struct ssh_key_file file;

        if (ssh_key_file_read(plain, size, &file))
            check_print(&file, PLAIN_PRINT);
        ssh_key_file_clear(&file);
    }
}

TEST(test_public)
{
    static const char *const good[] = { PLAIN_PUBLIC, PLAIN_PUBLIC " me@here\n",
                                        PLAIN_PUBLIC "\r\n" };
    static const char *const bad[] = { "", "ssh-ed25519", "ssh-ed25519 ", "ssh-ed25519 ?" };
    struct ssh_key_file file;

    for (size_t i = 0; i < ELEMENTS(good); i++) {
        assert_true(ssh_key_public_read(good[i], strlen(good[i]), &file));
        assert_int_equal(file.type, SSH_KEY_ED25519);
        check_print(&file, PLAIN_PRINT);
        ssh_key_file_clear(&file);
    }
    for (size_t i = 0; i < ELEMENTS(bad); i++)
        assert_false(ssh_key_public_read(bad[i], strlen(bad[i]), &file));
}
