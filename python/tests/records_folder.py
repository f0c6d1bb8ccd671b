# SPDX-License-Identifier: Apache-2.0
"""A folder with files of records, outside of a job; test_records.py and test_records_job.py use it."""
import os
import tempfile
import unittest
from typing import List

import edl
from edl import _recordio


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        self.assertNotIn("EDL_SOCKET", os.environ)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.pattern = os.path.join(self.folder, "part-*")
        edl._checkpoints.status = edl.TrainStatus()

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def text(self, name: str, text: str) -> str:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def framed(self, name: str, records: List[bytes], chunk_bytes: int = 0) -> str:
        with _recordio.Writer(self.path(name), "none", chunk_bytes) as writer:
            for record in records:
                writer.write(record)
        return self.path(name)
