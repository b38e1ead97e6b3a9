#!/usr/bin/env bash
# A long batch job: it gives way to trial jobs, and goes on where it was.
#
#   trainyard submit batch.sh [OPTION of train.py...]
#
# Lines of sbatch are understood as well: #SBATCH --job-name=shapes, --time=30, ...
#TRAINYARD --name=shapes
#TRAINYARD --class=batch
#TRAINYARD --gpus=1
#TRAINYARD --time=30m
#TRAINYARD --grace=30s
set -euo pipefail

# A signal to the job reaches this shell too. With a trap it waits for the training, which saves,
# and ends with its status 143; without one it would end first, and the training would save alone.
trap : TERM USR1

# What runs is a copy of this file: the folder it was submitted from is known by name.
cd "${SLURM_SUBMIT_DIR:-$(dirname "$0")}"
python=${PYTHON:-/usr/bin/python3}  # Debian's, which has PyTorch with python3-torch

echo "run ${TRAINYARD_RUN:-1}, started again ${TRAINYARD_RESTART:-0} times"
"$python" train.py --steps 6000 --width 32 "$@"
echo "trained; what comes next runs once, after the last step"
