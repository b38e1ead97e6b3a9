"""What goes wrong with jobs, supervisors, disks and daemons, with real processes: what is to be
ended is ended with all that it started, what is to go on goes on, and what was acknowledged is kept.
"""
import os
import signal
import subprocess
import time

from scene import IS_ROOT, Scene, Skip, TRAINYARD, run_tests, wait_until
from scene.http import open_stream

# Runs until it is killed; ready when its pid is in the file it was given.
STUBBORN = """#!/bin/sh
trap '' TERM INT HUP USR1 USR2 QUIT
echo $$ >$1.part && mv $1.part $1
while :; do sleep 1; done
"""

# Leaves behind a process that belongs to no group or session of the job, and has its environment
# only if that is given.
ESCAPING = """#!/usr/bin/python3
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; echo $$ >escaped; exec sleep 600"],
                  os.environ if "environment" in sys.argv else {"PATH": "/bin"})
    os._exit(0)
os.wait()
while not os.path.exists("go-on"):
    time.sleep(0.01)
"""


def test_worker_dies():
    with Scene(slots=3) as scene:
        scene.script("gang.sh", """#!/bin/sh
echo $$ >rank.$RANK
[ $RANK = 1 ] || exec sleep 600
while [ ! -e die ]; do sleep 0.02; done
$1
""")
        for how, status, why in (("exit 3", 3, "worker 1: exit status 3"),
                                 ("kill -KILL 0", 137, "worker 1: killed by signal 9 (SIGKILL)")):
            job = scene.submit("--workers", 3, "--", "./gang.sh", how)
            others = [scene.watch(scene.text(f"rank.{rank}")) for rank in (0, 2)]
            scene.touch("die")
            end = scene.until(job, "failed")
            assert (end["exit_status"], end["reason"]) == (status, why), end
            assert all(worker.is_gone() for worker in others)
            scene.until_nothing_is_left()
            for name in ("rank.0", "rank.1", "rank.2", "die"):
                (scene.work / name).unlink()


def test_ignores_signals_when_cancelled():
    with Scene() as scene:
        scene.script("stubborn.sh", STUBBORN)
        job = scene.submit("--grace", "1s", "--", "./stubborn.sh", "ready")
        worker = scene.watch(scene.text("ready"))
        scene.until(job, "running")
        begin = time.monotonic()
        scene.command("cancel", job)
        end = scene.until(job, "cancelled")
        assert time.monotonic() - begin >= 1, "killed before its grace was over"
        assert end["exit_status"] == 137, end
        assert worker.is_gone()
        scene.until_nothing_is_left()


def test_ignores_signals_when_paused():
    with Scene() as scene:
        scene.script("stubborn.sh", STUBBORN)
        job = scene.submit("--gpus", 2, "--grace", "1s", "--", "/bin/sh", "-c",
                           "[ -z \"$TRAINYARD_RESTART\" ] || exit 0; exec ./stubborn.sh ready")
        worker = scene.watch(scene.text("ready"))
        scene.until(job, "running")
        trial = scene.submit("--class", "trial", "--gpus", 2, "--time", "1m", "--", "true")
        scene.until(trial, "done")
        assert worker.is_gone()
        end = scene.until(job, "done")
        assert (end["runs"], end["pauses"]) == (2, 1), end
        assert end["pause_took_s"] >= 1, end
        scene.until_nothing_is_left()


def test_escapes_from_its_group():
    for ending in ("cancel", "exit"):
        with Scene() as scene:
            scene.script("escaping.py", ESCAPING)
            job = scene.submit("--grace", "1s", "--", "./escaping.py")
            escaped = scene.watch(scene.text("escaped"))
            scene.until(job, "running")
            if ending == "cancel":
                scene.command("cancel", job)
                scene.until(job, "cancelled")
            else:
                scene.touch("go-on")
                scene.until(job, "done")
            assert escaped.is_gone(), f"after {ending} the process that escaped lives on"
            scene.until_nothing_is_left()


def test_prints_without_end():
    """1 GB, and as much more as it takes until another job has come and gone."""
    with Scene() as scene:
        job = scene.submit("--", "/usr/bin/python3", "-c", """
import os
print("the beginning", flush=True)
block, n = b"x" * 999 + b"\\n", 0
while n < 1000 or not os.path.exists("enough"):
    os.write(1, block * 1000)
    n += 1
open("blocks", "w").write(str(n))
print("the end")
""")
        scene.until(job, "running")
        run = scene.run_directory(job)
        most = 0

        def disk_use():
            return sum(path.stat().st_blocks * 512 for path in run.glob("out.*") if path.exists())

        def has_wrapped():
            nonlocal most
            most = max(most, disk_use())
            return sum(1 for _ in run.glob("out.*")) >= 4

        wait_until(has_wrapped, "four segments of output")
        other = scene.submit("--", "true")
        scene.until(other, "done")
        assert scene.job(job)["state"] == "running"
        scene.touch("enough")
        end = scene.until(job, "done")
        blocks = int(scene.text("blocks"))
        assert blocks >= 1000, blocks
        most = max(most, disk_use())
        assert most <= (5 * 16 << 20), f"{most} bytes of output on disk"
        text = scene.logs(job)
        assert text.startswith("the beginning\nxxx"), text[:100]
        assert text.endswith("x\nthe end\n"), text[-100:]
        assert len(text) >= 48 << 20, f"only {len(text)} bytes are kept"
        assert end["exit_status"] == 0, end


def fill(scene):
    with open(scene.state / "filler", "wb", buffering=0) as file:
        for size in (1 << 20, 4096):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError as problem:
                assert problem.errno == 28, problem


def test_disk_is_full():
    if not IS_ROOT:
        raise Skip("a file system of its own needs root")
    with Scene(slots=3, space="24m") as scene:
        counting = scene.submit("--", "/bin/sh", "-c",
                                "while [ ! -e stop ]; do echo . >>counted; echo tick; sleep 0.05; done")
        failing = scene.submit("--", "/bin/sh", "-c", "while [ ! -e fail ]; do sleep 0.05; done; exit 7")
        for job in (counting, failing):
            scene.until(job, "running")
        fill(scene)
        accepted, body = [], {"script": "#!/bin/sh\n#" + "x" * 200_000, "after": [counting],
                              "name": "waits", "directory": "/"}
        for _ in range(200):  # what SQLite has already is used up first
            reply = scene.http("POST", "/v1/jobs", body)
            if reply.status != 201:
                break
            accepted.append(reply.json()["job"])
        assert reply.status == 503, reply
        assert "full" in reply.message(), reply
        refused = scene.command("submit", "--after", counting, scene.script("large.sh", body["script"]),
                                check=False)
        assert refused.returncode != 0 and "full" in refused.stderr, refused
        # What runs goes on, and what ends meanwhile is not forgotten.
        lines = scene.text("counted").count(".")
        wait_until(lambda: scene.text("counted").count(".") > lines + 5, "the job to go on")
        worker = scene.watch(scene.supervisor(failing))
        scene.touch("fail")
        wait_until(worker.is_gone, "the failing job to end")
        (scene.state / "filler").unlink()
        wait_until(lambda: scene.http("GET", "/healthz").status == 200, "the daemon to accept again")
        end = scene.until(failing, "failed")
        assert end["exit_status"] == 7, end
        listed = [job["job"] for job in scene.http("GET", "/v1/jobs?name=waits&limit=1000").json()["jobs"]]
        assert sorted(listed) == accepted, f"acknowledged {accepted}, kept {listed}"
        scene.touch("stop")
        later = scene.submit("--", "true")
        for job in (counting, later, *accepted):
            scene.until(job, "done")


def test_no_room_for_new_runs():
    """SQLite still has room within its own files, so that small jobs are accepted: they wait."""
    if not IS_ROOT:
        raise Skip("a file system of its own needs root")
    with Scene(slots=3, space="40m") as scene:
        holder = scene.submit("--", "/bin/sh", "-c", "while [ ! -e stop ]; do sleep 0.02; done; exit 5")
        scene.until(holder, "running")
        large = {"script": "#!/bin/sh\n#" + "x" * 200_000, "after": [holder], "directory": "/"}
        for _ in range(25):
            assert scene.http("POST", "/v1/jobs", large).status == 201
        # The write-ahead log is moved into the database, and begins anew within its 5 MB.
        wait_until(lambda: (scene.state / "journal.db").stat().st_size > 5_000_000, "the log to be moved")
        assert scene.http("POST", "/v1/jobs", large).status == 201
        fill(scene)
        job = scene.submit("--", "true")
        reason = wait_until(lambda: scene.job(job)["reason"], "the start to fail")
        assert "could not be started" in reason and "No space left" in reason, reason
        scene.touch("stop")
        assert scene.until(holder, "failed")["exit_status"] == 5
        assert scene.job(job)["state"] in ("queued", "starting")
        (scene.state / "filler").unlink()
        end = scene.until(job, "done")
        assert (end["restarts"], end["reason"]) == (0, ""), end


def test_supervisor_is_killed():
    with Scene() as scene:
        scene.script("escaping.py", ESCAPING)
        # Without control groups what its supervisor leaves behind is known by its environment.
        carries = "environment" if "no control groups" in scene.said() else ""
        job = scene.submit("--", "/bin/sh", "-c", "[ -z \"$TRAINYARD_RESTART\" ] || exit 0; "
                           f"./escaping.py {carries} & echo $! >pid; wait")
        escaped, worker = (scene.watch(scene.text(name)) for name in ("escaped", "pid"))
        scene.until(job, "running")
        os.kill(scene.supervisor(job), signal.SIGKILL)
        end = scene.until(job, "done")
        assert (end["runs"], end["restarts"]) == (2, 1), end
        assert worker.is_gone() and escaped.is_gone()
        scene.until_nothing_is_left()


def test_daemon_is_killed():
    """Jobs end while there is no daemon: how they ended is known to the next."""
    ends = {"exit 0": ("done", 0), "exit 3": ("failed", 3), "kill -KILL $$": ("failed", 137)}
    with Scene(slots=4) as scene:
        wait = "while [ ! -e go-on ]; do sleep 0.02; done; "
        jobs = {scene.submit("--", "/bin/sh", "-c", wait + how): end for how, end in ends.items()}
        stays = scene.submit("--", "/bin/sh", "-c", "while [ ! -e leave ]; do sleep 0.02; done")
        for job in (*jobs, stays):
            scene.until(job, "running")
        supervisors = [scene.watch(scene.supervisor(job)) for job in jobs]
        scene.kill()
        scene.touch("go-on")
        wait_until(lambda: all(one.is_gone() for one in supervisors), "the jobs to end")
        scene.start()
        for job, (state, status) in jobs.items():
            end = scene.until(job, state)
            assert (end["exit_status"], end["runs"]) == (status, 1), end
        assert scene.job(stays)["state"] == "running"
        scene.touch("leave")
        assert scene.until(stays, "done")["runs"] == 1
        scene.until_nothing_is_left()


def test_second_daemon_on_one_directory():
    with Scene() as scene:
        job = scene.submit("--", "/bin/sh", "-c", "while [ ! -e leave ]; do sleep 0.02; done")
        scene.until(job, "running")
        second = subprocess.run([TRAINYARD, "serve", "--state", scene.state], timeout=30,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert second.returncode != 0 and "another daemon" in second.stderr, second
        assert scene.job(job)["state"] == "running"
        scene.touch("leave")
        assert scene.until(job, "done")["runs"] == 1
        scene.until(scene.submit("--", "true"), "done")


def test_ends_while_streams_are_open():
    with Scene() as scene:
        job = scene.submit("--", "/bin/sh", "-c", "echo begun; while [ ! -e leave ]; do sleep 0.02; done")
        scene.until(job, "running")
        events = open_stream(scene.state, "/v1/events")
        assert events.readline().startswith(b":")
        output = open_stream(scene.state, f"/v1/jobs/{job}/logs?follow=true")
        assert output.readline() == b"begun\n"
        scene.daemon.terminate()
        assert scene.daemon.wait(10) == 0
        assert len(scene.processes()) >= 2, "the job and its supervisor did not outlive the daemon"
        scene.touch("leave")
        scene.start()
        assert scene.until(job, "done")["runs"] == 1


if __name__ == "__main__":
    run_tests(globals(), limit=300)
