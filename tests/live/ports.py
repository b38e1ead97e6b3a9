"""MASTER_PORT with real torch.distributed: several jobs on one machine at once, as workers of the
daemon, under torchrun without a port, and as steps of srun side by side. Needs Debian's python3-torch.
"""
from examples import PYTHON, VARIABLES, needs_torch
from scene import Scene, run_tests, wait_until
from slurm_scripts import AS_IT_IS

# A rank of a gang. All gangs of the test are in their process groups at once: each waits in the middle
# of it until the test has seen all of them there.
GANG = """import os, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
if dist.get_rank() == 0:
    with open("in." + sys.argv[1], "w") as file:
        file.write(os.environ["MASTER_PORT"])
while not os.path.exists("go"):
    time.sleep(0.02)
dist.all_reduce(total)
assert total.item() == 6, total
if dist.get_rank() == 0:
    print("sum", total.item(), "port", os.environ["MASTER_PORT"])
dist.destroy_process_group()
"""


def meet(scene, names):
    """The port of each gang, once all of them are in their process groups."""
    files = [scene.work / f"in.{name}" for name in names]
    wait_until(lambda: all(file.exists() and file.stat().st_size for file in files), "all gangs to meet")
    ports = [int(file.read_text()) for file in files]
    scene.touch("go")
    return ports


def test_gangs_of_the_daemon_and_of_torchrun():
    needs_torch()
    with Scene(slots=6) as scene:
        scene.script("gang.py", GANG)
        jobs = [scene.submit("--workers", 2, "--", PYTHON, "gang.py", "gang", variables=VARIABLES)]
        jobs += [scene.submit("--gpus", 2, "--", PYTHON, "-m", "torch.distributed.run",
                              "--nproc_per_node=2", *AS_IT_IS.split(), "gang.py", f"torchrun{n}", variables=VARIABLES)
                 for n in range(2)]
        ports = meet(scene, ["gang", "torchrun0", "torchrun1"])
        assert len(set(ports)) == 3, ports
        for job in jobs:
            scene.until(job, "done")


def test_steps_side_by_side():
    needs_torch()
    with Scene(slots=4) as scene:
        scene.script("gang.py", GANG)
        scene.script("steps.sh", "#!/bin/bash\n#SBATCH --ntasks=4 --gpus-per-task=1\n"
                     "for n in 0 1; do\n"
                     f"  srun -n2 --gpus-per-task=1 {PYTHON} gang.py step$n &\n"
                     "  steps+=($!)\n"
                     "done\n"
                     "for step in ${steps[@]}; do wait $step || exit 1; done\n")
        job = scene.submit("steps.sh", variables=VARIABLES)
        ports = meet(scene, ["step0", "step1"])
        assert len(set(ports)) == 2, ports
        scene.until(job, "done")


if __name__ == "__main__":
    run_tests(globals(), limit=400)
