"""Two daemons on one machine never give out the same GPU: whoever runs them, and also when one is
killed and its jobs run on. The GPUs are a driver's that only tells of them.
"""
import contextlib
import glob
import os
import socket

from scene import IS_ROOT, Scene, Skip, run_tests, wait_until

EVE = 65534
MACHINE = f"GPU-{os.getpid()}"  # GPUs of this test alone
HOLD = ("sh", "-c", "echo gpus=$CUDA_VISIBLE_DEVICES; while [ ! -e leave ]; do sleep 0.02; done")


class GpuScene(Scene):
    """A daemon that finds these GPUs."""

    def __init__(self, gpus, slots=None, uid=None):
        super().__init__(slots=slots, uid=uid)
        self.find(gpus)

    def find(self, gpus):
        """From the next start on the driver has these, in this order."""
        driver = self.root / "nvidia-smi"
        driver.write_text("#!/bin/sh\n" + "".join(f"echo '{MACHINE}-{gpu}, NVIDIA H100'\n" for gpu in gpus))
        driver.chmod(0o755)

    def placement(self, job):
        return self.job(job)["placement"][0]["gpus"]

    def serve(self):
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{self.root}:{before}"
        try:
            return super().serve()
        finally:
            os.environ["PATH"] = before

    def gpus(self):
        return self.answer("nodes")["machines"][0]["capacity"]["gpus"]

    def hold(self, gpus=1):
        job = self.submit("--gpus", gpus, "--", *HOLD, uid=self.uid)
        self.until(job, "running")
        return job, wait_until(lambda: self.logs(job), "its output").strip()


def only_root():
    if not IS_ROOT:
        raise Skip("only root can be other users")


def refused_start(scene):
    """What a daemon says that finds no GPU for itself."""
    done = scene.serve().wait(60)
    assert done == 2, f"it began, or ended with {done}: {scene.said()}"
    return scene.said()


def test_a_gpu_is_one_daemons():
    with GpuScene("01") as first:
        assert first.gpus() == 2
        second = GpuScene("01")
        try:
            said = refused_start(second)
            assert (f"every GPU of this machine is taken: GPU 0 (H100, {MACHINE}-0) is held by process "
                    f"{first.daemon.pid} of user") in said, said
        finally:
            second.close()
        with GpuScene("0123") as third:
            assert third.gpus() == 2, "the rest goes on"
            said = third.said()
            assert "GPU 1 (H100" in said and "it is left out" in said and "GPU 2" not in said, said
            assert [first.hold()[1], first.hold()[1]] == ["gpus=0", "gpus=1"]
            assert [third.hold()[1], third.hold()[1]] == ["gpus=2", "gpus=3"], "by the driver's numbers"
        with GpuScene("0123", slots=2) as stand_ins:
            assert stand_ins.hold()[1] == "gpus=", "stand-ins are no GPUs, and show none"


def test_runs_outlive_their_daemon_and_keep_their_gpus():
    with GpuScene("01") as first:
        job, where = first.hold()
        assert where == "gpus=0"
        first.kill()
        with GpuScene("01") as second:
            assert second.gpus() == 1, second.said()
            assert "GPU 0" in second.said() and "a run of another daemon" in second.said(), second.said()
            assert second.hold()[1] == "gpus=1"
        first.start()
        assert first.gpus() == 2, "its own runs are no strangers"
        found = first.job(job)
        assert (found["state"], found["runs"]) == ("running", 1), found
        other, where = first.hold()
        assert where == "gpus=1"
        first.touch("leave")
        first.until(job, "done")
        first.until(other, "done")
        (first.work / "leave").unlink()
        assert first.hold(2)[1] == "gpus=0,1", "both are free again"


def test_gpus_that_move_at_a_restart_keep_their_jobs():
    with GpuScene("0123y") as scene:
        jobs = [scene.hold()[0] for _ in range(3)]
        scene.kill()
        scene.find("32x10")
        scene.start()
        assert scene.gpus() == 5
        for job in jobs:
            found = scene.job(job)
            assert (found["state"], found["runs"]) == ("running", 1), found
        assert scene.placement(jobs[0]) == [4] and scene.placement(jobs[2]) == [1], "as they are numbered now"
        assert scene.hold(2)[1] == "gpus=0,2", "the two that are free"


def test_a_gpu_that_is_gone_ends_its_own_job_alone():
    with GpuScene("012") as scene:
        jobs = [scene.hold()[0] for _ in range(3)]
        scene.kill()
        scene.find("21")
        scene.start()
        hit = wait_until(lambda: scene.job(jobs[0])["state"] == "queued" and scene.job(jobs[0]), "it to be queued")
        assert "is gone" in hit["reason"], hit
        for job in jobs[1:]:
            found = scene.job(job)
            assert (found["state"], found["runs"]) == ("running", 1), found
        scene.kill()
        scene.find("021")
        scene.start()
        again = scene.until(jobs[0], "running")
        assert again["runs"] == 2 and scene.placement(jobs[0]) == [0], again
        for job in jobs[1:]:
            assert scene.job(job)["runs"] == 1


def test_stand_ins_and_gpus_are_not_taken_for_each_other():
    with GpuScene("01", slots=2) as scene:
        jobs = [scene.hold()[0] for _ in range(2)]
        scene.kill()
        scene.slots = 4
        scene.start()
        assert [scene.job(job)["runs"] for job in jobs] == [1, 1], "their slots are there"
        scene.kill()
        scene.slots = None
        scene.start()
        for job in jobs:
            wait_until(lambda: scene.job(job)["runs"] == 2, "it to run on a GPU")
            scene.until(job, "running")


def test_a_users_daemon_gives_way_to_root():
    only_root()
    with GpuScene("01", uid=EVE) as eve:
        jobs = [eve.hold()[0] for _ in range(2)]
        with GpuScene("0") as root:
            assert root.gpus() == 1
            assert (f"GPU 0 (H100, {MACHINE}-0) was claimed before by process {eve.daemon.pid} of user nobody"
                    in root.said()), root.said()
            wait_until(lambda: eve.job(jobs[0])["state"] == "queued", "it to leave the GPU")
            assert "is root's daemon's now: it is given up" in eve.said(), eve.said()
            assert eve.gpus() == 1
            assert (eve.job(jobs[1])["state"], eve.job(jobs[1])["runs"]) == ("running", 1)
            eve.touch("leave")
            eve.until(jobs[1], "done")
            eve.until(jobs[0], "done")
            assert "gpus=1" in eve.logs(jobs[0]), "on the GPU that is left"


@contextlib.contextmanager
def names_of_eve(*names):
    """A process of Eve's has bound these; yields its number."""
    ready, tell = os.pipe()
    over, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        os.setresuid(EVE, EVE, EVE)
        sockets = []
        for name in names:
            sockets.append(socket.socket(socket.AF_UNIX))
            sockets[-1].bind(f"\0trainyard/{MACHINE}-{name}")
            sockets[-1].listen()
        os.write(tell, b"x")
        os.read(over, 1)
        os._exit(0)
    os.read(ready, 1)
    try:
        yield child
    finally:
        os.close(end)
        os.waitpid(child, 0)


def test_no_name_of_a_user_keeps_roots_daemon_from_a_gpu():
    only_root()
    with names_of_eve("0/daemon", "0/run/x", "1/run/x") as child, GpuScene("01") as scene:
        assert scene.gpus() == 2, scene.said()
        for gpu in "01":
            assert (f"GPU {gpu} (H100, {MACHINE}-{gpu}) was claimed before by process {child} of user nobody; "
                    "root's daemon takes it all the same") in scene.said(), scene.said()
        assert scene.hold(2)[1] == "gpus=0,1"
        scene.kill()
        scene.start()
        assert scene.gpus() == 2, "also beside a run of its own"


def test_a_users_daemon_leaves_out_what_root_has():
    only_root()
    with GpuScene("0") as root:
        job, where = root.hold()
        assert where == "gpus=0"
        with GpuScene("01", uid=EVE) as eve:
            assert eve.gpus() == 1
            assert f"GPU 0 (H100, {MACHINE}-0) is held by root's daemon, or a run of it; it is left out" in eve.said()
        root.kill()
        with GpuScene("01", uid=EVE) as eve:
            assert eve.gpus() == 1, "root's run lives"
            assert eve.hold()[1] == "gpus=1"
        root.start()
        root.touch("leave")
        root.until(job, "done")


def test_among_users_the_holder_is_named():
    only_root()
    with names_of_eve("0/daemon") as child, GpuScene("01", uid=EVE + 1) as scene:
        assert scene.gpus() == 1
        assert f"GPU 0 (H100, {MACHINE}-0) is held by process {child} of user nobody" in scene.said()
        assert scene.hold()[1] == "gpus=1"


if __name__ == "__main__":
    try:
        run_tests(globals(), limit=200)
    finally:
        for lock in glob.glob(f"/run/trainyard/gpus/{MACHINE}-*"):
            os.unlink(lock)
