# SPDX-License-Identifier: Apache-2.0
"""Distillation as a service: a training program gets the predictions of teachers with its data.

    from edl.distill import DistillReader

    reader = DistillReader(ins=["image", "label"], predicts=["teacher"])
    reader.set_teacher_batch_size(16)
    reader.set_dynamic_teacher("", "imagenet-teacher")     # or set_fixed_teacher("10.0.0.1:9292,10.0.0.2:9292")
    reader.set_sample_list_generator(batches)
    for batch in reader():
        for image, label, teacher in batch:
            ...

Teachers are a service of the cluster: any function of Python (`python3 -m edl.teach`). They come and go; the program gets all of its
samples, in the order of its own reader. While there is no teacher at all the reader waits, and says so.
"""
from __future__ import annotations

from ._reader import DistillReader
from ._dispatch import NoAnswer
from ._wire import BadFrame, BadProof, Refused

__all__ = ["BadFrame", "BadProof", "DistillReader", "NoAnswer", "Refused"]
