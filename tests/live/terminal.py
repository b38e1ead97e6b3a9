"""The commands at a terminal: colour where it is wanted, and `watch`, which draws anew whenever
something happens and gives the terminal back as it was.
"""
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from scene import PATIENCE, TRAINYARD, Scene, Skip, run_tests, wait_until

COLOUR = re.compile(r"\x1b\[\d+m")
HOLD = ("sh", "-c", 'echo \'{"step": 3, "total": 4}\' > $TRAINYARD_REPORT; while [ ! -e leave ]; do sleep 0.02; done')


class Terminal:
    """A command at a terminal of so many columns and rows."""

    def __init__(self, scene, *words, columns=140, rows=30, variables=None):
        try:
            self.master, slave = pty.openpty()
        except OSError as problem:
            raise Skip(f"no terminal can be had here, as where /dev/pts is not mounted: {problem}") from problem
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        environment = {"PATH": "/usr/bin:/bin", "TERM": "xterm", "TRAINYARD_STATE": str(scene.state),
                       **(variables or {})}
        self.process = subprocess.Popen([TRAINYARD, *map(str, words)], stdin=slave, stdout=slave, stderr=slave,
                                        env=environment, start_new_session=True)
        self.text = ""

    def read(self, patience=0.05):
        while select.select([self.master], [], [], patience)[0]:
            part = os.read(self.master, 65536)
            if not part:
                break
            self.text += part.decode()
        return self.text

    def frame(self):
        """What was drawn last: from the top of the screen on."""
        return self.read().split("\x1b[H")[-1]

    def until(self, condition, what):
        return wait_until(lambda: condition(self.frame()), lambda: f"{what}: {self.text!r}")

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self, status=0):
        """All it wrote; it must have ended by itself."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
        assert self.process.poll() == status, f"{self.process.poll()}: {self.text}"
        return self.read()

    def __enter__(self):
        return self

    def __exit__(self, *_problem):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.slave)
        os.close(self.master)


def said(scene, *words, status=0, **how):
    with Terminal(scene, *words, **how) as terminal:
        return terminal.end(status)


def test_colours():
    with Scene(slots=2) as scene:
        job = scene.submit("--gpus", 2, "--time", "1h", "--name", "café", "--", *HOLD)
        scene.until(job, "running")
        wait_until(lambda: scene.job(job)["progress"], "its report")
        waiting = scene.submit("--", "false")
        green, yellow = "\x1b[32mrunning\x1b[0m", "\x1b[33mqueued\x1b[0m"
        queue = said(scene, "queue")
        assert green in queue and yellow in queue, queue
        assert green in said(scene, "show", job) and yellow in said(scene, "why", waiting)
        assert "\x1b[32mup\x1b[0m" in said(scene, "nodes")
        for words in (["queue"], ["show", job], ["why", waiting], ["nodes"]):
            for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                plain = said(scene, *words, variables=variables)
                assert not COLOUR.search(plain), (words, variables, plain)
            assert "\x1b" not in scene.command(*words, variables={"TERM": "xterm"}).stdout, words
            assert "\x1b" not in said(scene, *words, "--json"), words
        # Colours and characters of several bytes take no room of their own.
        lines = COLOUR.sub("", queue).splitlines()
        at = lines[0].index("STATE")
        assert all(line[at:].startswith(("STATE", "queued", "running")) for line in lines[:3]), queue
        row = next(line for line in lines if "café" in line)
        assert re.search(r" running +2 +\S.* +1h +75% +\S+:0,1$", row), row
        assert re.search(r" queued +1 .* - +- +\(resources\)$", next(line for line in lines if "false" in line)), queue
        scene.touch("leave")
        failed = said(scene, "submit", "--wait", "--", "false", status=1)
        assert "has \x1b[31mfailed\x1b[0m: exit status 1" in failed, failed


def test_learning_curve():
    with Scene(slots=1) as scene:
        tell = ('for i in 1 2 3 4; do while [ ! -e step$i ]; do sleep 0.02; done; '
                'echo "{\\"step\\": $i, \\"accuracy\\": 0.$((100 - 100 / (i + 1)))}" > $TRAINYARD_REPORT; done; '
                'while [ ! -e leave ]; do sleep 0.02; done')
        job = scene.submit("--", "sh", "-c", tell)
        for step in range(1, 5):
            fit = scene.job(job)["curve_fit"]
            assert (fit is None) == (step <= 3), "three points at least make a curve"
            scene.touch(f"step{step}")
            wait_until(lambda: len(scene.job(job)["curve"]) == step, f"report {step}")
        fit = scene.job(job)["curve_fit"]
        assert 0.75 < fit["accuracy"] < 0.85 and 0.9 < fit["limit"] <= 1, fit
        text = scene.command("show", job).stdout
        assert re.search(r"learning +accuracy 0\.(79|8)\d*, 8\d% of the (1|0\.9\d*) that its curve tends to", text), text
        assert re.search(r"^0\.8 \|.*o$", text, re.MULTILINE) and re.search(r"^ +1 +4$", text, re.MULTILINE), text
        listed = json.loads(scene.command("queue", "--json").stdout)
        assert "curve_fit" not in listed["jobs"][0], listed
        scene.touch("leave")


def test_output_does_nothing_to_a_terminal():
    wrote = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x1b[2J\x1b[8mhidden \u202eabc\n"
    with Scene(slots=1) as scene:
        job = scene.submit("--", "printf", "%s", wrote)
        scene.until(job, "done")
        shown = said(scene, "logs", job)
        assert "\\x1b]0;owned\\x07\x1b[31mred\x1b[0m\\x1b[2J\\x1b[8mhidden \\u{202e}abc" in shown, repr(shown)
        assert "\x1b]" not in shown and "\x1b[2J" not in shown, repr(shown)
        assert wrote.strip() in said(scene, "logs", job, "--raw"), "as it is, where that is asked for"
        assert scene.command("logs", job).stdout == wrote, "as it is, where no terminal reads it"
        listed = said(scene, "show", job)
        assert "\\x1b]0;owned" in listed and "\x1b]" not in listed, repr(listed)
        assert "\u202e" not in said(scene, "show", job, "--json")


def test_watch():
    with Scene(slots=2) as scene:
        first = scene.submit("--name", "first", "--", *HOLD)
        with Terminal(scene, "watch", columns=100) as terminal:
            terminal.until(lambda frame: "1 running" in frame and "first" in frame, "the first frame")
            assert "\x1b[?1049h" in terminal.text, "the screen is one of its own"
            assert not termios.tcgetattr(terminal.slave)[3] & termios.ECHO
            frames = terminal.text.count("\x1b[H")
            begin = time.monotonic()
            second = scene.submit("--gpus", 2, "--name", "second", "--", "true")
            terminal.until(lambda frame: "second" in frame and "queued" in frame, "what was submitted")
            print(f"  drawn {time.monotonic() - begin:.2f} s after it was submitted")
            assert terminal.text.count("\x1b[H") > frames
            scene.touch("leave")
            scene.until(second, "done")
            terminal.until(lambda frame: "0 running" in frame and "first" not in frame, "both to have left")
            terminal.type("x")  # means nothing
            terminal.type("q")
            text = terminal.end()
            assert text.rstrip().endswith("\x1b[?25h\x1b[?1049l"), text[-200:]
            assert termios.tcgetattr(terminal.slave) == terminal.before, "the terminal is as it was"
        scene.until(first, "done")


def test_watch_is_cut_to_the_terminal():
    with Scene(slots=2) as scene:
        for number in range(12):
            scene.submit("--gpus", 2, "--name", f"a-job-with-a-long-name-{number}", "--", *HOLD)
        with Terminal(scene, "watch", columns=60, rows=10) as terminal:
            terminal.until(lambda frame: "a-job" in frame, "the first frame")
            terminal.until(lambda frame: "\x1b[J" in frame, "the end of it")
            lines = COLOUR.sub("", terminal.frame().split("\x1b[J")[0]).replace("\r", "").split("\n")
            assert len(lines) <= 10, lines
            assert all(len(line.replace("\x1b[K", "")) <= 60 for line in lines), lines
            terminal.type("\x03")  # control-C leaves too
            terminal.end()


def test_watch_outlives_the_daemon():
    with Scene(slots=2) as scene:
        with Terminal(scene, "watch") as terminal:
            terminal.until(lambda frame: "0 running" in frame, "the first frame")
            scene.kill()
            terminal.until(lambda frame: "no daemon answers" in frame, "that nobody answers")
            scene.start()
            scene.submit("--name", "later", "--", *HOLD)
            terminal.until(lambda frame: "later" in frame, "the daemon that came back")
            with contextlib.suppress(OSError):
                terminal.type("q")
            terminal.end()


if __name__ == "__main__":
    run_tests(globals(), limit=200)
