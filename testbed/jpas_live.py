"""trainyard reproduce jpas --live: the study of docs/studies/jpas-live.md, on a network of namespaces.

Conditions and claims were fixed before the first run. Runs that are done stay in a file (--runs) until all are, so
that a study that is stopped goes on where it was. Ends with 77 where it cannot be done.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

import stand_in
import training
from network import Network, Unable, check_machine
from report import PAIRS, claims, report, Results

MBIT = 20
QUICK = {"A": 2, "B": 2, "C": 1, "training": 1}
BESIDE = {"smoke": ("fair", "jpas"), "two jobs": ("fair",)}  # with --only
TRIES = 3  # of a run that the machine was too busy for


def read_options():
    parser = argparse.ArgumentParser(prog="trainyard reproduce jpas --live")
    parser.add_argument("--trainyard", required=True)
    parser.add_argument("--runs", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--only", default="", choices=["", *PAIRS, "others", *BESIDE])
    parser.add_argument("--json", default="")
    parser.add_argument("--markdown", default="")
    return parser.parse_args()


def plan(options):
    """(cell, seed, policy) of all runs, the base cell first; the order of a pair alternates."""
    runs = []

    def add(cell, policies):
        count = options.seeds or (QUICK if options.quick else PAIRS)[cell]
        for seed in range(options.first_seed, options.first_seed + count):
            runs.extend((cell, seed, policy) for policy in (policies if seed % 2 else policies[::-1]))
    if options.only in BESIDE:
        return [(options.only, options.first_seed, policy) for policy in BESIDE[options.only]]
    for cell in PAIRS:
        missing = [name for name in training.NEEDS if importlib.util.find_spec(name) is None]
        if cell == "training" and missing:
            print(f"real training is left out: Python has no {' and no '.join(missing)}", file=sys.stderr)
        elif options.only in ("", cell):
            add(cell, ("fair", "jpas"))
    if not options.quick and options.only in ("", "others"):
        add("A", ("milestones", "jpas with a floor"))
    return runs


class Study:
    def __init__(self, options):
        self.options, self.folder = options, pathlib.Path(__file__).resolve().parent
        self.worker = pathlib.Path(__file__).absolute().parent / "trainyard-ring-worker"
        self.path = pathlib.Path(options.runs)
        self.runs = [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def is_done(self, cell, seed, policy):
        tried = [run for run in self.runs if (run["cell"], run["seed"], run["policy"]) == (cell, seed, policy)]
        return any(run["valid"] for run in tried) or len(tried) >= TRIES

    def run(self):
        for cell, seed, policy in plan(self.options):
            while not self.is_done(cell, seed, policy):
                begin = time.monotonic()
                hosts = training.HOSTS if cell == "training" else stand_in.CELLS[cell].hosts
                with Network(hosts, MBIT) as network:
                    if rules := network.foreign_rules():
                        raise RuntimeError(f"there are rules of others in a new namespace: {rules}")
                    measured = (self.train if cell == "training" else self.stand_in)(network, cell, seed, policy)
                self.keep({"cell": cell, "seed": seed, "policy": policy, **measured})
                print(f"{cell} {seed} {policy}: {time.monotonic() - begin:.0f} s"
                      f"{'' if measured['valid'] else ', invalid: the machine was too busy'}", file=sys.stderr, flush=True)

    def keep(self, run):
        self.runs.append(run)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as file:
            file.write(json.dumps(run) + "\n")

    def stand_in(self, network, cell, seed, policy):
        scenario = stand_in.Scenario(cell, seed, network.payload_per_s())
        with tempfile.TemporaryDirectory() as folder:
            simulator = stand_in.Simulated(self.options.trainyard, scenario, folder)
            simulator.run("fair")
            places = simulator.places()
            simulated = {"simulated": simulator.run(policy), "in_steps": simulator.run(policy, stand_in.STEPS)}
        measured = self.observed(lambda: stand_in.live_run(self.options.trainyard, self.worker, network, scenario, places,
                                                           policy))
        valid = measured["stretch"] is None or measured["stretch"] <= stand_in.TOO_BUSY
        return {**measured, **simulated, "valid": valid}

    def train(self, network, _cell, seed, policy):
        return {**self.observed(lambda: training.live_run(self.options.trainyard, network, training.Jobs(seed), policy)),
                "valid": True}

    @staticmethod
    def observed(run):
        before = os.getloadavg()[0]
        measured = run()
        return {**measured, "load": (before + os.getloadavg()[0]) / 2}


def write(path, text):
    if path == "-":
        print(text)
    elif path:
        pathlib.Path(path).write_text(text + "\n")


def main():
    options = read_options()
    # Its namespaces and processes go, however it is told to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(130))
    try:
        check_machine()
        study = Study(options)
        study.run()
    except Unable as reason:
        print(f"skipped: {reason}")
        return 77
    text = report(study.runs)
    write(options.markdown, text)
    write(options.json, json.dumps({"claims": claims(Results(study.runs)), "runs": study.runs}, indent=1))
    if "-" not in (options.markdown, options.json):
        print(text)
    if not options.only:
        study.path.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
