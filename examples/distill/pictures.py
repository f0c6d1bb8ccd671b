# SPDX-License-Identifier: Apache-2.0
"""Generated pictures of ten gratings, whose best classifier is known, and that classifier as a teacher.

    python3 -m edl.teach pictures:predict --port 9292

A picture has 3 x 32 x 32 pixels: a coloured wave at any phase, with noise. The direction and length of the wave are its class. The mean
picture of each class is the same grey, so nothing linear tells them apart. They are those of `edl-trainer data images`."""
import math

import numpy as np

CHANNELS, SIDE, CLASSES, NOISE = 3, 32, 10, 2.0
PIXELS = CHANNELS * SIDE * SIDE
_COLOUR = np.array([1.0, 0.6, -0.8])
_WAVES = np.array([(2, 0), (0, 2), (2, 2), (2, -2), (4, 0), (0, 4), (4, 4), (4, -4), (4, 2), (2, 4)])


def _angles():
    """Of each class at each pixel: CLASSES x SIDE x SIDE."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    return 2 * np.pi / SIDE * (_WAVES[:, 0, None, None] * x + _WAVES[:, 1, None, None] * y)


_ANGLES = _angles()
_PARTS = np.stack([(_COLOUR[:, None, None] * part(_ANGLES)[:, None]).reshape(CLASSES, PIXELS) for part in (np.cos, np.sin)])


def draw(n, seed, wrong):
    """n pictures as rows of numbers between 0 and 1, their labels, of which that part is any class instead, and the right ones."""
    source = np.random.default_rng(seed)
    right = source.integers(CLASSES, size=n)
    phase = source.uniform(0, 2 * np.pi, n)[:, None, None]
    z = _COLOUR[None, :, None, None] * np.cos(_ANGLES[right] + phase)[:, None] + source.normal(0, NOISE, (n, CHANNELS, SIDE, SIDE))
    labels = np.where(source.random(n) < wrong, source.integers(CLASSES, size=n), right)
    return (1 / (1 + np.exp(-z))).reshape(n, PIXELS).astype(np.float32), labels, right


def best_error():
    """Of the best classifier: ten orthogonal signals of unknown phase."""
    energy = (_COLOUR**2).sum() * SIDE * SIDE / 2
    return sum((1 if k % 2 else -1) * math.comb(CLASSES - 1, k) / (k + 1) * math.exp(-k / (k + 1) * energy / (2 * NOISE**2))
               for k in range(1, CLASSES))


def _log_bessel(x):
    """ln I0(x): of how likely a wave of any phase is."""
    large = np.maximum(x, 30)
    return np.where(x < 30, np.log(np.i0(np.minimum(x, 30))), large - np.log(2 * np.pi * large) / 2 + np.log1p(1 / (8 * large)))


def predict(fields):
    """What edl.teach serves: {"image": n x 3072} -> {"prediction": n x 10}, probabilities."""
    x = np.clip(fields["image"].astype(np.float64), 1e-6, 1 - 1e-6)
    across, down = np.log(x / (1 - x)) @ _PARTS.transpose(0, 2, 1)
    z = _log_bessel(np.hypot(across, down) / NOISE**2)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return {"prediction": (e / e.sum(axis=1, keepdims=True)).astype(np.float32)}


predict.feeds = [{"name": "image", "type": "float32", "shape": [PIXELS]}]
predict.fetches = ["prediction"]
