"""Users who put traps where the daemon and supervisors look: a FIFO in the place of a file, swapped all
the time, and a file system that never answers. Jobs end, their GPUs become free, and the daemon answers.
"""
import ctypes
import os
import subprocess

from scene import OTHERS_RUN_HERE, Scene, Skip, run_tests, wait_until

EVE = 65534

# Exchanges job/saved of the two newest runs with a FIFO, in one call each, for as long as the scene lasts.
SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
own = [f"{sys.argv[1]}/{run}.1/job" for run in range(1, 200)]
newest, trapped = -1, []
for turn in range(100000000):
    if turn % 64 == 0:
        while newest + 1 < len(own) and os.path.isdir(own[newest + 1]):
            newest += 1
            try:
                os.mkfifo(own[newest] + "/fifo")
                open(own[newest] + "/saved", "w").close()
            except OSError:
                pass  # it was too late for this run
        trapped = [((o + "/saved").encode(), (o + "/fifo").encode()) for o in own[max(0, newest - 1):newest + 1]]
        if os.getppid() == 1:
            break
    for saved, fifo in trapped:
        libc.renameat2(-100, saved, -100, fifo, 2)  # RENAME_EXCHANGE
"""


def submit(scene, uid, command, **fields):
    reply = scene.http("POST", "/v1/jobs", {"command": ["sh", "-c", command], "directory": str(scene.work),
                                            **fields}, uid=uid)
    assert reply.status == 201, reply
    return reply.json()["job"]


def is_free(scene):
    machine, = scene.http("GET", "/v1/cluster").json()["machines"]
    return machine["free"]["gpus"] == machine["capacity"]["gpus"]


def test_files_that_are_swapped_keep_no_gpu():
    uid = EVE if OTHERS_RUN_HERE else os.getuid()
    with Scene(slots=2) as scene:
        become = {"user": uid, "group": uid, "extra_groups": []} if OTHERS_RUN_HERE else {}
        attacker = subprocess.Popen(["/usr/bin/python3", "-c", SWAPPER,
                                     scene.run_directory(1, uid=uid).parent], **become)
        try:
            jobs = [submit(scene, uid, "sleep 0.1") for _ in range(120)]
            for job in jobs:
                scene.until(job, "done")
            assert is_free(scene)
        finally:
            attacker.kill()
            attacker.wait()


def silent_mount(path):
    """A file system that never answers, until the returned descriptor is closed."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as problem:
        raise Skip(f"there is no FUSE here: {problem}") from problem
    options = f"fd={device},rootmode=40000,user_id={EVE},group_id={EVE},allow_other".encode()
    if libc.mount(b"silent", str(path).encode(), b"fuse", 0, options) != 0:
        os.close(device)
        raise Skip(f"nothing can be mounted here: {os.strerror(ctypes.get_errno())}")
    return device


def unmount(path, device):
    os.close(device)
    ctypes.CDLL(None).umount2(str(path).encode(), 2)


def test_a_file_system_that_hangs_stops_neither_the_daemon_nor_others():
    if not OTHERS_RUN_HERE:
        raise Skip("only root can be other users and mount")
    with Scene(slots=2) as scene:
        job = submit(scene, EVE, "echo ready; exec sleep 600")
        wait_until(lambda: "ready" in scene.logs(job), "the job to run")
        own = scene.run_directory(job, uid=EVE) / "job"
        hung = scene.work / "hung"
        hung.mkdir()
        mounts = [(path, silent_mount(path)) for path in (own, hung)]
        try:
            writes = submit(scene, EVE, "echo never", output=str(hung / "out"))
            other = scene.submit("--gpus", 1, "--", "true")
            wait_until(lambda: scene.job(writes)["state"] in ("starting", "running"), "the second to start")
            for each in (writes, job):
                scene.http("DELETE", f"/v1/jobs/{each}", uid=EVE)
                scene.until(each, "cancelled")
            scene.until(other, "done")
            wait_until(lambda: is_free(scene), "the GPUs to be free")
            scene.kill()
            scene.start()
            assert scene.job(job)["state"] == "cancelled"
        finally:
            for path, device in mounts:
                unmount(path, device)


def test_a_fifo_for_output_does_not_keep_its_gpu():
    with Scene(slots=1) as scene:
        fifo = scene.work / "fifo"
        os.mkfifo(fifo, 0o666)
        job = scene.submit("--output", str(fifo), "--", "echo", "never")
        refused = scene.until(job, "failed")
        assert "FIFO that no process reads" in refused["reason"], refused
        assert is_free(scene)
        # With a reader it starts, and its time limit holds when the reader stops reading.
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        job = scene.submit("--output", str(fifo), "--time", "1s", "--grace", "1s", "--",
                           "sh", "-c", "trap '' TERM; while :; do echo more; done")
        scene.until(job, "failed")
        os.close(reader)
        wait_until(lambda: is_free(scene), "the GPU to be free")


if __name__ == "__main__":
    run_tests(globals(), limit=400)
