"""A disk that others have filled: new jobs are refused with a sentence, what runs can be cancelled,
the daemon starts again however often, and all is well by itself when there is room. And a user who
would fill it: nobody else notices."""
import contextlib
import os
import subprocess

from scene import IS_ROOT, OTHERS_RUN_HERE, Scene, Skip, run_tests, wait_until


def fill(path):
    """To the last byte."""
    with open(path, "ab", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    os.write(file.fileno(), b"x" * size)


def start_again(scene):
    scene.kill()
    scene.start("/v1/jobs")  # it is not healthy, but it answers


def check(space):
    if not IS_ROOT:
        raise Skip("only root can mount a small disk")
    with Scene(slots=2, space=space) as scene:
        running = [scene.submit("--", "sleep", 600) for _ in range(2)]
        waiting = [scene.submit("--gpus", 2, "--", "true") for _ in range(20)]
        scene.until(running[0], "running"), scene.until(running[1], "running")
        filler = scene.state / "filler"
        fill(filler)
        wait_until(lambda: scene.http("POST", "/v1/jobs", '{"command": ["true"]}').status == 503,
                   "a new job to be refused")
        fill(filler)
        reply = scene.http("POST", "/v1/jobs", '{"command": ["true"]}')
        assert reply.status == 503 and "is full" in reply.body.decode(), reply
        assert scene.http("GET", "/healthz").status == 503
        scene.command("cancel", waiting[0])
        assert scene.job(waiting[0])["state"] == "cancelled"
        for number in waiting[1:9]:
            fill(filler)  # what was given back for one is not there for the next
            start_again(scene)
            scene.command("cancel", number)
            assert scene.job(number)["state"] == "cancelled"
        scene.command("cancel", running[0])
        scene.until(running[0], "cancelled")
        assert scene.job(running[1])["state"] == "running"
        filler.unlink()
        wait_until(lambda: scene.http("GET", "/healthz").status == 200, "new jobs to be accepted")
        scene.command("cancel", running[1])
        scene.until(scene.submit("--", "true"), "done")
        scene.until(waiting[19], "done")


def test_small_disk():
    check("16m")


def test_large_disk():
    check("600m")


def test_full_disk_of_runs():
    """The journal goes on: jobs are accepted and cancelled, and those that wait start when there is room."""
    if not IS_ROOT:
        raise Skip("only root can mount a small disk")
    with Scene(slots=2) as scene, contextlib.ExitStack() as stack:
        scene.kill()
        disk = scene.root / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=0711", "trainyard-test", disk], check=True,
                       timeout=20)
        stack.callback(subprocess.run, ["umount", "--lazy", disk], check=False, timeout=20)
        scene.options += ["--runs", disk / "runs", "--checkpoints", disk / "checkpoints"]
        scene.start()
        stack.callback(scene.close)  # before the disk goes
        running = scene.submit("--", "sleep", 600)
        scene.until(running, "running")
        assert scene.run_directory(running).exists() and any((disk / "runs").glob(f"u*/jobs/{running}.1"))
        fill(disk / "filler")
        waiting = scene.submit("--", "echo", "it ran")
        wait_until(lambda: "could not be started" in scene.said(), "a start to fail")
        assert scene.http("GET", "/healthz").status == 200
        scene.command("cancel", scene.submit("--", "true"))
        start_again(scene)
        assert scene.job(running)["state"] == "running"
        (disk / "filler").unlink()
        scene.until(waiting, "done")
        assert scene.logs(waiting) == "it ran\n"
        scene.command("cancel", running)
        scene.kill()
        scene.options = scene.options[:-4]
        scene.start()  # the link stays
        assert scene.logs(waiting) == "it ran\n"


def test_greedy_user():
    """300 MB hold 82 scripts of 3 MB. Eve gets no more in than her part, and has it back when she cancels."""
    if not OTHERS_RUN_HERE:
        raise Skip("only root can mount a small disk and be other users")
    eve, bob = 65534, 65533
    with Scene(slots=1, space="300m") as scene:
        journal = scene.state / "journal.db"
        scene.until(scene.submit("--", "sleep", 600), "running")
        words = ["x" * 100_000] * 10
        script = {"script": "#!/bin/sh\n" + "".join(words), "command": words, "directory": "/",
                  "environment": {f"A{i}": word for i, word in enumerate(words)}}

        def submit(uid, body):
            return scene.http("POST", "/v1/jobs", body, uid=uid)

        jobs = []
        while (reply := submit(eve, script)).status == 201:
            jobs.append(reply.json()["job"])
            assert len(jobs) < 82
        assert reply.status == 409 and "a user may have 37.5 MiB" in reply.body.decode(), reply
        assert len(jobs) == 13, jobs
        for _ in range(3):
            assert submit(bob, script).status == 201
        wait_until(lambda: journal.stat().st_size > 16 * 3_000_000, "the scripts to leave the journal's log for its file")
        full = journal.stat().st_size
        for job in jobs:
            assert scene.http("DELETE", f"/v1/jobs/{job}", uid=eve).status == 200
        reply = submit(eve, script)
        assert reply.status == 201, reply
        wait_until(lambda: journal.stat().st_size < full / 2, "the journal to shrink")


def test_greedy_output():
    """Sixteen jobs that were accepted before any had written print 20 MB each: what is kept of that is Eve's part."""
    if not OTHERS_RUN_HERE:
        raise Skip("only root can mount a small disk and be other users")
    eve, bob = 65534, 65533
    with Scene(slots=2, space="200m") as scene:
        prints = {"command": ["head", "-c", "20000000", "/dev/zero"], "directory": "/", "array": "0-15"}
        reply = scene.http("POST", "/v1/jobs", prints, uid=eve)
        assert reply.status == 201, reply
        for job in range(reply.json()["job"] + 1, reply.json()["job"] + 17):
            scene.until(job, "done")
        runs = scene.state / f"runs/u{eve}/jobs"
        kept = sum(file.stat().st_blocks * 512 for file in runs.glob("*/out.*"))
        assert 10e6 < kept <= 200 * 2**20 / 2 / 4, kept
        reply = scene.http("POST", "/v1/jobs", {"command": ["echo", "bob"], "directory": "/"}, uid=bob)
        assert reply.status == 201, reply
        scene.until(reply.json()["job"], "done")
        assert scene.logs(reply.json()["job"]) == "bob\n"


run_tests(globals(), 400)
