# SPDX-License-Identifier: Apache-2.0
"""JobServer and JobClient of PaddlePaddle's EDL, over a cluster of this project.

    python3 -m edl.jobserver server --node_ips 10.0.0.1,10.0.0.2 --pod_num_of_node 2
    python3 -m edl.jobserver client --package_sh ./package.sh --pod_path resnet50_pod --nodes_range 1:4 train.py

The client submits a job, whose processes are the pods. The server tells them by the calls of that JobServer, and takes pods
away and gives them back after each interval. Both use the command edl, which finds the cluster.
"""
