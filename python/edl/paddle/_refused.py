# SPDX-License-Identifier: Apache-2.0
"""Names of PaddlePaddle that nothing here stands for: whoever calls one is told, and no error proposes one."""
from __future__ import annotations

from typing import Any, Dict

from ._errors import refused

RECURRENT = "lstmemory, grumemory and recurrent_layer are there, and simple_lstm, simple_gru and the bidirectional ones"
LISTED = "edl-trainer-config(5) lists what there is"
OLD_DATA = "give the samples with define_py_data_sources2, or with --data"
REMEDIES = {
    RECURRENT: "recurrent_group memory lstmemory_group lstmemory_unit gru_group gru_unit gru_step_layer "
               "lstm_step_layer get_output_layer StaticInput SubsequenceInput GeneratedInput beam_search eos_layer "
               "simple_attention dot_product_attention gru_step_naive_layer BaseGeneratedInput",
    LISTED: "nce_layer ctc_layer warp_ctc_layer lambda_cost conv_operator "
            "tensor_layer selective_fc_layer sampling_id_layer linear_comb_layer convex_comb_layer conv_shift_layer "
            "sum_to_one_norm_layer trans_layer rotate_layer repeat_layer block_expand_layer spp_layer "
            "bilinear_interp_layer row_conv_layer seq_reshape_layer seq_concat_layer print_layer printer_layer "
            "prelu_layer gated_unit_layer multiplex_layer roi_pool_layer priorbox_layer multibox_loss_layer "
            "detection_output_layer cross_channel_norm_layer clip_layer scale_shift_layer resize_layer "
            "sub_nested_seq_layer kmax_seq_score_layer crop_layer img_conv3d_layer img_pool3d_layer switch_order_layer "
            "row_l2_norm_layer dot_prod_layer out_prod_layer l2_distance_layer factorization_machine "
            "huber_regression_cost slice_projection sub_seq_layer seq_slice_layer cross_entropy_over_beam "
            "ctc_error_evaluator Layer Evaluator Memory RecurrentLayerGroupBegin RecurrentLayerGroupEnd",
    OLD_DATA: "define_py_data_sources",
}
NAMES: Dict[str, Any] = {name: refused(name, remedy) for remedy, names in REMEDIES.items() for name in names.split()}
