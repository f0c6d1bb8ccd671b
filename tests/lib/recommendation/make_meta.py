# SPDX-License-Identifier: Apache-2.0
"""meta.bin and ratings of 30 users and 40 films, with the sizes of MovieLens 1M."""
import pickle
import random

draw = random.Random(1)


def field(name, kind, seq, size):
    return {'name': name, 'type': kind, 'seq': seq, 'dict': {i: i for i in range(size)}}


meta = {
    'movie': {'__meta__': {'raw_meta': [
        {'type': 'id', 'max': 3952}, field('title', 'embedding', 'sequence', 98),
        field('genres', 'one_hot_dense', 'no_sequence', 18)]}},
    'user': {'__meta__': {'raw_meta': [
        {'type': 'id', 'max': 6040}, field('gender', 'embedding', 'no_sequence', 2),
        field('age', 'embedding', 'no_sequence', 7), field('occupation', 'embedding', 'no_sequence', 21)]}},
}
for movie in range(1, 41):
    title = [draw.randrange(98) for _ in range(draw.randrange(1, 9))]
    meta['movie'][movie] = [movie - 1, title, [float(draw.random() < 0.2) for _ in range(18)]]
for user in range(1, 31):
    meta['user'][user] = [user - 1, draw.randrange(2), draw.randrange(7), draw.randrange(21)]
with open('meta.bin', 'wb') as out:
    pickle.dump(meta, out)
for part, samples in (('train', 900), ('test', 100)):
    with open(f'{part}.txt', 'w', encoding='ascii') as out:
        for _ in range(samples):
            user, movie = draw.randrange(1, 31), draw.randrange(1, 41)
            print(user, movie, 1 + (user * 7 + movie * 3) % 5, sep='::', file=out)
    with open(f'{part}.list', 'w', encoding='ascii') as out:
        print(f'{part}.txt', file=out)
