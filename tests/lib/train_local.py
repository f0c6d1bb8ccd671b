# SPDX-License-Identifier: Apache-2.0
"""The next word from the four before it: a program of paddle.v2, as its pages show them."""
import math
import os

import numpy
import paddle.v2 as paddle

embsize = 32
hiddensize = 64
N = 5

paddle.init(use_gpu=False, trainer_count=1)
word_dict = paddle.dataset.imikolov.build_dict()
dict_size = len(word_dict)


def wordemb(inlayer):
    return paddle.layer.table_projection(
        input=inlayer, size=embsize,
        param_attr=paddle.attr.Param(name='_proj', initial_std=0.001, learning_rate=1, l2_rate=0))


words = [paddle.layer.data(name=name, type=paddle.data_type.integer_value(dict_size))
         for name in ('firstw', 'secondw', 'thirdw', 'fourthw', 'fifthw')]
context = paddle.layer.concat(input=[wordemb(word) for word in words[:4]])
hidden = paddle.layer.fc(input=context, size=hiddensize, act=paddle.activation.Sigmoid(),
                         layer_attr=paddle.attr.Extra(drop_rate=0.1),
                         bias_attr=paddle.attr.Param(learning_rate=2),
                         param_attr=paddle.attr.Param(initial_std=1. / math.sqrt(embsize * 8), learning_rate=1))
guess = paddle.layer.fc(input=hidden, size=dict_size, bias_attr=paddle.attr.Param(learning_rate=2),
                        act=paddle.activation.Softmax())
cost = paddle.layer.classification_cost(input=guess, label=words[4])
parameters = paddle.parameters.create(cost)
adagrad = paddle.optimizer.AdaGrad(learning_rate=float(os.environ.get('RATE', '3e-3')),
                                   regularization=paddle.optimizer.L2Regularization(8e-4))
trainer = paddle.trainer.SGD(cost, parameters, adagrad, is_local='PADDLE_INIT_PSERVERS' not in os.environ)
test = paddle.batch(paddle.dataset.imikolov.test(word_dict, N), 32)


def event_handler(event):
    if isinstance(event, paddle.event.EndIteration):
        if event.batch_id % 100 == 0:
            print('Pass %d, Batch %d, Cost %f, %s' % (event.pass_id, event.batch_id, event.cost, event.metrics))
    if isinstance(event, paddle.event.EndPass):
        result = trainer.test(test)
        print('Pass %d, Testing cost %f metrics %s' % (event.pass_id, result.cost, result.metrics))
        with open('model_%d.tar' % event.pass_id, 'w') as f:
            trainer.save_parameter_to_tar(f)


if os.path.exists('start.tar'):
    with open('start.tar', 'rb') as f:
        parameters.init_from_tar(f)
    print('From start.tar: cost %f' % trainer.test(test).cost)
trainer.train(paddle.batch(paddle.dataset.imikolov.train(word_dict, N), 32), num_passes=2, event_handler=event_handler)
samples = list(paddle.dataset.imikolov.test(word_dict, N)())
guesses = paddle.infer(output_layer=guess, parameters=parameters, input=[sample[:4] for sample in samples], field='id')
wrong = sum(int(found) != sample[4] for found, sample in zip(guesses, samples))
print('Inferred %d words, %g are wrong' % (len(guesses), wrong / len(samples)))
with open('embedding_table', 'w') as f:
    numpy.savetxt(f, parameters.get('_proj').reshape(dict_size, embsize), delimiter=',', newline='\n')
