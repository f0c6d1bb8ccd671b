#!/bin/bash
# The JobClient: submits the training as a job and tells of its pods until it is over. Ctrl-C kills the job.
: "${PADDLE_EDL_IMAGENET_PATH:?export it: the folder with train_list.txt and the images}"
: "${PADDLE_EDL_FLEET_CHECKPOINT_PATH:?export it: a folder that all nodes see, for the checkpoints}"
exec python3 -m edl.jobserver client --log_level 20 --package_sh ./package.sh --pod_path resnet50_pod --nodes_range 1:3 \
    --cpu "${POD_CPU:-1}" --memory "${POD_MEMORY:-4Gi}" --gpus "${POD_GPUS:-0}" train.py
