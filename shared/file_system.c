/* SPDX-License-Identifier: Apache-2.0 */
/* file_system.c - see file_system.h
 *
 * Magic numbers are those of linux/magic.h and of the file systems' own sources; many are not in
 * every distribution's header. A kind that is not listed is taken for a local one: a table of all
 * good ones would refuse the next one. */
#include "shared/file_system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "shared/cleanup.h"
#include "shared/macro.h"

#define FUSE_MAGIC 0x65735546

static const struct {
    uint32_t magic;
    const char *name;
} network[] = {
    { 0x00006969, "NFS" },
    { 0xff534d42, "CIFS" },
    { 0xfe534d42, "SMB2" },
    { 0x0000517b, "SMB" },
    { 0x01021997, "9p" },
    { 0x00c36400, "CephFS" },
    { 0x5346414f, "AFS" },
    { 0x6b414653, "AFS" },
    { 0x0bd00bd0, "Lustre" },
    { 0x47504653, "GPFS" },
    { 0x19830326, "BeeGFS" },
    { 0xaad7aaea, "PanFS" },
    { 0x7461636f, "OCFS2" },
    { 0x01161970, "GFS2" },
    { 0x20030528, "OrangeFS" },
    { 0x73757245, "Coda" },
    { 0x0000564c, "NCP" },
    { 0xbacbacbc, "VMware shared folders" },
    { 0x786f4256, "VirtualBox shared folders" },
};

static const char *const network_fuse[] = {
    "sshfs",    "glusterfs", "ceph",     "ceph-fuse", "s3fs",      "goofys",        "geesefs",
    "gcsfuse",  "rclone",    "juicefs",  "davfs",     "curlftpfs", "mfs",           "lizardfs",
    "weed",     "seaweedfs", "blobfuse", "blobfuse2", "smbnetfs",  "vmhgfs-fuse",   "hdfs",
    "fuse_dfs", "nfs",       "moosefs",  "orangefs",  "mount-s3",  "mountpoint-s3",
};

const char *file_system_network(uint64_t magic, const char *type)
{
    const char *fuse = strncmp(type, "fuse.", 5) == 0 ? type + 5 : "";

    for (size_t i = 0; i < ELEMENTS(network); i++)
        if (network[i].magic == (uint32_t)magic) /* f_type may be signed and 32 bits wide */
            return network[i].name;
    for (size_t i = 0; (uint32_t)magic == FUSE_MAGIC && i < ELEMENTS(network_fuse); i++)
        if (streq(network_fuse[i], fuse))
            return network_fuse[i];
    return NULL;
}

/* "36 35 98:0 /root /mount options optional... - type source super-options" */
void file_system_type(FILE *mountinfo, dev_t device, char *ret, size_t size)
{
    _cleanup_free_ char *line = NULL;
    size_t room = 0;

    ret[0] = '\0';
    while (getline(&line, &room, mountinfo) > 0) {
        unsigned major_number, minor_number;
        const char *behind = strstr(line, " - ");

        if (behind == NULL || sscanf(line, "%*d %*d %u:%u", &major_number, &minor_number) != 2 ||
            major_number != major(device) || minor_number != minor(device))
            continue;
        (void)snprintf(ret, size, "%.*s", (int)strcspn(behind + 3, " \n"), behind + 3);
        return;
    }
}

int file_system_look(const char *folder, struct file_system *ret)
{
    _cleanup_fclose_ FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
    struct statvfs room;
    struct statfs disk;
    struct stat st;

    *ret = (struct file_system){ 0 };
    if (statfs(folder, &disk) == -1 || statvfs(folder, &room) == -1 || stat(folder, &st) == -1)
        return -errno;
    if (mountinfo != NULL)
        file_system_type(mountinfo, st.st_dev, ret->type, sizeof ret->type);
    ret->network = file_system_network((uint64_t)disk.f_type, ret->type);
    ret->total_bytes = (uint64_t)room.f_blocks * room.f_frsize;
    ret->free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
    ret->files = room.f_files;
    ret->files_free = room.f_favail;
    return 0;
}
