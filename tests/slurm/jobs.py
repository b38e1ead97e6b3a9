"""Jobs for a cluster: drawn from a seed, real processes that write down where and when they ran, and the
audit of what they wrote."""
import random
import time
import typing

from cluster import USER, wait_until

# Works for so long in all: a job that is asked to leave writes down how much it has done, and its next run goes
# on from there. Every run writes down its begin and end, and the GPUs that it has on each of its nodes. One that
# is asked to leave just as it ends is run again, and finds that there is nothing left to do.
#
# The log is all that is kept of a job, and every line of it is one write: whenever a run is killed, what it did
# is in the log or is not. A run that begins to leave, or to end, is not disturbed by a second SIGTERM.
SCRIPT = """\
#!/bin/bash
exec 2>>"$SLURM_SUBMIT_DIR/errors.{name}"
work={work_us} save={save_s}
log=$SLURM_SUBMIT_DIR/log.{name}
run="$SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}} $$"
note() {{ local what=$1; shift; echo "$what $run $EPOCHREALTIME" "$@" >>"$log"; }}
begin= done_us=0
[ ! -e "$log" ] || while read -r what _ _ _ _ value; do
  case $what in stop) done_us=$value ;; end) done_us=$work ;; esac
done <"$log"
finish() {{ trap '' TERM; note end; exit 0; }}
leave() {{
  trap '' TERM
  local now=${{EPOCHREALTIME/./}}
  local done_now=$((done_us + now - ${{begin:-$now}}))
  [ "$done_us" -lt "$work" ] || {{ note again; exit 0; }}
  [ "$done_now" -lt "$work" ] || finish
  [ "$save" = 0 ] || sleep "$save"
  note stop "$done_now"
  exit 0
}}
trap leave TERM
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then  # the signal goes to the step alone while there is one
  gpus=$(srun --ntasks-per-node=1 sh -c 'echo $SLURMD_NODENAME:$CUDA_VISIBLE_DEVICES') || leave
else
  gpus=$SLURMD_NODENAME:$CUDA_VISIBLE_DEVICES
fi
note gpus $gpus
note start
[ "$done_us" -lt "$work" ] || {{ note again; exit 0; }}
begin=${{EPOCHREALTIME/./}}
while left=$((work - done_us - ${{EPOCHREALTIME/./}} + begin)); [ "$left" -gt 0 ]; do
  sleep "$((left / 1000000)).$(printf %06d $((left % 1000000)))" & wait $!
done
finish
"""


class Job(typing.NamedTuple):
    name: str
    submit: float   # seconds from the first
    work: float     # seconds
    gpus: int       # on each node
    nodes: int
    is_trial: bool
    save: float     # seconds


class Run(typing.NamedTuple):
    job: str
    slurm_id: int
    restart: int
    pid: int
    begin: float
    end: float | None   # None: it was killed
    last_word: str      # "stop": it was asked to leave; "end": all work is done; "again": it was so before
    gpus: frozenset     # (node, index)


def draw(count, seed, span, trial_share=0.5, gangs=0.1, longest=8.0, save=0.3):
    """Trial jobs are short and small; a tenth of the others are gangs on two nodes."""
    lots = random.Random(seed)
    jobs = []
    for number, submit in enumerate(sorted(lots.uniform(0, span) for _ in range(count))):
        is_trial = lots.random() < trial_share
        is_gang = not is_trial and lots.random() < gangs
        jobs.append(Job(
            name=f"j{number}", submit=submit,
            work=lots.uniform(0.5, 2.0) if is_trial else lots.uniform(2.0, longest),
            gpus=lots.choice((1, 1, 2)) if is_trial else lots.choice((1, 2, 4)),
            nodes=2 if is_gang else 1, is_trial=is_trial, save=0 if is_trial else save))
    return jobs


def comment(job, grace):
    return f"trainyard: class={'trial' if job.is_trial else 'batch'} grace={grace} time={job.work:.1f}s"


def submit_all(cluster, jobs, options=lambda job: (), grace=2):
    """Each at its time; {name: (Slurm's number, when it was submitted)}."""
    begin, numbers = time.time(), {}
    for job in jobs:
        time.sleep(max(0.0, begin + job.submit - time.time()))
        script = SCRIPT.format(name=job.name, work_us=round(job.work * 1e6), save_s=job.save)
        at = time.time()
        number = cluster.sbatch(script, f"--job-name={job.name}", *options(job), gpus=job.gpus, nodes=job.nodes,
                                comment=comment(job, grace), user=USER)
        numbers[job.name] = (number, at)
    return numbers


def until_all_end(cluster, limit=900):
    wait_until(lambda: not cluster.run("squeue", "--noheader").stdout, lambda: cluster.run("squeue").stdout, limit)


def read_runs(cluster):
    """What the jobs wrote down: the runs of each, in order."""
    return {log.name[4:]: runs_of(log.name[4:], log.read_text()) for log in sorted(cluster.work.glob("log.*"))}


def runs_of(name, text):
    found = {}
    for line in text.splitlines():
        what, number, restart, pid, at, *values = line.split()
        run = found.setdefault((int(number), int(restart), int(pid)), {"begin": float(at), "gpus": set()})
        if what == "gpus":
            for place in values:
                node, _, indexes = place.partition(":")
                run["gpus"] |= {(node, int(index)) for index in indexes.split(",")}
        elif what in ("stop", "end", "again"):
            run["end"], run["last word"] = float(at), what
    runs = [Run(name, *key, run["begin"], run.get("end"), run.get("last word", ""), frozenset(run["gpus"]))
            for key, run in found.items()]
    return sorted(runs, key=lambda run: run.begin)


def repeated(runs):
    """Those that Slurm began anew without counting a restart."""
    return [(earlier, later) for of_job in runs.values() for earlier, later in zip(of_job, of_job[1:])
            if (earlier.slurm_id, earlier.restart) == (later.slurm_id, later.restart)]


def check_gpus(runs):
    """No GPU was two runs' at a time. What a killed run held counts until its job ran again."""
    held = {}
    for of_job in runs.values():
        for run, after in zip(of_job, [*of_job[1:], None]):
            end = run.end if run.end is not None else after.begin if after else run.begin
            for gpu in run.gpus:
                held.setdefault(gpu, []).append((run.begin, end, run))
    for gpu, uses in held.items():
        uses.sort(key=lambda use: use[:2])
        for (_, end, earlier), (begin, _, later) in zip(uses, uses[1:]):
            assert begin >= end, f"GPU {gpu} was given twice, to {earlier} and {later}"


def check_all_done(jobs, runs, repeats=()):
    """None lost, each to its end once, with the GPUs that it asked for in every run. After its end it is run
    again only if it had been asked to leave by then, or if Slurm did so: those of `repeats`."""
    for job in jobs:
        of_job = runs.get(job.name, [])
        words = [run.last_word for run in of_job]
        assert words.count("end") == 1 or "end" in words and job.name in repeats, f"{job} did not end once: {of_job}"
        after = of_job[words.index("end"):]
        assert all(run.last_word in ("again", "end") for run in after), f"{job} ran again after its end: {of_job}"
        for run in of_job:
            if run.last_word in ("stop", "again") and not run.gpus:
                continue  # it was asked to leave before it had looked what it has
            nodes = {node for node, _ in run.gpus}
            assert len(nodes) == job.nodes and len(run.gpus) == job.nodes * job.gpus, f"{job}: {run}"


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
