# SPDX-License-Identifier: Apache-2.0
"""Disks of machines whose power can be cut: a file system in a file, from which what was not synced is gone then.

The cut is the ioctl by which file systems are tested for this: the file system is over at once, neither its journal nor what the kernel
has in memory is written any more, and each call that comes later fails. What is in the file then is what was synced, or was written in the
meantime; the next mount replays the journal. A disk's own cache, which a real power cut may lose too, is not part of it.

Needs root of the machine, not of a namespace, and loop devices. The mounts are those of the caller's namespace."""
import fcntl
import os
import struct
import subprocess

from postgresql import Missing

SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
NO_FLUSH = 2  # EXT4_GOING_FLAGS_NOLOGFLUSH
DISK_BYTES = 400 << 20


def prepare_disks(folder):
    """Missing, with the reason, where no power can be cut here. From then on what is mounted here, and is no more, is so for children
    that make a namespace of their own as well: a file system that is over would be kept by them."""
    disk = Disk(f'{folder}/probe', f'{folder}/probe.at')
    try:
        subprocess.run(['mount', '--make-rshared', '/'], check=True, stderr=subprocess.PIPE)
        disk.make()
        disk.cut()
        disk.end()
    except (OSError, subprocess.SubprocessError) as error:
        raise Missing(f'no power can be cut here (root, a loop device, ext4): {error}') from error


class Disk:
    def __init__(self, file, at):
        self.file, self.at = file, at

    def make(self):
        with open(self.file, 'wb') as f:
            f.truncate(DISK_BYTES)
        subprocess.run(['mkfs.ext4', '-q', '-F', self.file], check=True, stderr=subprocess.PIPE)
        os.makedirs(self.at, exist_ok=True)
        self.mount()

    def mount(self):
        subprocess.run(['mount', '-o', 'loop', self.file, self.at], check=True, stderr=subprocess.PIPE)

    def sync(self):
        """What is there now stays."""
        subprocess.run(['sync', '-f', self.at], check=True)

    def cut(self):
        folder = os.open(self.at, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(folder, SHUTDOWN, struct.pack('I', NO_FLUSH))
        finally:
            os.close(folder)

    def mend(self):
        """The power is back. Nobody may have a file open there."""
        subprocess.run(['umount', self.at], check=True)
        self.mount()
        # fails where the file system that is over is mounted somewhere else
        with open(f'{self.at}/mended', 'w', encoding='ascii') as f:
            f.write('1')

    def end(self):
        if os.path.ismount(self.at):
            subprocess.run(['umount', self.at], check=False)
        if os.path.exists(self.file):
            os.unlink(self.file)
