# SPDX-License-Identifier: Apache-2.0
"""Rows of test_paddle_arguments.py for the words that are not of its first table."""


def rows_of_more_words(call, acts, refused, told, elsewhere):
    """Name of a word -> its call, with a row for each argument. The kinds of rows are the caller's."""
    from tests import test_paddle_words as words
    extra, name, act = acts("ExtraAttr(drop_rate=0.5)"), acts("'own'"), acts("SigmoidActivation()")
    attr, bias, pixels = acts("ParamAttr(initial_std=0.5)"), acts("ParamAttr(learning_rate=2)"), dict(input="pixel")
    no_extra = refused("ExtraAttr(drop_rate=0.5)", "drop_rate")
    cost_end, mixed = "outputs(y)\n", "y = mixed_layer(size=6, input=[y, identity_projection(z)])\n"
    end = ("outputs(classification_cost(input=fc_layer(input=y, size=10, act=SoftmaxActivation(), name='end', param_attr="
           "ParamAttr(name='end')), label=label))\n")
    one = "data_layer('one', 1)"
    other_pixels = acts("fc_layer(input=x, size=48)")
    run = "settings(batch_size=1)\ny = x\n" + end

    def pooled(**more):
        return call(dict(input="rows"), dict(input=acts("embedding_layer(jd, size=4)"), name=name,
                                             agg_level=refused("AggregateLevel.TO_SEQUENCE", "agg_level"), layer_attr=extra, **more))

    def default(word, value="0.5"):
        return call(dict(val="0"), dict(val=acts(value)), run, "")

    def idle(word, value="0.5"):
        return call(dict(val="None"), dict(val=elsewhere("Words.test_words_without_effect", words)), run, "")

    conv = dict(filter_size=acts("2"), num_filters=acts("6"), stride=acts("2"), padding=acts("1"), filter_size_y=acts("2"),
                stride_y=acts("2"), padding_y=acts("1"), groups=acts("3", num_filters="3"), param_attr=attr)
    def of_places(input, widths, word, **more):
        """A recurrent layer: units of it may be other ones; the input's size is that of its parts."""
        wide = acts(f"embedding_layer(jd, size={2 * widths})")
        return call(dict(input=f"embedding_layer(jd, size={widths})"), dict(
            input=wide, name=name, reverse=acts("True"), act=acts("ReluActivation()"), bias_attr=bias, param_attr=attr,
            layer_attr=extra, **more), "y = pooling_layer(y)\n" + end)

    units = dict(gate_act=acts("ReluActivation()"), size=refused("7", "size is 7"))
    inner = dict(input=acts("embedding_layer(jd, size=4)"), size=acts("3"), name=name, reverse=acts("True"),
                 act=acts("ReluActivation()"), gate_act=acts("TanhActivation()"))
    both = call(dict(input="rows", size="2"), dict(
        input=acts("embedding_layer(jd, size=4)"), size=acts("3"), name=name,
        return_seq=acts("True", end="y = pooling_layer(y)\n" + end), last_seq_attr=extra, first_seq_attr=extra, concat_attr=extra,
        concat_act=act))
    gru = {"input": "rows", "size": "2"}
    pooled_end = "y = pooling_layer(y)\n" + end
    evaluator = dict(input="fc_layer(input=x, size=10, act=SoftmaxActivation())", label="label")
    ret = {
        "first_seq": pooled(stride=refused("2", "stride")), "last_seq": pooled(stride=refused("2", "stride")),
        "expand_layer": call(dict(input="x", expand_as="rows"), dict(
            input=acts("z"), expand_as=acts("embedding_layer(jd, size=4)"), name=name, bias_attr=bias,
            expand_level=refused("ExpandLevel.FROM_SEQUENCE", "expand_level"), layer_attr=extra),
            "y = pooling_layer(y)\n" + end),
        "slope_intercept_layer": call(dict(input="x"), dict(
            input=acts("z"), name=name, slope=acts("2"), intercept=acts("2"), layer_attr=extra)),
        "scaling_layer": call(dict(input="x", weight=one), dict(
            input=acts("z"), weight=acts("data_layer('two', 1)"), name=name, layer_attr=extra)),
        "power_layer": call(dict(input="x", weight=one), dict(
            input=acts("z"), weight=acts("data_layer('two', 1)"), name=name, layer_attr=extra)),
        "interpolation_layer": call(dict(input="[x, z]", weight=one), dict(
            input=acts("[z, x]"), weight=acts("data_layer('two', 1)"), name=name, layer_attr=extra)),
        "maxid_layer": call(dict(input="x"), dict(input=acts("z"), name=name, layer_attr=no_extra), "outputs(y)\n"),
        "img_cmrnorm_layer": call(dict(pixels, size="3", num_channels="3"), dict(
            input=other_pixels, size=acts("2"), scale=acts("2"), power=acts("2"), name=name, num_channels=acts("12"),
            layer_attr=extra)),
        "maxout_layer": call(dict(pixels, groups="3", num_channels="3"), dict(
            input=other_pixels, groups=acts("4", num_channels="12"), num_channels=acts("12"), name=name, layer_attr=extra)),
        "pad_layer": call(dict(input="img_pool_layer(pixel, 1, num_channels=3)"), dict(
            input=acts("img_pool_layer(pixel, 2, num_channels=3)"), pad_c=acts("[1, 0]"), pad_h=acts("[0, 1]"),
            pad_w=acts("[1, 1]"), name=name, layer_attr=extra)),
        "multi_binary_label_cross_entropy": call(dict(input="fc_layer(input=x, size=6, act=SigmoidActivation())", label="t"), dict(
            input=acts("fc_layer(input=z, size=6, act=SigmoidActivation())"), label=acts("z"), name=name, coeff=acts("2"),
            layer_attr=no_extra), cost_end),
        "rank_cost": call(dict(left="fc_layer(input=x, size=1)", right="fc_layer(input=z, size=1)", label=one), dict(
            left=acts("fc_layer(input=t, size=1)"), right=acts("fc_layer(input=t, size=1)"), label=acts("data_layer('l', 1)"),
            weight=acts("data_layer('w', 1)"), name=name, coeff=acts("2"), layer_attr=no_extra), cost_end),
        "smooth_l1_cost": call(dict(input="fc_layer(input=x, size=6)", label="t"), dict(
            input=acts("fc_layer(input=z, size=6)"), label=acts("z"), name=name, coeff=acts("2"), layer_attr=no_extra), cost_end),
        "sum_cost": call(dict(input="fc_layer(input=x, size=6)"), dict(
            input=acts("fc_layer(input=z, size=6)"), name=name, layer_attr=no_extra), cost_end),
        "dotmul_projection": call(dict(input="x"), dict(input=acts("t"), param_attr=attr), mixed + end),
        "scaling_projection": call(dict(input="x"), dict(input=acts("t"), param_attr=attr), mixed + end),
        "dotmul_operator": call(dict(a="x", b="z"), dict(
            a=acts("t"), b=acts("t"), scale=acts("2"), x=elsewhere("Words.test_operators", words),
            y=elsewhere("Words.test_operators", words)), mixed + end),
        "conv_projection": call(dict(input="pixel", filter_size="1", num_filters="3", num_channels="3"), dict(
            input=other_pixels, num_channels=acts("12"), **conv), "y = concat_layer(input=[y, y])\n" + end),
        "img_conv_bn_pool": call(dict(pixels, filter_size="3", num_filters="2", pool_size="1", num_channel="3"), dict(
            input=other_pixels, filter_size=acts("2"), num_filters=acts("3"), pool_size=acts("2"), name=name,
            pool_type=acts("AvgPooling()"), act=act, groups=acts("3", num_filters="3"), conv_stride=acts("2", conv_padding="1"),
            conv_padding=acts("1"), conv_bias_attr=bias, num_channel=acts("12", filter_size="1"), conv_param_attr=attr,
            shared_bias=refused("False", "shared_biases"), conv_layer_attr=extra, bn_param_attr=attr, bn_bias_attr=bias,
            bn_layer_attr=extra, pool_stride=acts("2"), pool_padding=acts("1", pool_size="2"), pool_layer_attr=extra)),
        "small_vgg": call(dict(input_image="data_layer('image', 3072)", num_channels="3", num_classes="7"), dict(
            input_image=acts("data_layer('other', 3072)"), num_channels=elsewhere("Words.test_networks_of_images", words), num_classes=acts("8"))),
        "vgg_16_network": call(dict(input_image="data_layer('image', 3072)", num_channels="3", num_classes="7"), dict(
            input_image=acts("data_layer('other', 3072)"), num_channels=elsewhere("Words.test_networks_of_images", words), num_classes=acts("8"))),
        "inputs": call({}, dict(layers=elsewhere("Words.test_order_of_inputs", words))),
        "Settings": call(dict(batch_size="8"), dict(
            algorithm=acts("'async_sgd'"), batch_size=acts("9"), learning_rate=acts("0.5"),
            learning_rate_decay_a=acts("0.5", learning_rate_decay_b="0.5"),
            learning_rate_decay_b=acts("0.5", learning_rate_schedule="'exp'", learning_rate_decay_a="0.5"),
            learning_rate_schedule=acts("'pass_manual'", learning_rate_args="'1:1,2:0.5'"),
            learning_rate_args=refused("'1:1'", "learning_rate_args"), learning_method=acts("'adam'"),
            average_window=acts("0.5"), max_average_window=acts("7", average_window="0.5"),
            gradient_clipping_threshold=acts("5")), "y = x\n" + end, ""),
        "default_momentum": default("momentum"), "default_decay_rate": default("l2"),
        "default_gradient_clipping_threshold": default("clipping"), "default_initial_std": idle("std"),
        "default_initial_mean": idle("mean"), "default_device": idle("device"),
        "default_num_batches_regularization": idle("batches"), "model_type": idle("type"),
        "TrainData": call({}, {word: elsewhere("Words.test_old_data", words) for word in ("data_config", "async_load_data")}),
        "TestData": call({}, {word: elsewhere("Words.test_old_data", words) for word in ("data_config", "async_load_data")}),
        "classification_error_evaluator": call(evaluator, dict(
            input=elsewhere("Words.test_words_without_effect", words), label=elsewhere("Words.test_evaluators", words), name=told("'own'"),
            weight=refused("x", "weight"), top_k=refused("5", "top_k"), threshold=refused("0.5", "threshold")),
            "y = x\n" + end, ""),
        "L1Regularization": call(dict(rate="0.5"), dict(rate=acts("0.25")), "settings(batch_size=1, regularization=y)\ny = x\n" + end),
        "ModelAverage": call(dict(average_window="0.5"), dict(
            average_window=acts("0.25"), max_average_window=acts("7"), do_average_in_cpu=told("True")),
            "settings(batch_size=1, model_average=y)\ny = x\n" + end),
        "hsigmoid": call(dict(input="x", label="label"), dict(
            input=acts("z"), label=acts("data_layer('other', 10)"), num_classes=acts("7"), name=name, bias_attr=bias, param_attr=attr,
            layer_attr=no_extra), cost_end),
        "crf_layer": call(dict(input="rows", label="data_layer('tags', 4)"), dict(
            input=acts("embedding_layer(jd, size=4)"), label=acts("data_layer('other', 4)"), size=refused("5", "size is 5"),
            weight=refused("x", "weight"), param_attr=attr, name=name, coeff=acts("2"), layer_attr=no_extra), cost_end),
        "crf_decoding_layer": call(dict(input="rows", size="4"), {argument: elsewhere("Words.test_crf", words) for argument in (
            "input", "size", "label", "param_attr", "name", "layer_attr")}),
        "lstmemory": of_places("x", 8, "lstmemory", state_act=acts("ReluActivation()"), **units),
        "grumemory": of_places("x", 9, "gru", **units),
        "recurrent_layer": of_places("x", 5, "recurrent_layer"),
        "simple_lstm": call(gru, dict(
            inner, mat_param_attr=attr, bias_param_attr=bias, inner_param_attr=attr, state_act=acts("ReluActivation()"),
            mixed_layer_attr=extra, lstm_cell_attr=extra), pooled_end),
        "simple_gru": call(gru, dict(
            inner, mixed_param_attr=attr, mixed_bias_param_attr=bias, mixed_layer_attr=extra, gru_bias_attr=bias,
            gru_param_attr=attr, gru_layer_attr=extra), pooled_end),
        "simple_gru2": call(gru, dict(
            inner, mixed_param_attr=attr, mixed_bias_attr=bias, gru_param_attr=attr, gru_bias_attr=bias, mixed_layer_attr=extra,
            gru_cell_attr=extra), pooled_end),
        "bidirectional_lstm": both, "bidirectional_gru": both,
        "MaxPooling": call({}, dict(output_max_index=refused("True", "output_max_index")), "y = pooling_layer(rows, pooling_type=y)\n" + end),
    }
    return ret
