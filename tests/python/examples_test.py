"""The examples of the documentation and of examples/live do what they say, paused and unpaused."""

import json
import os
import re
import signal
import subprocess
import unittest

import torch  # noqa: F401  (workers are forked with it loaded)

from job import PAUSED, ROOT, Job, SeededTest, wait_until

LIVE = ROOT / "examples" / "live"


def documented(name):
    """The code below `<!-- tested: name -->` in docs/python.md."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    return re.search(rf"<!-- tested: {name} -->\n```python\n(.*?)```", text, re.DOTALL)[1]


def leave_after(step):
    """The job is asked to leave when it reports this step."""
    from trainyard import _report
    import trainyard
    progress = _report.progress

    def watched(done, *arguments, **options):
        progress(done, *arguments, **options)
        if done == step:
            os.kill(os.getpid(), signal.SIGTERM)

    _report.progress = trainyard.progress = watched


class ExamplesTest(SeededTest):
    def finished(self, job):
        self.assertEqual(job.run(), [0], job.output() if job.runs else "")
        return job.output().splitlines()[-1]

    def documented_example(self, name):
        script = self.folder / f"{name}.py"
        script.write_text(documented(name), encoding="utf-8")
        expected = self.finished(Job(self.folder / "unbroken", script))
        self.assertRegex(expected, "^finished: 300 ")

        job = Job(self.folder / "job", script)
        # Not right after a start: before the first should_stop() a signal ends the script as ever.
        for step in sorted(self.random.sample(range(2, 300, 2), 3)):
            self.assertEqual(job.run(lambda rank: leave_after(step)), [PAUSED], step)
            self.assertEqual(json.loads(job.report.read_text())["step"], step)
        self.assertEqual(self.finished(job), expected)

    def test_documented_plain(self):
        self.documented_example("plain")

    def test_documented_torch(self):
        self.documented_example("torch")

    def test_batch(self):
        """A job script, told through its process group as a scheduler does it."""
        unbroken = self.run_batch("unbroken", pauses=0)
        paused = self.run_batch("paused", pauses=2)
        self.assertEqual(paused[-2:], unbroken[-2:])
        self.assertRegex(unbroken[-2], "^finished: 300 steps, loss ")
        self.assertEqual(unbroken[-1], "trained; what comes next runs once, after the last step")

    def run_batch(self, name, pauses):
        """The lines of its last run."""
        job = Job(self.folder / name, LIVE / "batch.sh")
        options = ["--steps", "300", "--width", "4", "--images", "240", "--batch", "4"]
        for run in range(pauses + 1):
            job.begin()
            output = job.run_directory / "out.0"
            with open(output, "w", encoding="utf-8") as file:
                process = subprocess.Popen(["bash", job.script, *options], stdout=file, stderr=file,
                                           env=job.environment(0), start_new_session=True)
            try:
                if run < pauses:
                    wait_until(job.report.exists, "its first report")
                    os.killpg(process.pid, signal.SIGTERM)
                status = process.wait(timeout=60)
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
            self.assertEqual(status, 0 if run == pauses else PAUSED, output.read_text())
            self.assertEqual("trained;" in output.read_text(), run == pauses)
        return output.read_text().splitlines()

    def test_sweep(self):
        """Submits trial jobs, each of which a machine could run."""
        recorder = self.folder / "trainyard"
        recorder.write_text(f"#!/bin/sh\nprintf '%s\\t' \"$@\" >>{self.folder}/calls\n"
                            f"echo >>{self.folder}/calls\n")
        recorder.chmod(0o755)
        subprocess.run(["bash", LIVE / "sweep.sh"], check=True, timeout=60,
                       env={"PATH": os.environ["PATH"], "TRAINYARD": str(recorder)})
        calls = [line.rstrip("\t").split("\t")
                 for line in (self.folder / "calls").read_text().splitlines()]
        self.assertEqual(len(calls), 4)
        for call in calls:
            options, command = call[:call.index("--")], call[call.index("--") + 1:]
            self.assertEqual(options[:3], ["submit", "--class", "trial"])
            self.assertEqual(options[options.index("--name") + 1], "lr-" + command[-1])
        command[command.index("--steps") + 1] = "1"
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        self.assertIn("finished: 1 steps", output.stdout)


if __name__ == "__main__":
    unittest.main()
