"""Which daemon a command finds that is told of none: the system's first, the user's own second, and
never one that somebody else has put there. Needs root, and a view of /var/lib of its own.
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

from scene import IS_ROOT, Scene, Skip, program, run_tests, wait_until

EVE, BOB = 65534, 65533
SYSTEM = pathlib.Path("/var/lib/trainyard")


def needs_own_view():
    if not IS_ROOT:
        raise Skip("only root can be other users")
    if "TRAINYARD_OWN_VIEW" not in os.environ:
        raise Skip("this system lets nobody have a view of /var/lib of their own")


class Home:
    """A user's, with a daemon of her own if she wants one."""

    def __init__(self, scene, uid):
        self.scene, self.uid = scene, uid
        self.path = scene.work / f"home.{uid}"
        self.state = self.path / ".local/state/trainyard"
        self.state.mkdir(parents=True)
        for path in (self.path, self.path / ".local", self.path / ".local/state", self.state):
            os.chown(path, uid, uid)
        self.variables = {"HOME": str(self.path), "TRAINYARD_STATE": ""}

    def command(self, *words, **how):
        return self.scene.command(*words, uid=self.uid, variables=self.variables, directory="/", **how)

    @contextlib.contextmanager
    def daemon(self):
        log = self.path / "log"
        with open(log, "wb") as output:
            process = subprocess.Popen([program(), "serve", "--slots", "1"], stdout=output, stderr=output, cwd="/",
                                       env=self.variables, user=self.uid, group=self.uid, extra_groups=[])
        try:
            wait_until(lambda: "another terminal" in log.read_text() or process.poll() is not None, "her daemon")
            assert process.poll() is None, log.read_text()
            yield log.read_text()
        finally:
            process.terminate()
            process.wait(60)


@contextlib.contextmanager
def system_scene():
    scene = Scene(slots=3)
    shutil.rmtree(SYSTEM, ignore_errors=True)
    scene.state = SYSTEM
    with scene:
        yield scene


def capacity(home):
    """How many GPUs the daemon has that is found: it tells them apart."""
    return json.loads(home.command("nodes", "--json").stdout)["machines"][0]["capacity"]["gpus"]


def test_the_systems_first_then_ones_own():
    needs_own_view()
    with system_scene() as scene:
        eve = Home(scene, EVE)
        assert capacity(eve) == 3, "the system's daemon is found by everybody"
        with eve.daemon() as greeting:
            assert f"export TRAINYARD_STATE='{eve.state}'" in greeting, greeting
            assert capacity(eve) == 3, "also by who has a daemon"
            eve.variables["TRAINYARD_STATE"] = str(eve.state)
            assert capacity(eve) == 1, "unless another was named"
            eve.variables["TRAINYARD_STATE"] = ""
            scene.kill()
            assert capacity(eve) == 1, "her own, when the system's does not answer"
        with eve.daemon() as greeting:
            assert "export" not in greeting, greeting
        refused = eve.command("queue", check=False)
        assert refused.returncode == 6, refused
        assert (f"no daemon answers at {SYSTEM}/socket (Connection refused), nor at {eve.state}/socket"
                in refused.stderr), refused.stderr


def listens_in_vain(path, ready, over):
    """Whether somebody says something there before the file `over` exists."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        os.chmod(path, 0o777)
        listener.listen()
        listener.settimeout(0.1)
        os.write(ready, b"x")
        while not over.exists():
            with contextlib.suppress(TimeoutError), listener.accept()[0] as connection:
                if connection.recv(1):
                    return True
    return False


def test_a_planted_socket_is_told_nothing():
    needs_own_view()
    with system_scene() as scene:
        scene.kill()
        eve = Home(scene, EVE)
        eve.state.chmod(0o777)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setresgid(BOB, BOB, BOB)
            os.setresuid(BOB, BOB, BOB)
            os._exit(1 if listens_in_vain(eve.state / "socket", writing, eve.path / "over") else 0)
        os.read(reading, 1)
        for words in (["queue"], ["queue", "--state", eve.state]):
            refused = eve.command(*words, check=False)
            assert refused.returncode == 6 and f"user {BOB} listens there" in refused.stderr, refused
        (eve.path / "over").touch()
        assert os.waitpid(child, 0)[1] == 0, "Bob was told something"


if __name__ == "__main__":
    # In a view of the file system where /var/lib is empty.
    inside = "mount -t tmpfs -o mode=0755 trainyard-test /var/lib && TRAINYARD_OWN_VIEW=1 exec \"$@\""
    if IS_ROOT and "TRAINYARD_OWN_VIEW" not in os.environ and not subprocess.run(
            ["unshare", "--mount", "sh", "-c", inside, "sh", "true"], capture_output=True, check=False).returncode:
        os.execvp("unshare", ["unshare", "--mount", "sh", "-c", inside, "sh", sys.executable, "-B", *sys.argv])
    run_tests(globals(), limit=120)
