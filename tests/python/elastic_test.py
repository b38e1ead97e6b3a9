"""Trainings whose number of workers changes, and workers that share a batch by their speed: real
processes over gloo, every sample once an epoch, and the gradient of the batch that was not shared."""

import json
import math
import signal
import unittest

import torch  # noqa: F401  (workers are forked with it loaded)

from examples_test import documented
from job import PAUSED, ROOT, TRAIN, Job, SeededTest, wait_until
from pause_test import at_step, finished_line, send

SHARED = ROOT / "tests" / "python" / "shared.py"
STEPS = 15  # of shared.py: three epochs of five


def speeds(values):
    """The sampler of this process shares by these from the first batch on."""
    from trainyard import _proportional
    made = _proportional.ProportionalSampler.__init__

    def init(self, *arguments, **options):
        made(self, *arguments, **options)
        self._speeds = self._agreed = values[:self._world]

    _proportional.ProportionalSampler.__init__ = init


def takes(seconds_a_sample):
    """What the sampler of this process measures."""
    from trainyard import _proportional

    def end_lap(self):
        lap = self._laps[-1]
        lap[2] = lap[1] + lap[0] * seconds_a_sample

    _proportional.ProportionalSampler._end_lap = end_lap


class ElasticTest(SeededTest):
    def job(self, name, workers, measure_every=0, loaders=0):
        return Job(self.folder / name, SHARED, [measure_every, loaders], workers)

    def ends(self, job, status, prepare=None):
        ended = job.run(prepare)
        self.assertEqual(ended, [status] * job.workers,
                         "\n".join(map(job.output, range(job.workers))))

    @staticmethod
    def lines(job, rank):
        return [json.loads(line) for line in job.output(rank).splitlines()]

    def steps(self, job):
        """By step: (epoch, samples of each worker, gradient), of the last run."""
        by_rank = [self.lines(job, rank) for rank in range(job.workers)]
        together = {}
        for of_step in zip(*by_rank):
            for told in of_step[1:]:
                self.assertEqual((told["step"], told["gradient"]),
                                 (of_step[0]["step"], of_step[0]["gradient"]))
            together[of_step[0]["step"]] = (of_step[0]["epoch"],
                                            [told["samples"] for told in of_step],
                                            of_step[0]["gradient"])
        self.assertEqual({len(lines) for lines in by_rank}, {len(together)})
        return together

    def unshared(self):
        job = self.job("unshared", workers=1)
        self.ends(job, 0)
        return self.steps(job)

    def same(self, steps, unshared):
        """The same samples in every step, and the same gradient but for rounding."""
        self.assertEqual(sorted(steps), list(range(STEPS)))
        for step, (epoch, samples, gradient) in steps.items():
            expected_epoch, expected_samples, expected = unshared[step]
            self.assertEqual(epoch, expected_epoch)
            self.assertEqual(sum(samples, []), expected_samples[0], step)
            for ours, theirs in zip(gradient, expected):
                self.assertTrue(math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12),
                                (step, ours, theirs))

    def test_unequal_shares_give_the_gradient_of_the_unshared_batch(self):
        unshared = self.unshared()
        for name, values, full, last in (("equal", [1, 1, 1], [4, 3, 3], [2, 2, 1]),
                                         ("unequal", [6, 1, 3], [6, 1, 3], [3, 1, 1]),
                                         ("one has none", [60, 1, 39], [6, 0, 4], [3, 0, 2])):
            with self.subTest(name):
                job = self.job(name, workers=3)
                self.ends(job, 0, lambda rank: speeds(values))
                steps = self.steps(job)
                self.same(steps, unshared)
                self.assertEqual([len(part) for part in steps[0][1]], full)
                self.assertEqual([len(part) for part in steps[4][1]], last)

    def test_a_faster_worker_gets_more_also_of_loaders_that_read_ahead(self):
        unshared = self.unshared()
        for loaders in (0, 2):
            with self.subTest(loaders=loaders):
                job = self.job(f"loaders {loaders}", workers=2, measure_every=3, loaders=loaders)
                self.ends(job, 0, lambda rank: takes((0.001, 0.004)[rank]))
                steps = self.steps(job)
                self.same(steps, unshared)
                sizes = [[len(part) for part in samples] for _, samples, _ in steps.values()]
                self.assertEqual(sizes[0], [5, 5])
                self.assertEqual(sizes[-2:], [[8, 2], [4, 1]])
                self.assertGreaterEqual(sizes.index([8, 2]), 3)

    def test_the_wait_for_others_is_not_measured(self):
        """Worker 1 is not done before worker 0 has taken its time: if that came after its wait for
        worker 1, neither would ever end."""
        job = self.job("waits", workers=2, measure_every=100)
        measured = self.folder / "measured"

        def prepare(rank):
            from trainyard import _proportional
            if rank == 1:
                return at_step(0, lambda: wait_until(measured.exists, "the time of worker 0"))
            end_lap = _proportional.ProportionalSampler._end_lap

            def noted(self):
                end_lap(self)
                measured.touch()

            _proportional.ProportionalSampler._end_lap = noted

        self.ends(job, 0, prepare)

    def test_every_sample_once_an_epoch_with_changing_workers(self):
        unshared = self.unshared()
        job = self.job("job", workers=self.random.randint(1, 4))
        done, steps = 0, {}
        for step in sorted(self.random.sample(range(1, STEPS), 3)) + [STEPS]:
            values = [self.random.uniform(0.5, 5) for _ in range(4)]

            def prepare(rank):
                speeds(values)
                if step < STEPS:
                    at_step(step - done - 1, send(signal.SIGTERM))
            self.ends(job, PAUSED if step < STEPS else 0, prepare)
            steps |= self.steps(job)
            done = step
            job.workers = self.random.choice([n for n in range(1, 5) if n != job.workers])
        self.same(steps, unshared)

    def test_the_documented_example(self):
        """Ends with the weights of one worker, but for rounding."""
        script = self.folder / "elastic.py"
        script.write_text(documented("elastic"), encoding="utf-8")

        def finished(job):
            self.ends(job, 0)
            words = job.output().splitlines()[-1].split(" ", 2)
            self.assertEqual(words[:2], ["finished:", "300"])
            return torch.cat([torch.tensor(part).flatten() for part in json.loads(words[2])])

        alone = finished(Job(self.folder / "alone", script))
        job = Job(self.folder / "job", script, workers=2)
        done = 0
        for step, workers in zip(sorted(self.random.sample(range(1, 300), 2)), (3, 1)):
            self.ends(job, PAUSED, lambda rank: at_step(step - done - 1, send(signal.SIGTERM)))
            done, job.workers = step, workers
        self.assertTrue(torch.allclose(finished(job), alone, rtol=1e-3, atol=1e-4))

    def test_batches_of_a_fixed_size_for_each_worker(self):
        """With a ResumableSampler, whose checkpoints any number of workers reads too."""
        job = Job(self.folder / "job", TRAIN, ["--steps", 30, "--images", 240, "--batch", 8,
                                              "--width", 4], workers=2)
        self.ends(job, PAUSED, lambda rank: at_step(9, send(signal.SIGTERM)))
        job.workers = 3
        self.ends(job, PAUSED, lambda rank: at_step(9, send(signal.SIGTERM)))
        job.workers = 1
        self.ends(job, 0)
        self.assertIn("goes on after step 20\n", job.output())
        self.assertRegex(finished_line(job), "^finished: 30 steps")


if __name__ == "__main__":
    unittest.main()
