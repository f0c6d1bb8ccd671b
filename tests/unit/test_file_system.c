/* SPDX-License-Identifier: Apache-2.0 */
/* test_file_system.c - network file systems are refused, others are taken */
#include "shared/file_system.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include "shared/cleanup.h"
#include "shared/macro.h"
#include "tests/unit/test.h"

#define FUSE 0x65735546

TEST(test_network_file_systems_are_refused)
{
    static const struct {
        uint64_t magic;
        const char *type, *name;
    } refused[] = {
        { 0x6969, "nfs4", "NFS" },
        { 0xff534d42, "cifs", "CIFS" },
        { 0xfffffffffe534d42, "smb3", "SMB2" }, /* sign extended */
        { 0x01021997, "9p", "9p" },
        { FUSE, "fuse.sshfs", "sshfs" },
        { FUSE, "fuse.glusterfs", "glusterfs" },
    };
    static const struct {
        uint64_t magic;
        const char *type;
    } taken[] = {
        { 0xef53, "ext4" },       { 0x58465342, "xfs" },      { 0x9123683e, "btrfs" },
        { 0x01021994, "tmpfs" },  { 0x794c7630, "overlay" },  { 0x2fc12fc1, "zfs" },
        { FUSE, "fuseblk" },      { FUSE, "fuse.gocryptfs" }, { FUSE, "" },
        { 0xef53, "fuse.sshfs" },
    };

    for (size_t i = 0; i < ELEMENTS(refused); i++)
        assert_string_equal(file_system_network(refused[i].magic, refused[i].type),
                            refused[i].name);
    for (size_t i = 0; i < ELEMENTS(taken); i++)
        assert_null(file_system_network(taken[i].magic, taken[i].type));
}

TEST(test_type_is_found_by_device)
{
    static char text[] = "21 26 0:19 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
                         "damaged\n"
                         "39 26 0:34 /data /mnt/a\\040b rw - fuse.sshfs u@h:/data rw,user_id=0\n"
                         "40 26 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n";
    _cleanup_fclose_ FILE *file = NULL;
    char type[16];

    file = fmemopen(text, sizeof text - 1, "r");
    file_system_type(file, makedev(0, 34), type, sizeof type);
    assert_string_equal(type, "fuse.sshfs");
    rewind(file);
    file_system_type(file, makedev(8, 1), type, sizeof type);
    assert_string_equal(type, "ext4");
    rewind(file);
    file_system_type(file, makedev(9, 9), type, sizeof type);
    assert_string_equal(type, "");
}

TEST(test_a_local_folder_is_taken)
{
    struct file_system disk;

    assert_int_equal(file_system_look("/tmp", &disk), 0);
    assert_null(disk.network);
    assert_true(disk.total_bytes > 0 && disk.free_bytes <= disk.total_bytes);
    assert_int_equal(file_system_look("/nowhere/at/all", &disk), -ENOENT);
}
