"""Batch jobs that give way to trial jobs and come back where they were, and what else decides when
and how often a job runs: signals, requests to run again, dependencies, limits; with real jobs.
"""
from scene import Scene, run_tests, wait_until

# Counts as long as it is let, saves when it is asked to leave, and is done five after it came back.
COUNTING = """#!/bin/sh
saved=$TRAINYARD_CHECKPOINT_DIR/count
n=0
[ ! -e $saved ] || n=$(cat $saved)
echo "run $TRAINYARD_RUN after $n: ${TRAINYARD_RESTART-unset} ${SLURM_RESTART_COUNT-unset}"
save() {
  [ -e $TRAINYARD_STOP_FILE ] || echo "no stop file"
  echo $n >$saved.part && mv $saved.part $saved
  [ $1 != 0 ] || touch $TRAINYARD_SAVED  # else it would be done
  exit $1
}
trap "save $1" TERM
last=$([ -z "$TRAINYARD_RESTART" ] && echo 1000000 || echo $((n + 5)))
while [ $n -lt $last ]; do
  echo "count $((n += 1))"  # one command: no signal comes between
  sleep 0.02
done
"""

# Two processes that write down every signal; the second ends with SIGUSR2, and the first with it.
LISTENING = """#!/usr/bin/python3
import os, signal, sys, time
if os.environ.get("TRAINYARD_RESTART"):
    sys.exit(0)
name = sys.argv[1]
child = os.fork()
who = "leader" if child else "child"
def hear(number, _):
    with open(f"{name}.{who}", "a") as file:
        file.write(signal.Signals(number).name + "\\n")
    if who == "leader" and number == signal.SIGUSR1:
        while name == "all" and not (os.path.exists("all.child") and os.path.getsize("all.child")):
            time.sleep(0.01)  # it hears the same signal, but perhaps after the first
        os.kill(child, signal.SIGUSR2)
        os.waitpid(child, 0)
        sys.exit(255)
    if number == signal.SIGUSR2:
        os._exit(0)
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, hear)
with open(f"{name}.{who}.ready", "w") as file:
    file.write("ready")
while True:
    signal.pause()
"""


def trial(scene, gpus, *options):
    return scene.submit("--class", "trial", "--gpus", gpus, "--time", "1m", *options, "--", "true")


def test_gives_way_and_comes_back():
    """Whatever it says as it leaves: 0, 143 or 255."""
    with Scene(slots=3) as scene:
        scene.script("counting.sh", COUNTING)
        jobs = [scene.submit("--", "./counting.sh", status) for status in (0, 143, 255)]
        for job in jobs:
            wait_until(lambda: "count 3\n" in scene.logs(job), f"job {job} to count")
        first = trial(scene, 3)
        scene.until(first, "done")
        for job in jobs:
            end = scene.until(job, "done")
            assert (end["runs"], end["restarts"], end["pauses"]) == (2, 1, 1), end
            before, after = ([line for line in scene.logs(job, "--run", run).splitlines()
                              if line != "Terminated"] for run in (1, 2))  # says the shell of sleep
            counted = len(before) - 1
            assert before[0] == "run 1 after 0: unset unset", before[0]
            assert after[0] == f"run 2 after {counted}: 1 1", (after[0], before[-1])
            assert before[1:] + after[1:] == [f"count {n}" for n in range(1, counted + 6)], (before, after)
            assert end["ended"] > scene.job(first)["ended"], end
        scene.until_nothing_is_left()


def test_declared_signals():
    with Scene() as scene:
        scene.script("listening.py", LISTENING)
        jobs = {}
        for name, signal in (("all", "USR1@90"), ("first", "B:USR1@90")):
            done = scene.command("submit", "--signal", signal, "--grace", "60s", "--", "./listening.py", name)
            assert "shorter than" in done.stderr, f"no warning of a grace below 90 s: {done}"
            jobs[name] = int(done.stdout.split()[2])  # "submitted job 7 (...)"
            for who in ("leader", "child"):
                scene.text(f"{name}.{who}.ready")
        for job in jobs.values():
            scene.until(job, "running")
        scene.until(trial(scene, 2), "done")
        for job in jobs.values():
            end = scene.until(job, "done")
            assert (end["runs"], end["pauses"]) == (2, 1), end
            assert end["pause_took_s"] < 60, end
        heard = {file: scene.text(file).split() for file in
                 ("all.leader", "all.child", "first.leader", "first.child")}
        assert heard == {"all.leader": ["SIGUSR1"], "all.child": ["SIGUSR1", "SIGUSR2"],
                         "first.leader": ["SIGUSR1"], "first.child": ["SIGUSR2"]}, heard


def test_asks_to_run_again():
    with Scene() as scene:
        job = scene.submit("--", "/bin/sh", "-c",
                           'echo "${SLURM_RESTART_COUNT-unset}"; [ -n "$SLURM_RESTART_COUNT" ] || '
                           "{ scontrol requeue $SLURM_JOB_ID; exit 255; }")
        end = scene.until(job, "done")
        assert (end["runs"], end["restarts"], end["pauses"]) == (2, 1, 0), end
        assert [scene.logs(job, "--run", run) for run in (1, 2)] == ["unset\n", "1\n"]


def test_after():
    with Scene(slots=4) as scene:
        hold = "while [ ! -e go-on ]; do sleep 0.02; done; "
        good, bad = (scene.submit("--", "/bin/sh", "-c", f"{hold}exit {n}") for n in (0, 1))
        after_good = scene.submit("--after", good, "--", "/bin/sh", "-c", "[ -e go-on ]")
        after_both = scene.submit("--after", f"{good},{bad}", "--", "touch", "never")
        for job in (after_good, after_both):
            assert scene.job(job)["state"] == "held"
        why = scene.answer("why", after_good)
        assert (why["category"], why["token"]) == ("dependency", "dependency"), why
        assert f"job {good}" in why["sentence"] and "--after" in why["advice"], why
        scene.touch("go-on")
        scene.until(after_good, "done")
        end = scene.until(after_both, "cancelled")
        assert end["reason"] == f"job {bad}, which it waits for, is not done", end
        assert not (scene.work / "never").exists()
        assert "failed" in scene.command("submit", "--after", bad, "--", "true", check=False).stderr


def test_time_limit():
    with Scene() as scene:
        job = scene.submit("--time", "1s", "--grace", "1s", "--", "sleep", 600)
        end = scene.until(job, "failed")
        assert end["reason"] == "time limit of 1s", end
        assert end["ended"] - end["started"] >= 1, end
        scene.until_nothing_is_left()


def test_wait_gives_the_exit_status():
    with Scene() as scene:
        for how, status in (("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)):
            done = scene.command("submit", "--wait", "--", "/bin/sh", "-c", how, check=False)
            assert done.returncode == status, (how, done)
        done = scene.command("submit", "--wait", "--", "/no/such/program", check=False)
        assert done.returncode != 0 and "No such file" in done.stdout, done


def test_why_a_job_waits():
    with Scene(slots=2) as scene:
        holder = scene.submit("--gpus", 2, "--", "/bin/sh", "-c", "while [ ! -e go-on ]; do sleep 0.02; done")
        scene.until(holder, "running")
        job = scene.submit("--gpus", 2, "--", "true")
        why = wait_until(lambda: [why for why in [scene.answer("why", job)] if why["token"]], "a reason")[0]
        assert (why["state"], why["category"], why["token"]) == ("queued", "resources", "resources"), why
        assert "2" in why["sentence"] and "trainyard nodes" in why["advice"], why
        assert scene.answer("why", holder)["category"] == ""

        machine = scene.answer("nodes")["machines"][0]["name"]
        scene.command("close", machine)
        why = scene.answer("why", job)
        assert (why["category"], why["token"]) == ("held", "closed"), why
        assert "closed" in why["sentence"] and f"trainyard open {machine}" in why["advice"], why
        scene.touch("go-on")
        scene.until(holder, "done")
        assert scene.answer("nodes")["machines"][0]["state"] == "closed"
        assert scene.job(job)["runs"] == 0, "started on a closed machine"
        scene.command("open", machine)
        scene.until(job, "done")


if __name__ == "__main__":
    run_tests(globals(), limit=300)
