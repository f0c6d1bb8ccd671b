#!/bin/bash
# package.sh -pod_id POD: the folder in which that pod trains
set -e
if [ "$1" != -pod_id ] || [ -z "$2" ]; then
    echo "usage: $0 -pod_id POD" >&2
    exit 64
fi
mkdir -p "resnet50_pod/$2"
cp train.py "resnet50_pod/$2"
