#!/usr/bin/env bash
# The pages on the simulator are held to the program: the commands that stand in them run, the output
# that README and docs/models.md show is what comes out, every generator is told of, and every example is read.
# What docs/extending.md quotes stands in the file that it names, and links lead to files that are there.
set -euo pipefail
: "${TRAINYARD:?the program to test}"
exec /usr/bin/python3 -B - "$(realpath "$TRAINYARD")" <<'END'
import os, pathlib, re, shlex, subprocess, sys, tempfile

program = sys.argv[1]
pages = {path: path.read_text() for path in map(pathlib.Path, [
    "README.md", "docs/clusters.md", "docs/generators.md", "docs/models.md", "docs/output.md",
    "docs/policies.md", "docs/workloads.md"])}
page = lambda name: pages[pathlib.Path(name)]
work = tempfile.TemporaryDirectory()
problems = []


def run(arguments):
    return subprocess.run([program, *arguments], cwd=work.name, text=True, capture_output=True,
                          env={**os.environ, "XDG_STATE_HOME": work.name, "LC_ALL": "C.UTF-8"})


def blocks(text):
    """Indented and fenced ones, each without its frame."""
    for fenced, indented in re.findall(r"^```\w*\n(.*?)^```$|((?:^    [^\n]*\n)+)", text, re.M | re.S):
        yield fenced or re.sub("^    ", "", indented, flags=re.M)


def commands(text):
    """Those of the simulator that need nothing but what the pages give."""
    for block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True) if re.match(r"(build/)?trainyard ", line) else []
            if words[1:2] and words[1] in ("sim", "compare", "bound", "workload", "models", "policies", "reproduce"):
                needs_more = any(re.search(r"\.(csv|html|toml|txt|swf|gz|zst)$|^[A-Z]+$", w) and w not in given
                                 for w in words[2:]) or words[1:3] == ["reproduce", "fitgpp"] or "--live" in words
                if not needs_more:
                    yield words[1:]


given = {"jobs.csv", "report.html"}
trace = next(b for b in blocks(page("README.md")) if b.startswith("submit,duration"))
pathlib.Path(work.name, "jobs.csv").write_text(trace)

ran = 0
for path, text in pages.items():
    for arguments in commands(text):
        done = run(arguments)
        ran += 1
        if done.returncode != 0:
            problems.append(f"{path}: trainyard {shlex.join(arguments)}: {done.stderr.strip()}")
if ran < 10:
    problems.append(f"only {ran} commands were found in the pages")

shown = next(b for b in blocks(page("README.md")) if b.startswith("philly-like:"))
example = next(c for c in commands(page("README.md")) if c[0] == "compare")
if (printed := run(example).stdout) != shown:
    problems.append(f"README.md shows another table than\n{printed}")
catalogue = next(b for b in blocks(page("docs/models.md")) if b.startswith("model "))
if not (printed := run(["models"]).stdout).startswith(catalogue):
    problems.append(f"docs/models.md shows another catalogue than\n{printed}")

for name in re.findall(r"^([a-z-]+): ", run(["workload", "generate", "--help"]).stdout, re.M):
    if f"\n## {name}\n" not in page("docs/generators.md"):
        problems.append(f"docs/generators.md does not tell of {name}")
for sample in pathlib.Path("examples/workloads").iterdir():
    done = run(["workload", "info", str(sample.resolve())])
    if done.returncode != 0:
        problems.append(f"{sample}: {done.stderr.strip()}")

extending = pathlib.Path("docs/extending.md").read_text()
quotes = re.findall(r"^```\w+ (\S+)\n(.*?)^```$", extending, re.M | re.S)
if len(quotes) < 4:
    problems.append(f"docs/extending.md quotes {len(quotes)} times, but has an example in each of four sections")
for name, code in quotes:
    if not pathlib.Path(name).exists() or code not in pathlib.Path(name).read_text():
        problems.append(f"docs/extending.md quotes what is not in {name}:\n{code}")
for path in [pathlib.Path("README.md"), *pathlib.Path("docs").rglob("*.md")]:
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", text):
        if not (path.parent / link).exists():
            problems.append(f"{path} links to {link}, which is not there")

if problems:
    sys.exit("FAILED: " + "\nFAILED: ".join(problems))
print(f"{ran} commands of the pages run, and what the pages show is so")
END
