"""A backup under load, damage, verify, restore, and the next start: what lives is not touched, and no
number of a job is given a second time. A backup that is killed, or whose disk is full, is none."""
import os
import random
import sqlite3
import subprocess
import threading
import time

from scene import IS_ROOT, Scene, Skip, program, run_tests, wait_until

SAID = "THE JOURNAL HAS LOST A PART"


def processes_of(scene, mark):
    """The processes with this word in their command line."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if entry.isdigit() and mark.encode() in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            pass
    return found


def test_backup_damage_restore():
    with Scene(slots=4) as scene:
        mark = str(random.randrange(10**6, 10**9))
        lives = scene.submit("--gpus", 2, "--", "sleep", mark)
        scene.until(lives, "running")
        pids = wait_until(lambda: processes_of(scene, mark), "the job's process")
        before = [scene.submit("--gpus", 4, "--", "true") for _ in range(3)]
        stop, numbers = threading.Event(), []

        def load():
            while not stop.is_set():
                numbers.append(scene.submit("--gpus", 1, "--", "true"))

        loader = threading.Thread(target=load)
        loader.start()
        files = [scene.root / f"backup-{i}" for i in range(3)]
        try:
            for file in files:
                scene.command("backup", file)
                assert oct(file.stat().st_mode & 0o777) == "0o600"
                scene.command("verify", file)
                scene.command("verify")  # beside the daemon
        finally:
            stop.set()
            loader.join()
        again = scene.command("backup", files[0], check=False)
        assert again.returncode == 2 and "exists" in again.stderr, again
        later = scene.submit("--class", "trial", "--gpus", 1, "--", "sleep", mark)
        scene.until(later, "running")
        refused = scene.command("restore", files[2], "--state", scene.state, check=False)
        assert refused.returncode == 2 and "another daemon runs" in refused.stderr, refused
        scene.kill()
        with sqlite3.connect(scene.state / "journal.db") as journal:
            journal.execute("UPDATE job SET uid = uid + 1 WHERE number = ?", (before[0],))
        journal.close()
        damaged = scene.command("verify", check=False)
        assert damaged.returncode == 1, damaged
        assert f"job {before[0]}: table job, row {before[0]}: its checksum is wrong" in damaged.stderr
        pids = sorted(processes_of(scene, mark))
        done = scene.command("restore", files[2], "--state", scene.state)
        assert "before-restore-" in done.stdout, done
        scene.start()
        assert SAID in scene.said(), scene.said()
        assert sorted(processes_of(scene, mark)) == pids, "what lived lives"
        assert scene.job(lives)["state"] == "running"
        strays = wait_until(lambda: [job for job in scene.http("GET", "/v1/jobs").json()["jobs"]
                                     if job["state"] == "running" and job["job"] != lives],
                            "the run whose job is not known any more")
        assert strays[0]["job"] > later
        for job in before:
            assert scene.job(job)["state"] == "queued", "it was promised before the backup"
        assert scene.submit("--", "true") > max(numbers + [later])
        for job in [lives, *[stray["job"] for stray in strays]]:
            scene.command("cancel", job)
        for job in before:
            scene.until(job, "done")
        scene.command("verify")


def test_a_damaged_row_costs_one_job():
    with Scene(slots=2) as scene:
        running = scene.submit("--gpus", 2, "--", "sleep", 600)
        scene.until(running, "running")
        waiting = [scene.submit("--gpus", 2, "--", "true") for _ in range(3)]
        scene.kill()
        with sqlite3.connect(scene.state / "journal.db") as journal:
            journal.execute("UPDATE spec SET spec = replace(spec, 'true', 'trud') WHERE number = ?",
                            (waiting[1],))
        journal.close()
        scene.start()
        assert scene.job(running)["state"] == "running"
        assert [scene.job(job)["state"] for job in waiting] == ["queued", "failed", "queued"]
        assert f"table spec, row {waiting[1]}: its checksum is wrong" in scene.said()
        scene.command("cancel", running)
        scene.until(waiting[0], "done"), scene.until(waiting[2], "done")


def test_killed_at_any_moment():
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    lots = random.Random(seed)
    with Scene(slots=1) as scene:
        for _ in range(20):
            scene.submit("--gpus", 1, "--", "sh", "-c", "true " + "x" * 20000)
        file = scene.root / "backup"
        begin = time.monotonic()
        scene.command("backup", file)
        takes = time.monotonic() - begin
        file.unlink()
        made = 0
        for _ in range(40):
            backup = subprocess.Popen([program(), "backup", "--state", scene.state, file],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(lots.uniform(0, 1.5 * takes))  # not to wait for anything: to strike somewhere
            backup.kill()
            backup.wait()
            if file.exists():
                scene.command("verify", file)
                file.unlink()
                made += 1
        print(f"{made} of 40 were made before they were struck")
        scene.command("backup", file)
        scene.command("verify", file)


def test_a_full_disk():
    if not IS_ROOT:
        raise Skip("only root can mount a small disk")
    with Scene(slots=1) as scene:
        for _ in range(20):
            scene.submit("--gpus", 1, "--", "sh", "-c", "true " + "x" * 20000)
        small = scene.root / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "trainyard-test", small],
                       check=True, timeout=20)
        try:
            done = scene.command("backup", small / "backup", check=False)
            assert done.returncode == 2 and "full" in done.stderr, done
            assert list(small.iterdir()) == []
        finally:
            subprocess.run(["umount", small], check=True, timeout=20)
        scene.command("backup", scene.root / "backup")


if __name__ == "__main__":
    run_tests(globals(), limit=300)
