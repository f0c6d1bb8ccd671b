# SPDX-License-Identifier: Apache-2.0
"""A program of paddle.v2 with every kind of layer: edl-trainer takes each, and has its parameters by these names and sizes."""
import random

import paddle.v2 as paddle

paddle.init(use_gpu=False, trainer_count=1, seed=3)
layer, attr = paddle.layer, paddle.attr
image = layer.data(name='pixel', type=paddle.data_type.dense_vector(3 * 16 * 16), height=16, width=16)
label = layer.data(name='label', type=paddle.data_type.integer_value(2))
words = layer.data(name='words', type=paddle.data_type.integer_value_sequence(9))
flags = layer.data(name='flags', type=paddle.data_type.sparse_binary_vector(6))
seen = paddle.networks.img_conv_group(
    input=image, conv_num_filter=[4, 4], pool_size=2, pool_stride=2, num_channels=3, conv_with_batchnorm=True,
    conv_batchnorm_drop_rate=[0.3, 0], conv_act=paddle.activation.Relu(), pool_type=paddle.pooling.Max())
seen = paddle.networks.simple_img_conv_pool(
    input=seen, filter_size=3, num_filters=5, pool_size=3, pool_stride=2, act=paddle.activation.Relu(),
    bias_attr=attr.Param(learning_rate=2))
seen = layer.img_pool(input=seen, pool_size=2, pool_type=paddle.pooling.Avg())
rows = layer.embedding(input=words, size=4)
text = paddle.networks.sequence_conv_pool(input=rows, context_len=3, hidden_size=5)
with layer.mixed(size=7, act=paddle.activation.Tanh(), bias_attr=True) as both:
    both += layer.full_matrix_projection(seen)
    both += layer.trans_full_matrix_projection(text)
    both += layer.full_matrix_projection(flags)
both = layer.addto(input=[both, layer.dropout(input=both, dropout_rate=0.2)], act=paddle.activation.Relu())
both = layer.concat(input=[both, layer.pooling(input=rows, pooling_type=paddle.pooling.Sum())])
guess = layer.fc(input=[both, layer.cos_sim(a=layer.fc(input=seen, size=3), b=layer.fc(input=text, size=3))], size=2,
                 act=paddle.activation.Softmax(),
                 param_attr=[attr.Param(initial_max=0.1, initial_min=-0.1), attr.Param(name='shared')])
cost = layer.classification_cost(input=guess, label=label)
parameters = paddle.parameters.create(cost)
shapes = {name: parameters.get(name).shape for name in parameters.keys()}  # from here on they are the start


def reader():
    draw = random.Random(1)
    for _ in range(60):
        kind = draw.randrange(2)
        yield ([draw.gauss(kind, 1) for _ in range(768)], kind, [draw.randrange(9) for _ in range(1 + draw.randrange(4))],
               [draw.randrange(3) + 3 * kind])


trainer = paddle.trainer.SGD(cost, parameters, paddle.optimizer.Momentum(
    momentum=0.9, learning_rate=0.05 / 16, gradient_clipping_threshold=25, learning_rate_schedule='discexp',
    learning_rate_decay_a=0.9, learning_rate_decay_b=1000))
batches = paddle.batch(reader, 16)
before = trainer.test(batches)
trainer.train(batches, num_passes=12)
after = trainer.test(batches)
print('cost %f before, %f after; %s' % (before.cost, after.cost, after.metrics))
assert after.cost < 0.7 * before.cost
assert {name: parameters.get(name).shape for name in parameters.keys()} == shapes and len(shapes) == 28
samples = list(reader())
kinds = paddle.infer(output_layer=guess, parameters=parameters, field='id',
                     input=[(pixel, inside, flag) for pixel, _, inside, flag in samples])
wrong = sum(int(found) != sample[1] for found, sample in zip(kinds, samples)) / len(samples)
assert abs(wrong - after.metrics['classification_error_evaluator']) < 1e-6, wrong
sums = paddle.infer(output_layer=both, parameters=parameters, input=[(words, flags, pixel) for pixel, _, words, flags in samples[:3]],
                    feeding=['words', 'flags', 'pixel'])
assert sums.shape == (3, 11)
