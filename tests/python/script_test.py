"""The package as a plain script uses it: reports, signals, times, and nothing outside Trainyard."""

import json
import os
import signal
import subprocess
import tempfile
import textwrap
import time
import unittest
from pathlib import Path

from job import ROOT, Job, wait_until


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.job = Job(self.folder / "state", "-c")
        self.job.begin()

    def start(self, code, environment=None):
        """A process of the job, or with another environment; its standard input is open."""
        process = subprocess.Popen(
            ["/usr/bin/python3", "-B", "-c", textwrap.dedent(code)], cwd=self.folder, text=True,
            env=self.job.environment(0) if environment is None else environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        """With all that it started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()

    def run_script(self, code, environment=None, status=0):
        """What it printed."""
        process = self.start(code, environment)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, errors)
        self.errors = errors
        return output

    def report(self):
        return json.loads(self.job.report.read_text())

    def step(self):
        return self.report()["step"] if self.job.report.exists() else None


class OutsideTest(ScriptTest):
    def test_nothing_happens(self):
        before = sorted(self.folder.rglob("*"))
        output = self.run_script("""
            import signal, trainyard
            trainyard.progress(3, 10, loss=0.5, accuracy=0.1)
            with trainyard.timed_save(): pass
            with trainyard.timed_load(): pass
            trainyard.requeue()
            print(trainyard.should_stop(), trainyard.checkpoint_dir, trainyard.restart_count)
            print(signal.getsignal(signal.SIGTERM) == signal.getsignal(signal.SIGUSR1)
                  == signal.SIG_DFL)
            """, {"PYTHONPATH": str(ROOT / "python")})
        self.assertEqual(output, "False None 0\nTrue\n")
        self.assertEqual(self.errors, "")
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_mistakes_show(self):
        for call in ("progress(-1)", "progress('x')", "progress(1, total=-5)", "progress(2**60)"):
            self.run_script(f"import trainyard; trainyard.{call}",
                            {"PYTHONPATH": str(ROOT / "python")}, status=1)
            self.assertIn("ValueError", self.errors)

    def test_torch_is_not_imported(self):
        self.run_script("import trainyard, sys; assert 'torch' not in sys.modules")


class JobTest(ScriptTest):
    def test_what_the_environment_says(self):
        code = "import trainyard; print(trainyard.checkpoint_dir, trainyard.restart_count)"
        self.assertEqual(self.run_script(code), f"{self.job.checkpoints} 0\n")
        self.job.begin()
        self.assertEqual(self.run_script(code), f"{self.job.checkpoints} 1\n")

    def test_requeue(self):
        self.run_script("import trainyard; trainyard.requeue(); trainyard.requeue()")
        self.assertTrue((self.job.run_directory / "job" / "requeue").exists())


class ReportTest(ScriptTest):
    def test_fields(self):
        self.run_script("""
            import trainyard
            trainyard.progress(1, 10, loss=0.5, accuracy=0.25)
            trainyard.progress(2, loss=float("nan"), accuracy=float("inf"))
            trainyard.progress(2, loss=-1e31)
            trainyard.progress(3, loss=0.125)
            """)
        self.assertEqual(self.report(),
                         {"step": 3, "total": 10, "loss": 0.125, "accuracy": 0.25})

    def test_only_rank_0_writes(self):
        self.run_script("import trainyard; trainyard.progress(1)", self.job.environment(1))
        self.assertFalse(self.job.report.exists())
        self.run_script("import trainyard; trainyard.progress(1)", self.job.environment(0))
        self.assertTrue(self.job.report.exists())

    def test_few_writes_each_whole(self):
        """A reader beside a loop sees whole reports, in order; few of very many are written."""
        process = self.start("""
            import os, time, trainyard
            writes, replace = 0, os.replace
            def counting(*arguments):
                global writes
                writes += 1
                replace(*arguments)
            os.replace = counting
            begin = time.monotonic()
            step = 0
            while time.monotonic() < begin + 1:
                step += 1
                trainyard.progress(step, 10**9, loss=1 / step)
            elapsed = time.monotonic() - begin
            assert step > writes, step
            assert 2 <= writes <= elapsed / 0.2 + 1, (writes, elapsed)
            """)
        seen = []
        while process.poll() is None:
            if self.job.report.exists():
                seen.append(self.report()["step"])
            time.sleep(0.002)
        self.assertEqual(process.returncode, 0, process.stderr.read())
        self.assertEqual(seen, sorted(seen))
        self.assertGreater(len(set(seen)), 1)
        self.assertEqual(os.listdir(self.job.report.parent), ["report.json"])

    def test_the_last_is_written_at_exit(self):
        self.run_script("import trainyard; [trainyard.progress(i) for i in range(100)]")
        self.assertEqual(self.step(), 99)

    def test_the_last_is_written_while_the_script_does_other_things(self):
        self.start("import trainyard; [trainyard.progress(i) for i in range(100)]; input()")
        wait_until(lambda: self.step() == 99, "the last report")

    def test_the_last_is_written_on_stop(self):
        self.job.ask_to_leave()
        self.run_script("""
            import os, trainyard
            for i in range(100): trainyard.progress(i)
            assert trainyard.should_stop()
            os._exit(0)
            """)
        self.assertEqual(self.step(), 99)

    def test_times(self):
        self.run_script("""
            import json, os, time, trainyard
            with trainyard.timed_load(): time.sleep(0.01)
            assert not os.path.exists(os.environ["TRAINYARD_REPORT"])  # it has no step yet
            trainyard.progress(5)
            try:
                with trainyard.timed_save(): raise RuntimeError
            except RuntimeError: pass
            assert "save_s" not in json.load(open(os.environ["TRAINYARD_REPORT"]))
            with trainyard.timed_save(): time.sleep(0.01)
            os._exit(0)  # it is not kept back
            """)
        report = self.report()
        self.assertEqual(report["step"], 5)
        self.assertGreaterEqual(report["load_s"], 0.01)
        self.assertGreaterEqual(report["save_s"], 0.01)

    def word(self):
        path = self.job.run_directory / "job" / "saved"
        return path.read_text() if path.exists() else None

    def test_who_was_not_asked_to_leave_says_nothing_of_its_saves(self):
        self.run_script("""
            import trainyard
            with trainyard.timed_save(): pass
            try:
                with trainyard.timed_save(): raise RuntimeError
            except RuntimeError: pass
            """)
        self.assertIsNone(self.word())

    def test_the_last_save_says_how_it_went(self):
        self.job.ask_to_leave()
        self.run_script("""
            import trainyard
            with trainyard.timed_save(): pass
            """)
        self.assertEqual(self.word(), "saved\n")

    def test_a_save_that_fails_is_said_whatever_another_worker_says(self):
        self.job.ask_to_leave()
        for said_before in (False, True):
            self.run_script("""
                import trainyard
                with trainyard.timed_save(): raise OSError("no room")
                """, status=1)
            self.run_script("import trainyard; trainyard.saved(); trainyard.saved()")
            self.assertEqual(self.word(), "failed: no room\n")
            self.job.begin()
            self.job.ask_to_leave()
            if not said_before:
                self.run_script("import trainyard; trainyard.saved()")
                self.assertEqual(self.word(), "saved\n")

    def test_a_failure_without_words_has_its_name(self):
        self.job.ask_to_leave()
        self.run_script("""
            import trainyard
            with trainyard.timed_save(): raise KeyboardInterrupt
            """, status=-signal.SIGINT)
        self.assertEqual(self.word(), "failed: KeyboardInterrupt\n")

    def test_a_report_that_cannot_be_written_is_no_failure(self):
        self.job.report.parent.rmdir()
        self.run_script("""
            import trainyard
            for i in range(3):
                trainyard.progress(i)
                with trainyard.timed_save(): pass
            """)
        self.assertEqual(self.errors.count("progress cannot be reported"), 1, self.errors)

    def test_a_forked_process_does_not_write_for_its_parent(self):
        self.run_script("""
            import os, sys, trainyard
            trainyard.progress(1)
            trainyard.progress(2)
            if os.fork() == 0:
                sys.exit()  # with what atexit does
            os.wait()
            os._exit(0)  # without
            """)
        self.assertEqual(self.step(), 1)


class StopTest(ScriptTest):
    WAITS = """
        import sys, time, trainyard
        assert not trainyard.should_stop()
        print("ready", flush=True)
        while not trainyard.should_stop(): time.sleep(0.001)
        print("stopped")
        """

    def test_each_way(self):
        ways = {number.name: lambda process, number=number: process.send_signal(number)
                for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)}
        ways["stop file"] = lambda process: self.job.ask_to_leave()
        for name, ask in ways.items():
            with self.subTest(name):
                process = self.start(self.WAITS)
                self.assertEqual(process.stdout.readline(), "ready\n")
                ask(process)
                self.assertEqual(process.communicate(timeout=60)[0], "stopped\n")
                self.assertEqual(process.returncode, 0)

    def test_who_never_asks_ends_as_ever(self):
        for number in (signal.SIGTERM, signal.SIGUSR1):
            self.run_script(f"""
                import os, trainyard
                trainyard.progress(1)
                os.kill(os.getpid(), {int(number)})
                """, status=-number)

    def test_handlers_before_ours_are_called(self):
        output = self.run_script("""
            import os, signal, trainyard
            for number in (signal.SIGTERM, signal.SIGUSR1):
                signal.signal(number, lambda number, frame: print("theirs", number))
            assert not trainyard.should_stop()
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGUSR1)
            print(trainyard.should_stop())
            """)
        self.assertEqual(output, "theirs 15\ntheirs 10\nTrue\n")

    def test_other_threads_may_ask_first(self):
        self.run_script("""
            import os, signal, threading, trainyard
            answers = []
            thread = threading.Thread(target=lambda: answers.append(trainyard.should_stop()))
            thread.start(); thread.join()
            assert answers == [False], answers
            assert not trainyard.should_stop()
            os.kill(os.getpid(), signal.SIGTERM)
            assert trainyard.should_stop()
            """)

    def test_forked_helpers(self):
        """What asks the script to save does not end them; SIGTERM, as pools use it, does."""
        self.run_script("""
            import multiprocessing, os, signal, trainyard
            def answer(pipe):
                while True:
                    pipe.send(pipe.recv())
            assert not trainyard.should_stop()
            here, there = multiprocessing.Pipe()
            helper = multiprocessing.get_context("fork").Process(target=answer, args=(there,),
                                                                 daemon=True)
            helper.start()
            for number in (signal.SIGUSR1, signal.SIGUSR2):
                here.send(1)
                here.recv()
                os.kill(helper.pid, number)
            here.send(2)
            assert here.recv() == 2
            helper.terminate()
            helper.join(20)
            assert helper.exitcode == -signal.SIGTERM, helper.exitcode
            """)


if __name__ == "__main__":
    unittest.main()
