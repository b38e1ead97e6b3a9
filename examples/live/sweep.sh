#!/usr/bin/env bash
# A sweep over learning rates: a trial job each, which starts at once if a batch job can give way.
#
#   ./sweep.sh [LEARNING RATE...]
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-/usr/bin/python3}  # Debian's, which has PyTorch with python3-torch

[ $# -gt 0 ] || set -- 0.002 0.01 0.05 0.2
for lr in "$@"; do
  "${TRAINYARD:-trainyard}" submit --class trial --gpus 1 --time 5m --name "lr-$lr" \
    -- "$python" "$PWD/train.py" --steps 400 --lr "$lr"
done
