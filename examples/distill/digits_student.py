# SPDX-License-Identifier: Apache-2.0
"""A small student of digits that learns from a teacher: a linear model by plain gradient descent, in numpy.

    python3 digits_student.py --teachers 127.0.0.1:9292      # fixed teachers, alone on a laptop
    python3 digits_student.py --service digits-teacher       # in a cluster; without the option: `teacher` of its job
    python3 digits_student.py --without                      # from the labels alone, for comparison

The labels of the train samples are wrong in two of five cases, those of the test samples are right. The teacher knows better, and says how
sure it is: the student that asks it has fewer errors. What it prints last is its error on the test samples."""
import argparse
import sys

import numpy as np

from digits import CLASSES, PIXELS, draw


def batches(images, labels, size, seed):
    order = np.random.default_rng(seed).permutation(len(images))
    for at in range(0, len(order), size):
        part = order[at : at + size]
        yield [(images[i], labels[i]) for i in part]


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--teachers", help="HOST:PORT,...; without it those of the job's service")
    parser.add_argument("--service", help="of the cluster: JOB or JOB.ROLE")
    parser.add_argument("--without", action="store_true", help="no teacher: the labels alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--passes", type=int, default=8)
    given = parser.parse_args()
    images, labels, _right = draw(given.samples, seed=given.seed, wrong=0.4)
    weights, bias = np.zeros((PIXELS, CLASSES)), np.zeros(CLASSES)
    reader = None
    if not given.without:
        from edl.distill import DistillReader

        reader = DistillReader(ins=["image", "label"], predicts=["prediction"])
        reader.set_teacher_batch_size(16)
        if given.teachers:
            reader.set_fixed_teacher(given.teachers)
        elif given.service:
            reader.set_dynamic_teacher("", given.service)
        epoch = [0]
        reader.set_sample_list_generator(lambda: batches(images, labels, 32, epoch[0]))
    for n in range(given.passes):
        if reader is not None:
            epoch[0] = n
            source = reader()
        else:
            source = batches(images, labels, 32, n)
        for batch in source:
            x = np.stack([sample[0] for sample in batch])
            hard = np.eye(CLASSES)[[sample[1] for sample in batch]]
            target = np.stack([sample[2] for sample in batch]) if reader is not None else hard
            gradient = (softmax(x @ weights + bias) - target) / len(batch)
            weights -= 0.5 * x.T @ gradient
            bias -= 0.5 * gradient.sum(axis=0)
    test, _labels, right = draw(2000, seed=given.seed + 1000, wrong=0.0)
    print(f"error {np.mean(np.argmax(test @ weights + bias, axis=1) != right):.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
