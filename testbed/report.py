"""What the runs say of the claims, which were fixed before any of them; as Markdown."""
import math
import statistics

PAIRS = {"A": 10, "B": 10, "C": 5, "training": 8}
NAMES = {"A": "A: n 12, phi 1, e 0.1, omega 2", "B": "B: n 12, phi 2, e 0.1, omega 1",
         "C": "C, where it must not help: n 12, phi 1, e 0.3, omega 0",
         "training": "real training: 6 jobs of 3 DDP workers, 6 hosts"}
# Student's t for 95%, by degrees of freedom; beyond these the normal's.
T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)


class Interval:
    """The mean of pairs, and the half width of its 95% interval; infinite for a single one."""

    def __init__(self, values):
        self.count, self.mean = len(values), statistics.mean(values)
        self.half = math.inf
        if self.count > 1:
            t = T[self.count - 2] if self.count - 2 < len(T) else 1.96
            self.half = t * statistics.stdev(values) / math.sqrt(self.count)
        self.low = self.mean - self.half

    def __str__(self):
        return f"{100 * self.mean:.1f}" + (f" ± {100 * self.half:.1f}" if math.isfinite(self.half) else "")


def mean_of(run, what):
    return statistics.mean(job[what] for job in run["jobs"])


def reduction(fair, other, what):
    return 1 - mean_of(other, what) / mean_of(fair, what)


class Results:
    """Runs by (cell, policy, seed)."""

    def __init__(self, runs):
        self.runs = {(run["cell"], run["policy"], run["seed"]): run for run in runs if run["valid"]}

    def pairs(self, cell, policy="jpas"):
        return [(self.runs[cell, "fair", seed], run) for (at, name, seed), run in sorted(self.runs.items())
                if (at, name) == (cell, policy) and (cell, "fair", seed) in self.runs]

    def reductions(self, cell, what, policy="jpas"):
        return [reduction(fair, other, what) for fair, other in self.pairs(cell, policy)]

    def in_pairs(self, cells):
        return [run for cell in cells for pair in self.pairs(cell) for run in pair if "simulated" in run]


def simulated_reduction(fair, other):
    return 1 - other["simulated"]["t95"] / fair["simulated"]["t95"]


def errors(runs, how="simulated"):
    """Of completion times, simulated over live; `how` may be "in_steps" (docs/network.md)."""
    return [simulated / job["jct"] - 1 for run in runs for simulated, job in zip(run[how]["jct"], run["jobs"])]


def quantile(values, part):
    """Between the two nearest, in proportion."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def percent(share):
    return f"{100 * share:.1f}"


def gains(results, cell, least, low):
    """Open: the mean is there, and too few pairs to say how sure that is."""
    found = [Interval(results.reductions(cell, what)) for what in ("t90", "t95")]
    holds = all(one.mean >= least for one in found)
    if holds and any(one.low <= low for one in found):
        holds = None
    return holds, ", ".join(f"{name} {one} %" for name, one in zip(("d90", "d95"), found))


def no_gain(results):
    found = Interval(results.reductions("C", "t95"))
    return found.mean <= 0, f"d95 {found} %"


def times_as_simulated(results, cells):
    off = [abs(mean_of(run, what) / run["simulated"][what] - 1) for run in results.in_pairs(cells)
           for what in ("t90", "t95")]
    return max(off) <= .12, f"at most {percent(max(off))} % off, in the median {percent(statistics.median(off))} %"


def gains_as_simulated(results, cells):
    off = [abs(reduction(fair, other, "t95") - simulated_reduction(fair, other))
           for cell in cells for fair, other in results.pairs(cell)]
    return max(off) <= .08, f"at most {percent(max(off))} points off"


def ends_as_simulated(results, cells):
    off = [abs(error) for error in errors(results.in_pairs(cells))]
    return (statistics.median(off) <= .08 and quantile(off, .95) <= .25,
            f"median {percent(statistics.median(off))} %, p95 {percent(quantile(off, .95))} %")


def cost(results, cells):
    rises = {cell: statistics.mean(-change for change in results.reductions(cell, "jct")) for cell in cells}
    return (max(rises.values()) <= .15,
            ", ".join(f"{cell} {percent(rise)} %" for cell, rise in rises.items()))


def claims(results):
    """(claim, measured, verdict), of those for which there is at least one pair."""
    has = [cell for cell in PAIRS if results.pairs(cell)]
    simulated = [cell for cell in has if cell != "training"]
    told = [("A: mean d90 and d95 at least 20%, their intervals above 12%", ["A"], lambda: gains(results, "A", .20, .12)),
            ("B: mean d90 and d95 at least 38%, their intervals above 33%", ["B"], lambda: gains(results, "B", .38, .33)),
            ("C: the mean time to 95% does not fall", ["C"], lambda: no_gain(results)),
            ("real training: d90 and d95 at least 12%, their intervals above 5%", ["training"],
             lambda: gains(results, "training", .12, .05)),
            ("in each run the mean times to 90 and 95% are within 12% of the simulator's", simulated,
             lambda: times_as_simulated(results, simulated)),
            ("in each pair of A and B live d95 is within 8 points of the simulated one", ["A", "B"],
             lambda: gains_as_simulated(results, [cell for cell in ("A", "B") if cell in has])),
            ("a job's completion time is within 8% of the simulator's in the median, 25% at p95", simulated,
             lambda: ends_as_simulated(results, simulated)),
            ("the mean completion time rises by at most 15%", has, lambda: cost(results, has))]
    rows = []
    for claim, cells, measure in told:
        if not set(cells) & set(has):
            rows.append((claim, "", "not run"))
            continue
        holds, measured = measure()
        missing = [f"{len(results.pairs(cell))} of {PAIRS[cell]} pairs of {cell}" for cell in cells
                   if len(results.pairs(cell)) < PAIRS[cell]]
        verdict = {True: "holds", None: "open", False: "fails"}[holds]
        rows.append((claim, measured, verdict + (f" ({', '.join(missing)})" if missing else "")))
    return rows


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def cells_table(results):
    rows = []
    for cell, policy in [(cell, "jpas") for cell in PAIRS] + [("A", "milestones"), ("A", "jpas with a floor")]:
        pairs = results.pairs(cell, policy)
        if not pairs:
            continue
        by_job = [1 - after["t95"] / before["t95"] for fair, other in pairs
                  for before, after in zip(fair["jobs"], other["jobs"])]
        simulated = [simulated_reduction(*pair) for pair in pairs if all("simulated" in run for run in pair)]
        fair, other = (statistics.mean(mean_of(pair[at], "t95") for pair in pairs) for at in (0, 1))
        ends = [statistics.mean(mean_of(pair[at], "jct") for pair in pairs) for at in (0, 1)]
        rows.append((NAMES[cell], policy, len(pairs), Interval(results.reductions(cell, "t90", policy)),
                     Interval(results.reductions(cell, "t95", policy)), Interval(simulated) if simulated else "",
                     f"{fair:.2f} -> {other:.2f}", f"{ends[0]:.1f} -> {ends[1]:.1f}",
                     f"{100 * max(by_job):.0f} / {100 * min(by_job):.0f}"))
    return table(("cell", "policy", "pairs", "d90 (%)", "d95 (%)", "simulated d95 (%)", "time to 95% (s)",
                  "mean completion time (s)", "best / worst job, d95 (%)"), rows)


def pairs_table(results):
    rows = []
    for cell in PAIRS:
        for policy in ("jpas", "milestones", "jpas with a floor"):
            for fair, other in results.pairs(cell, policy):
                simulated = "simulated" in fair and "simulated" in other
                rows.append((cell, policy, other["seed"], percent(reduction(fair, other, "t90")),
                             percent(reduction(fair, other, "t95")),
                             percent(simulated_reduction(fair, other)) if simulated else "",
                             percent(-reduction(fair, other, "jct")), other["changes"],
                             f"{fair['load']:.0f}, {other['load']:.0f}"))
    return table(("cell", "policy", "seed", "d90 (%)", "d95 (%)", "simulated d95 (%)", "completion time (+%)",
                  "changes of class", "load of the machine"), rows)


def fidelity_table(results):
    rows = []
    for cell, policy in sorted({(cell, policy) for cell, policy, _ in results.runs}):
        runs = [run for (at, name, _), run in results.runs.items() if (at, name) == (cell, policy) and "simulated" in run]
        if not runs:
            continue
        for how, name in (("simulated", "one stream"), ("in_steps", "in steps")):
            if not all(how in run for run in runs):
                continue
            off = errors(runs, how)
            rows.append((NAMES.get(cell, cell), policy, name, len(off), percent(statistics.median(map(abs, off))),
                         percent(quantile(list(map(abs, off)), .95)), f"{100 * statistics.mean(off):+.1f}"))
    return table(("cell", "policy", "a collective is", "jobs", "median (%)", "p95 (%)", "mean, signed (%)"), rows)


def report(runs):
    results = Results(runs)
    invalid = [run for run in runs if not run["valid"]]
    late = [late for run in runs for late in run["late_s"]]
    return f"""## Claims

{table(("claim", "measured", "verdict"), claims(results))}
## Cells

The reduction of the mean time over jobs, against fair sharing; ± is the 95% interval over pairs of one seed.

{cells_table(results)}
## Pairs

{pairs_table(results)}
## Simulator against testbed

A job's completion time, simulated over live, less 1.

{fidelity_table(results)}
{len(invalid)} runs were invalid and done again. A job's first iteration began {statistics.median(late):.2f} s after its arrival in the
median, {max(late):.2f} s at most; its times count from then on.
"""
