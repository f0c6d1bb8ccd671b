# SPDX-License-Identifier: Apache-2.0
"""Generated digits, whose best classifier is known, and that classifier as a teacher.

    python3 -m edl.teach digits:predict --port 9292

An image is the picture of its digit, 8 x 8 pixels, with noise on each. With noise of one spread, and all digits equally often, the best
guess is the nearest picture, and its probabilities are those of predict()."""
import numpy as np

PIXELS, CLASSES, NOISE = 64, 10, 0.45
_PICTURES = np.array([[int(c) for c in picture] for picture in (
    "0011110001000010010000100100001001000010010000100100001000111100", "0001000000110000010100000001000000010000000100000001000001111100",
    "0011110001000010000000100000010000001000000100000010000001111110", "0011110001000010000000100001110000000010000000100100001000111100",
    "0000010000001100000101000010010001111110000001000000010000000100", "0111111001000000010000000111110000000010000000100100001000111100",
    "0011110001000000010000000111110001000010010000100100001000111100", "0111111000000010000001000000100000010000000100000001000000010000",
    "0011110001000010010000100011110001000010010000100100001000111100", "0011110001000010010000100011111000000010000000100000010000111000",
)], dtype=np.float32)


def draw(n, seed, wrong):
    """n images, their labels, of which that part is any digit instead, and the right ones."""
    source = np.random.default_rng(seed)
    right = source.integers(CLASSES, size=n)
    images = (_PICTURES[right] + source.normal(0, NOISE, (n, PIXELS))).astype(np.float32)
    labels = np.where(source.random(n) < wrong, source.integers(CLASSES, size=n), right)
    return images, labels, right


def predict(fields):
    """What edl.teach serves: {"image": n x 64} -> {"prediction": n x 10}, probabilities."""
    distance = ((fields["image"][:, None, :] - _PICTURES[None]) ** 2).sum(axis=2)
    z = -distance / (2 * NOISE**2)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return {"prediction": (e / e.sum(axis=1, keepdims=True)).astype(np.float32)}


predict.feeds = [{"name": "image", "type": "float32", "shape": [PIXELS]}]
predict.fetches = ["prediction"]
