"""kill -9 of the daemon: at every journal write and engine call of a scripted run, on both sides of
it, and at random moments under load. No acknowledged job is lost, no run starts twice, no two runs
of a job are alive at once, and everything comes to its end afterwards.

    kill_daemon.py [points|random] [N]    all points (at most N), or N random moments (500)
    kill_daemon.py soak [SECONDS]         random moments for so long (./yard soak)
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

DAEMON = os.environ["SCRIPTED_DAEMON"]
SUPERVISOR = str(pathlib.Path(os.environ["TRAINYARD"]).parent / "trainyard-supervisor")


class Scene:
    """A state directory of its own."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-kill-"))
        self.ledger = self.root / "ledger"

    def command(self, *what):
        return [DAEMON, str(self.root / "state"), SUPERVISOR, str(self.ledger), *map(str, what)]

    def run(self, *what, limit=120):
        return subprocess.run(self.command(*what), stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=limit)

    def finish_and_check(self, context):
        """Lets a new daemon bring everything to its end, and compares."""
        end = self.run("finish")
        assert end.returncode == 0, f"{context}: the next daemon says: {end.stderr}"
        states = {int(line.split()[0]): line.split(maxsplit=1)[1] for line in end.stdout.splitlines()}
        lines = self.ledger.read_text().split("\n") if self.ledger.exists() else []
        acknowledged = {int(line.split()[1]) for line in lines if line.startswith("ack ")}
        lost = acknowledged - states.keys()
        assert not lost, f"{context}: acknowledged and lost: {lost}"
        assert "OVERLAP" not in lines, f"{context}: two runs of a job at once: {lines}"
        for kind in ("start", "end"):
            counts = collections.Counter(line for line in lines if line.startswith(kind + " "))
            twice = [line for line, n in counts.items() if n > 1]
            assert not twice, f"{context}: {twice}"
        ends = collections.Counter(int(line.split()[1]) for line in lines if line.startswith("end "))
        gone = {int(line.split()[1]) for line in lines if line.startswith("cancel ")}
        waits = {int(line.split()[1]): int(line.split()[2]) for line in lines if line.startswith("after ")}
        for job, state in states.items():
            phase, pauses = state.split()[:2]
            if phase == "done":  # one that ends while it is asked to leave counts as paused, and runs again
                assert 1 <= ends[job] <= 1 + int(pauses), f"{context}: job {job} ended {ends[job]} times: {state}"
            else:
                asked_for = job in gone or waits.get(job) in gone or job not in acknowledged
                assert phase == "cancelled" and asked_for, f"{context}: job {job} is {state}"
        return len(states)

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


def kill_at(point):
    scene = Scene()
    killed = scene.run("submit", point)
    if killed.returncode == 0:
        scene.remove()
        return None  # the script has fewer points this time
    assert killed.returncode == -9, f"point {point}: {killed.returncode} {killed.stderr}"
    jobs = scene.finish_and_check(f"point {point}, in {scene.root}")
    scene.remove()
    return jobs


def every_point(most):
    scene = Scene()
    plain = scene.run("submit", 0)
    assert plain.returncode == 0, plain.stderr
    points = int(plain.stdout)
    jobs = scene.finish_and_check("without a kill")
    scene.remove()
    assert points >= 200, f"the script has only {points} points"
    chosen = range(1, points + 1) if most >= points else sorted(random.sample(range(1, points + 1), most))
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        done = list(pool.map(kill_at, chosen))
    killed = sum(1 for one in done if one is not None)
    assert killed >= 0.9 * len(chosen), f"only {killed} of {len(chosen)} points were reached"
    print(f"killed at {killed} of {points} points of a script with {jobs} jobs; nothing lost, nothing twice")


def kill_at_random(times, seed):
    """All on one state directory, so that one daemon finds what several have left."""
    draw = random.Random(seed)
    scene = Scene()
    for _ in range(times):
        daemon = subprocess.Popen(scene.command("flood", draw.randrange(1 << 30)), stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(draw.uniform(0, 0.12))
        daemon.kill()
        _, errors = daemon.communicate()
        assert daemon.returncode == -9, f"seed {seed}: {daemon.returncode} {errors}"
    jobs = scene.finish_and_check(f"seed {seed}, in {scene.root}")
    scene.remove()
    return jobs


def random_moments(times, seed):
    scenes = [min(20, times - done) for done in range(0, times, 20)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=3) as pool:
        return sum(pool.map(kill_at_random, scenes, range(seed, seed + len(scenes))))


def soak(limit, seed):
    """Scene after scene, two at a time."""
    begin = time.monotonic()
    per_scene = 20
    kills = jobs = scenes = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        while time.monotonic() - begin < limit:
            jobs += sum(pool.map(kill_at_random, [per_scene] * 2, [seed + scenes, seed + scenes + 1]))
            scenes, kills = scenes + 2, kills + 2 * per_scene
            hours = (time.monotonic() - begin) / 3600
            print(f"{kills} kills, {kills / hours:.0f} an hour, of daemons with {jobs} jobs; nothing lost, nothing twice",
                  flush=True)


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    seed = int(os.environ.get("TRAINYARD_TEST_SEED", random.randrange(1 << 30)))
    print(f"TRAINYARD_TEST_SEED={seed}")
    random.seed(seed)
    if what == "soak":
        soak(float(sys.argv[2]) if len(sys.argv) > 2 else 600, seed)
    if what in ("all", "points"):
        every_point(int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
    if what in ("all", "random"):
        times = int(sys.argv[2]) if len(sys.argv) > 2 else 500
        jobs = random_moments(times, seed)
        print(f"killed {times} times at random moments with {jobs} jobs; nothing lost, nothing twice")


if __name__ == "__main__":
    main()
