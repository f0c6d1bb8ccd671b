# SPDX-License-Identifier: Apache-2.0
"""The samples for trainer_config.py: lines user::movie::stars."""
from paddle.trainer.PyDataProvider2 import *  # noqa: F401,F403


def type_of(field):
    if field['type'] == 'id':
        return integer_value(field['max'])
    if field['type'] == 'one_hot_dense':
        return dense_vector(len(field['dict']))
    return (integer_value_sequence if field['seq'] == 'sequence' else integer_value)(len(field['dict']))


def hook(settings, meta, **more):
    fields = meta['movie']['__meta__']['raw_meta'] + meta['user']['__meta__']['raw_meta']
    settings.input_types = [type_of(field) for field in fields] + [dense_vector(1)]
    settings.meta = meta


@provider(init_hook=hook, cache=CacheType.CACHE_PASS_IN_MEM)
def process(settings, filename):
    with open(filename, encoding='ascii') as file:
        for line in file:
            user, movie, stars = (int(text) for text in line.split('::'))
            yield settings.meta['movie'][movie] + settings.meta['user'][user] + [[2.0 * stars - 5.0]]
