# SPDX-License-Identifier: Apache-2.0
"""How a user rates a film, in the names of PaddlePaddle's configurations."""
import pickle

from paddle.trainer_config_helpers import *  # noqa: F401,F403

is_predict = get_config_arg('is_predict', bool, False)
width = get_config_arg('width', int, 256)
with open('meta.bin', 'rb') as file:
    meta = pickle.load(file)
settings(batch_size=1600, learning_rate=1e-3, learning_method=RMSPropOptimizer())


def part_of(side, field):
    """The features of one field."""
    size = field['max'] if field['type'] == 'id' else len(field['dict'])
    values = data_layer(name=field.get('name', side + '_id'), size=size)
    if field['type'] == 'one_hot_dense':
        return fc_layer(input=fc_layer(input=values, size=width), size=width)
    rows = embedding_layer(input=values, size=width)
    if field.get('seq') == 'sequence':
        return text_conv_pool(input=rows, context_len=5, hidden_size=width)
    return fc_layer(input=rows, size=width)


def tower(side):
    """The features of a film or of a user."""
    parts = [part_of(side, field) for field in meta[side]['__meta__']['raw_meta']]
    return fc_layer(name=side + '_fusion', input=parts, size=width)


similarity = cos_sim(a=tower('movie'), b=tower('user'))
if is_predict:
    outputs(similarity)
else:
    outputs(regression_cost(input=similarity, label=data_layer('rating', size=1)))
    define_py_data_sources2('train.list', 'test.list', module='dataprovider', obj='process', args={'meta': meta})
