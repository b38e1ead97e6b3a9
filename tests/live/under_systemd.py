"""The packaged units under a real systemd: jobs are in the control group of trainyard-runs.service, and
live on while trainyard.service is restarted, reloaded and killed. systemd is the first process of
namespaces of the test's own, with a hierarchy of control groups (v2) that ends in a group of the test's
own, and knows no units but these.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

from scene import IS_ROOT, PATIENCE, Skip, TRAINYARD, run_tests, wait_until

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
SYSTEMD = "/lib/systemd/systemd"

# Within the new namespaces: all control groups that can be seen are those of the test.
INNER = """set -e
mount --make-rprivate /
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none /run
mkdir {root}/upper {root}/work
mount -t overlay -o lowerdir=/etc,upperdir={root}/upper,workdir={root}/work none /etc
export container=lxc SYSTEMD_UNIT_PATH={root}/units
exec {systemd} --system --log-target=console --show-status=0 --unit=default.target
"""


class Machine:
    """A systemd with the packaged units, as if it had been booted."""

    def __init__(self):
        v2 = [line.split()[4] for line in open("/proc/self/mountinfo") if " - cgroup2 " in line]
        if not IS_ROOT or not v2 or not os.access(SYSTEMD, os.X_OK):
            raise Skip("needs root, systemd and control groups of v2")
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="trainyard-systemd-"))
        self.root.chmod(0o755)
        self.group = pathlib.Path(v2[0]) / self.root.name
        self.process = None

    def __enter__(self):
        (self.root / "units").mkdir()
        for name in ("default", "basic", "sysinit", "shutdown", "network", "remote-fs", "time-sync",
                     "nss-user-lookup", "multi-user"):
            (self.root / "units" / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n")
        self.unit("trainyard-runs.service")
        self.unit("trainyard.service", f"StateDirectory=\nExecStartPre=\nExecStart=\n"
                  f"ExecStart={TRAINYARD} serve --config /dev/null --slots 2 --state {self.root}/state\n")
        (self.root / "inner.sh").write_text(INNER.format(root=self.root, systemd=SYSTEMD))
        self.group.mkdir()
        begin = (f"echo $$ > {self.group}/cgroup.procs; exec unshare --cgroup --mount --pid --fork "
                 f"--kill-child --uts --ipc --mount-proc bash {self.root}/inner.sh")
        with open(self.root / "log", "wb") as log:
            self.process = subprocess.Popen(["bash", "-c", begin], stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        try:
            wait_until(lambda: self.process.poll() is not None or self.call("systemctl", "is-system-running",
                       check=False).stdout.strip() in ("running", "degraded"), "systemd to start")
            if self.process.poll() is not None:
                raise Skip(f"systemd does not start here: {(self.root / 'log').read_text()[-300:]}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def unit(self, name, more=""):
        text = (PACKAGING / name).read_text().replace("[Unit]", "[Unit]\nDefaultDependencies=no", 1)
        (self.root / "units" / name).write_text(text.replace("[Install]", f"{more}[Install]"))

    def __exit__(self, *_):
        self.process.kill()  # and with it all of its namespace
        self.process.wait(PATIENCE)
        wait_until(self.removed, "the end of all processes")
        shutil.rmtree(self.root, ignore_errors=True)

    def removed(self):
        folders = [pathlib.Path(path) for path, _, _ in os.walk(self.group, topdown=False)]
        for folder in folders:
            try:
                folder.rmdir()
            except OSError:
                return False
        return not self.group.exists()

    def first_process(self):
        """The number of systemd here, whose parent is unshare."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return children.split()[0] if children.split() else None

    def call(self, *words, check=True):
        first = self.first_process()
        if first is None:
            return subprocess.CompletedProcess(words, 1, "", "")
        done = subprocess.run(["nsenter", "-t", first, "-m", "-p", "-C", *map(str, words)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        assert not check or done.returncode == 0, f"{words}: {done}\n{(self.root / 'log').read_text()}"
        return done

    def trainyard(self, *words):
        return self.call("env", f"TRAINYARD_STATE={self.root}/state", TRAINYARD, *words).stdout

    def jobs(self):
        """The processes in the group of all runs, by the numbers of the outside."""
        top = self.group / "system.slice" / "trainyard-runs.service" / "trainyard"
        return sorted(pid for path, _, _ in os.walk(top)
                      for pid in (pathlib.Path(path) / "cgroup.procs").read_text().split())

    def daemon(self):
        return self.call("systemctl", "show", "-P", "MainPID", "trainyard").stdout.strip()


def test_jobs_outlive_the_daemons_unit():
    with Machine() as machine:
        machine.call("systemctl", "start", "trainyard.service")
        assert machine.call("systemctl", "is-active", "trainyard-runs").stdout == "active\n"
        machine.trainyard("submit", "--", "sleep", "1000")
        jobs = wait_until(machine.jobs, "the job to be in the group of all runs")
        for how in (("restart", "trainyard"), ("daemon-reload",), ("daemon-reexec",),
                    ("kill", "--signal=KILL", "--kill-whom=main", "trainyard")):
            before = machine.daemon()
            machine.call("systemctl", *how)
            if "trainyard" in how:
                wait_until(lambda: machine.daemon() not in ("0", before), "the next daemon")
            wait_until(lambda: machine.call("systemctl", "is-active", "trainyard", check=False).stdout ==
                       "active\n", "the daemon to be active")
            assert machine.jobs() == jobs, how
            assert "running" in machine.trainyard("queue"), how
        machine.trainyard("cancel", "1")
        wait_until(lambda: not machine.jobs(), "the job's end")


if __name__ == "__main__":
    run_tests(globals(), limit=300)
