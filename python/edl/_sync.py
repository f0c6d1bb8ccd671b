# SPDX-License-Identifier: Apache-2.0
"""What a loss of power leaves: names of files stay when their folder was synced."""
import os


def sync_folder(path: str) -> None:
    """OSError"""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
