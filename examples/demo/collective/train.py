#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 on images, by as many processes as there are; alone too.

    PADDLE_EDL_IMAGENET_PATH=DIR python3 train.py [--epochs N] [--batch N] [--size N]

DIR/train_list.txt and, if there is one, DIR/val_list.txt have a line "FILE LABEL" for each image, FILE below DIR. The batch is of
all processes together: with the same batch and the same seed the same records go into each step, whoever comes and goes.
"""
import argparse
import os
import random
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, List, Tuple

import torch
import torch.nn.functional as F
from torch import nn

import edl
import edl.torch

STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))  # blocks, channels
EXPANSION = 4
DECAYS = (30, 60, 80)  # epochs after which the rate is a tenth
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

Listed = List[Tuple[str, int]]


def conv(n_in: int, n_out: int, size: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(n_in, n_out, size, stride, size // 2, bias=False), nn.BatchNorm2d(n_out))


class Block(nn.Module):
    def __init__(self, n_in: int, width: int, stride: int) -> None:
        super().__init__()
        n_out = width * EXPANSION
        self.first, self.second, self.third = conv(n_in, width, 1), conv(width, width, 3, stride), conv(width, n_out, 1)
        self.short = conv(n_in, n_out, 1, stride) if stride != 1 or n_in != n_out else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.second(F.relu(self.first(x))))
        return F.relu(self.third(y) + self.short(x))


def resnet50(n_classes: int) -> nn.Sequential:
    layers: "List[nn.Module]" = [conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    n = 64
    for stage, (blocks, width) in enumerate(STAGES):
        for block in range(blocks):
            layers.append(Block(n, width, 2 if block == 0 and stage > 0 else 1))
            n = width * EXPANSION
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n, n_classes))


def listed(folder: str, name: str) -> Listed:
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        pairs = [line.rsplit(maxsplit=1) for line in lines if line.strip()]
    return [(os.path.join(folder, file), int(label)) for file, label in pairs]


def read_ppm(path: str) -> torch.Tensor:
    with open(path, "rb") as file:
        data = file.read()
    head = re.match(rb"P6\s+(\d+)\s+(\d+)\s+255\s", data)
    size = (int(head[2]), int(head[1]), 3) if head else (0, 0, 3)
    if head is None or len(data) != head.end() + size[0] * size[1] * 3:
        raise SystemExit(f"{path} is no binary PPM of 8 bits")
    return torch.frombuffer(bytearray(data[head.end():]), dtype=torch.uint8).view(size)


def read_image(path: str) -> torch.Tensor:
    """Height, width, colour; a .ppm by itself, all else by Pillow."""
    if path.endswith(".ppm"):
        return read_ppm(path)
    try:
        from PIL import Image
    except ImportError:
        raise SystemExit(f"{path}: reading it needs Pillow\ntry: apt-get install python3-pil") from None
    with Image.open(path) as image:
        rgb = image.convert("RGB")
        return torch.frombuffer(bytearray(rgb.tobytes()), dtype=torch.uint8).view(rgb.height, rgb.width, 3)


def fit(image: torch.Tensor, size: int, draw: "random.Random | None") -> torch.Tensor:
    """A square of it: the middle, or with draw any part of at least half of it, mirrored half of the time."""
    x = image.permute(2, 0, 1).float().div(255)
    side = min(x.shape[1:])
    top, left = (x.shape[1] - side) // 2, (x.shape[2] - side) // 2
    if draw is not None:
        side = draw.randint((side + 1) // 2, side)
        top, left = draw.randint(0, x.shape[1] - side), draw.randint(0, x.shape[2] - side)
    x = F.interpolate(x[None, :, top:top + side, left:left + side], (size, size), mode="bilinear", align_corners=False)[0]
    if draw is not None and draw.random() < 0.5:
        x = x.flip(2)
    return (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(DEVIATION).view(3, 1, 1)


class Images:
    """Threads read the images of a step."""

    def __init__(self, images: Listed, size: int) -> None:
        self.images, self.size = images, size
        self.pool = ThreadPoolExecutor(8)

    def get(self, indices: "List[int]", seed: "int | None" = None) -> "Tuple[torch.Tensor, torch.Tensor]":
        def one(i: int) -> torch.Tensor:
            return fit(read_image(self.images[i][0]), self.size, None if seed is None else random.Random(seed * 1_000_003 + i))

        if not indices:
            return torch.empty(0, 3, self.size, self.size), torch.empty(0, dtype=torch.long)
        return torch.stack(list(self.pool.map(one, indices))), torch.tensor([self.images[i][1] for i in indices])


def accuracy(model: nn.Module, images: Images, batch: int, device: str) -> "Dict[str, float]":
    right = {1: 0, 5: 0}
    model.eval()
    with torch.no_grad():
        for at in range(0, len(images.images), batch):
            x, y = images.get(list(range(at, min(at + batch, len(images.images)))))
            best = model(x.to(device)).topk(min(5, model[-1].out_features)).indices.cpu() == y[:, None]
            right = {n: right[n] + int(best[:, :n].any(1).sum()) for n in right}
    model.train()
    return {f"acc{n}": 100.0 * right[n] / len(images.images) for n in right}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, value in (("epochs", 90), ("batch", 1024), ("size", 224), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=int(os.environ.get(f"PADDLE_EDL_{name.upper()}", value)))
    given = parser.parse_args()
    folder = os.environ.get("PADDLE_EDL_IMAGENET_PATH", ".")
    train, val = listed(folder, "train_list.txt"), listed(folder, "val_list.txt")
    if not train:
        raise SystemExit(f"{folder}/train_list.txt names no image\ntry: export PADDLE_EDL_IMAGENET_PATH=DIR")

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(given.seed)
    model = resnet50(1 + max(label for _, label in train + val)).to(device)
    rate = 0.1 * given.batch / 256
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9, weight_decay=1e-4)
    sampler = edl.sampler(len(train), seed=given.seed)
    per_epoch = sampler.steps(given.batch)
    elastic = edl.torch.Elastic(model, optimizer, resume=edl.load_checkpoint)
    images, held_out = Images(train, given.size), Images(val, given.size)
    for step in elastic.steps(sampler, given.batch, last=given.epochs * per_epoch):
        optimizer.param_groups[0]["lr"] = rate * 0.1 ** sum(step.epoch >= decay for decay in DECAYS)
        x, y = images.get(step.indices, seed=step.number)
        with step:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x.to(device)), y.to(device), reduction="sum") / step.batch
            loss.backward()
            optimizer.step()
        if not step.done or elastic.done % per_epoch != 0:
            continue
        edl.save_checkpoint(elastic.state_dict(), edl.TrainStatus(step.epoch))
        if elastic.world.rank == 0:
            said = accuracy(model, held_out, 64, device) if val else {}
            print(f"epoch {step.epoch} of {given.epochs}, {elastic.world.size} pods " + " ".join(f"{name} {value:.1f}" for name, value in said.items()), flush=True)


if __name__ == "__main__":
    main()
