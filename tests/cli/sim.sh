#!/usr/bin/env bash
# The commands sim, compare, bound and policies, as a person or a script uses them.
set -euo pipefail
: "${TRAINYARD:?the program to test}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect WHAT PATTERN FILE: the file has a line that matches.
expect() {
  grep -qE -- "$2" "$3" || { cat "$3" >&2; fail "$1: nothing matches '$2'"; }
}

# refuses PATTERN ARGS...: status 2, a message that matches, and nothing on standard output.
refuses() {
  local pattern=$1 status=0
  shift
  "$TRAINYARD" "$@" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" = 2 ] || fail "'$*' ended with status $status instead of 2"
  expect "'$*'" "$pattern" "$work/err"
  [ ! -s "$work/out" ] || fail "'$*' printed to standard output"
}

cat >"$work/jobs.csv" <<'END'
id,submit,duration,workers,gpus,class,user
a,0,100,1,8,batch,ada
b,10,50,1,8,batch,bob
c,20,10,1,4,trial,ada
END

# --- whatif --sacct ---
cat >"$work/sacct.txt" <<'END'
JobID|User|Submit|Start|Elapsed|State|Timelimit|AllocTRES|Comment
1|ada|2024-03-04T08:00:00|2024-03-04T08:00:00|10:00:00|COMPLETED|12:00:00|gres/gpu=8|
2|bob|2024-03-04T08:10:00|2024-03-04T18:00:00|00:10:00|COMPLETED|00:20:00|gres/gpu=1|trainyard: class=trial a|b
3|bob|2024-03-04T08:10:00|2024-03-04T18:00:00|00:10:00|COMPLETED|00:20:00|gres/gpu=64|
END
"$TRAINYARD" whatif --sacct "$work/sacct.txt" --cluster 1x8xV100 --drop-larger >"$work/text" 2>"$work/err"
expect "what was recorded" "^recorded +2 +10h 10m .* 0$" "$work/text"
expect "as Slurm would" "^fifo-easy, simulated +2 +10h 10m .* 0$" "$work/text"
expect "the trial job goes first" "^trainyard, simulated +2 .* 1$" "$work/text"
expect "what does not fit" "1 of 3 jobs left out" "$work/err"
expect "the better of them" "^Next: .* --dry-run --policy trainyard$" "$work/err"
"$TRAINYARD" whatif --sacct "$work/sacct.txt" --cluster 1x8xV100 --drop-larger --policy srtf,fifo-easy >"$work/text" 2>"$work/err"
expect "the better one, wherever it stands" "^Next: .* --dry-run --policy srtf$" "$work/err"
"$TRAINYARD" whatif --sacct "$work/sacct.txt" --cluster 1x8xV100 --drop-larger --policy srtf,fifo >"$work/text" 2>"$work/err"
expect "its error is not known" "nothing is recommended: .* seen from fifo-easy" "$work/err"
"$TRAINYARD" whatif --sacct "$work/sacct.txt" --cluster 8x8xV100 --trial-below 1h --policy fifo --json >"$work/json" 2>"$work/err"
expect "a rule for trial jobs" "1 of 3 jobs are trial jobs" "$work/err"
expect "json" '"policy":"fifo, simulated"' "$work/json"
refuses "--sacct needs --cluster" whatif --sacct "$work/sacct.txt"
refuses "take a larger cluster" whatif --sacct "$work/sacct.txt" --cluster 1x8xV100
refuses "are for --sacct" whatif --trial-below 1h
head -n 1 "$work/sacct.txt" >"$work/none.txt"
refuses "no job in it" whatif --sacct "$work/none.txt" --cluster 1x8xV100

# --- sim ---
"$TRAINYARD" sim --workload "$work/jobs.csv" --cluster 1x8xV100 --policy fifo >"$work/text"
expect "text" "3 of 3 jobs finished, makespan 2m 40s" "$work/text"
expect "classes" "^trial \(1\)" "$work/text"
expect "one unit a line" "^  JCT \(min\) +2\.11 +2\.33 +2\.33 +2\.33 +2\.33$" "$work/text"

"$TRAINYARD" sim --workload "$work/jobs.csv" --cluster 1x8xV100 --policy fifo --json - \
  --jobs-csv "$work/table.csv" --timeline "$work/timeline.json" >"$work/json"
expect "json" '"makespan_s": 160' "$work/json"
expect "json" '"finished": 3' "$work/json"
expect "job table" '^c,ada,trial,4,20,150,160,140,130,14,0,0,done$' "$work/table.csv"
python3 -c '
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
bars = [e for e in events if e["ph"] == "X"]
rows = [e for e in events if e["ph"] == "M" and e["name"] == "thread_name"]
assert len(rows) == 8, rows
assert len(bars) == 8 + 8 + 4, bars
assert sum(e["dur"] for e in bars) == (800 + 400 + 40) * 10**6, bars
' "$work/timeline.json" || fail "the timeline"

# Of the same run the seconds from 110 to 130, packed: the end of one bar and a part of another.
"$TRAINYARD" sim --workload "$work/jobs.csv" --cluster 1x8xV100 --policy fifo \
  --timeline "$work/part.json.gz" --timeline-from 90 --timeline-to 130 >"$work/text"
gzip -dc "$work/part.json.gz" | python3 -c '
import json, sys
bars = [e for e in json.load(sys.stdin)["traceEvents"] if e["ph"] == "X"]
assert len(bars) == 16 and sum(e["dur"] for e in bars) == 8 * 40 * 10**6, bars
assert min(e["ts"] for e in bars) == 90 * 10**6, bars
' || fail "a part of the timeline"
refuses "must be after --timeline-from" sim --workload "$work/jobs.csv" --cluster 1x8xV100 \
  --timeline "$work/none.json" --timeline-from 2h --timeline-to 1h

"$TRAINYARD" sim --workload "$work/jobs.csv" --cluster 1x8xV100 --queue-at 30 >"$work/queue"
expect "queue" '^ +1 +b +batch +8 +20s +1m 10s +resources: needs 8 GPUs on one machine; 0 free$' "$work/queue"
expect "queue" '^ +2 +c +trial .* behind job b' "$work/queue"

# A duration holds for a kind of GPU and a size.
cat >"$work/kinds.csv" <<'END'
id,submit,duration,workers,model,measured_on
one,0,100,1,ResNet-50,P100
other,0,100,1,,P100
elastic,0,100,2..8,,V100
plain,0,100,1,,
END
"$TRAINYARD" sim --workload "$work/kinds.csv" --cluster 1x8xV100 --policy fifo \
  --jobs-csv "$work/table.csv" >"$work/text"
expect "the model's speed on both" '^one,,batch,1,0,0,59\.786477,' "$work/table.csv"
expect "the kinds in general" '^other,,batch,1,0,0,60,' "$work/table.csv"
expect "the size that the duration holds for" '^elastic,,batch,2,0,0,100,' "$work/table.csv"
expect "a duration for every kind" '^plain,,batch,1,0,0,100,' "$work/table.csv"
"$TRAINYARD" workload info "$work/kinds.csv" >"$work/text"
expect "elastic jobs" '^elastic +1 job' "$work/text"
sed 's/P100/P10O/' "$work/kinds.csv" >"$work/slip.csv"
refuses "job one was measured on GPUs of kind 'P10O', .*did you mean 'P100'" \
  sim --workload "$work/slip.csv" --cluster 1x8xV100
sed 's/2\.\.8/8..2/' "$work/kinds.csv" >"$work/slip.csv"
refuses "slip.csv:4: field 'workers': value '8..2' ends before it begins; write 2..8" \
  sim --workload "$work/slip.csv" --cluster 1x8xV100

# Without users trial jobs have no allowance, which is said where it matters.
cut -d, -f1-6 "$work/jobs.csv" >"$work/nobody.csv"
for policy in fifo fitgpp; do
  "$TRAINYARD" sim --workload "$work/nobody.csv" --cluster 1x8xV100 --policy "$policy" >"$work/out" 2>"$work/$policy"
done
[ ! -s "$work/fifo" ] || fail "fifo does not look at classes: $(cat "$work/fifo")"
expect "no allowance" "note: the workload names no users, so trial jobs have no allowance" "$work/fitgpp"
"$TRAINYARD" compare --workload "$work/nobody.csv" --cluster 1x8xV100 --policy fifo,fitgpp >"$work/out" 2>"$work/err"
expect "no allowance" "note: the workload names no users" "$work/err"
"$TRAINYARD" sim --workload "$work/jobs.csv" --cluster 1x8xV100 --policy fitgpp >"$work/out" 2>"$work/err"
[ ! -s "$work/err" ] || fail "a note about users that there are: $(cat "$work/err")"

# The same seed gives the same bytes, whatever is measured of the machine aside.
run=(sim --workload philly-like:jobs=3000,load=0.9,trial=0.3,save=10 --cluster 8x8xV100
  --policy "order=fifo backfill=greedy preempt=random" --faults mtbf=20d,repair=4h --seed 7)
for i in 1 2; do
  "$TRAINYARD" "${run[@]}" --json "$work/$i.json" --jobs-csv "$work/$i.csv" >/dev/null
  sed -i '/"decision_us"/,/}/d; /"wall_s"\|"events_per_s"\|"jobs_per_s"/d' "$work/$i.json"
done
cmp "$work/1.json" "$work/2.json" || fail "the same seed gave other figures"
cmp "$work/1.csv" "$work/2.csv" || fail "the same seed gave another schedule"

# --- compare ---
"$TRAINYARD" compare --workload philly-like:jobs=500,load=0.9 --cluster 4x8xV100 \
  --policy fifo,srtf,"order=las place=best-fit" --seeds 2 --threads 2 --json "$work/compare.json" \
  --report "$work/report.html" >"$work/text" 2>"$work/err"
expect "table" '^srtf ' "$work/text"
expect "intervals" '"intervals"' "$work/compare.json"
expect "report" '</html>' "$work/report.html"
[ "$(grep -cE '"makespan_s": [0-9]' "$work/compare.json")" = 6 ] || fail "compare has not 3 x 2 results"

# --- bound ---
"$TRAINYARD" bound --workload "$work/jobs.csv" --cluster 1x8xV100 >"$work/text" 2>"$work/err"
expect "the bound" '^No scheduler has a mean JCT below [0-9.]+ (s|min) \([0-9]+ s\)' "$work/text"
expect "the run times" '^If no job ever waited it would be .* \(53 s\)' "$work/text"
expect "the prices" '^Price of a GPU-second' "$work/text"
"$TRAINYARD" bound --workload "$work/jobs.csv" --cluster 9x8xV100 >"$work/text" 2>"$work/err"
expect "GPUs for all" '^GPUs are not scarce at any time' "$work/text"
two=(--workload philly-like:jobs=500,load=0.9 --cluster 4x8xV100 --seeds 2)
for threads in 1 2; do "$TRAINYARD" bound "${two[@]}" --threads $threads --json - >"$work/$threads.json" 2>"$work/err"; done
cmp "$work/1.json" "$work/2.json" || fail "the number of threads changed the bound"
"$TRAINYARD" compare "${two[@]}" --policy fifo,srsf --bound --report "$work/bound.html" \
  --json "$work/bound.json" >"$work/text" 2>"$work/err"
expect "its row" '^lower bound  .* - ' "$work/text"
expect "its plot" 'What GPU time was worth' "$work/bound.html"
expect "how to repeat it" 'srsf --bound --seed 1 --seeds 2' "$work/bound.html"
python3 -c '
import json, sys
alone, beside = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("1", "bound"))
assert alone["bounds"] == beside["bounds"], "bound and compare --bound differ"
for run in beside["results"]:
    bound = next(b for b in alone["bounds"] if b["seed"] == run["seed"])
    assert bound["mean_run_s"] < bound["mean_jct_s"] <= run["jct_s"]["mean"], (bound, run)
' "$work" || fail "the bound of two seeds"
refuses "--bound is for a cluster without failures" \
  compare "${two[@]}" --policy fifo --bound --faults mtbf=30d,repair=4h
refuses "no-such-file.csv: cannot be opened" bound --workload no-such-file.csv
refuses "job a needs 1 worker of 8 GPUs" bound --workload "$work/jobs.csv" --cluster 4x4xV100

# --- policies ---
"$TRAINYARD" policies >"$work/text"
for name in fifo fifo-easy sjf srtf las tiresias consolidate by-level fair equal-split; do
  expect "policies" "^ +$name " "$work/text"
done
"$TRAINYARD" policies tiresias >"$work/text"
expect "a preset" 'place.wait_for' "$work/text"
expect "its source" 'NSDI 2019' "$work/text"

# --- what is wrong is said, and nothing is left behind ---
jobs=(--workload "$work/jobs.csv")
refuses "unknown policy 'fifi', did you mean 'fifo'\?" sim "${jobs[@]}" --policy fifi
refuses "unknown order stage 'srft', did you mean 'srtf'\?" sim "${jobs[@]}" --policy order=srft
refuses "unknown parameter of order=las, 'threshold', did you mean 'thresholds'\?" \
  sim "${jobs[@]}" --policy las --set order.threshold=1h
refuses "order.thresholds: '1x' is not a duration" sim "${jobs[@]}" --policy las --set order.thresholds=1x
refuses "joint=equal-split decides without stages, so 'order=srtf' has no effect" \
  sim "${jobs[@]}" --policy "joint=equal-split order=srtf"
refuses "order=fifo has no parameters" sim "${jobs[@]}" --set order.x=1
refuses "job a needs 1 worker of 8 GPUs.*--drop-larger" sim "${jobs[@]}" --cluster 4x4xV100
refuses "no-such-file.csv: cannot be opened" sim --workload no-such-file.csv
refuses "'16x8' is not a cluster" sim "${jobs[@]}" --cluster 16x8
refuses "there is no machine|there is no 'r9m9'" sim "${jobs[@]}" --faults <(echo "5s,r9m9,down")
refuses "out.json: cannot be written" sim "${jobs[@]}" --json "$work/missing/out.json" --cluster 1x8xV100
refuses "there is no policy or stage member 'fitgp'" policies fitgp
refuses "given twice" compare "${jobs[@]}" --cluster 1x8xV100 --policy fifo,fifo

# What pauses were expected to gain, with costs that the workload brings and wrong estimates.
"$TRAINYARD" sim --workload poisson:jobs=300,mean=10m,load=1,pause=helios,pause_scale=2 --cluster 1x4xV100 \
  --policy xion --set queue.error=0.5 --json "$work/xion.json" >"$work/xion"
expect "sim under xion" "^the policy expected its pauses to gain [0-9.]+ hours of completion time; they gained" "$work/xion"
expect "its JSON" '"pause_gain_s"' "$work/xion.json"
refuses "queue.estimates: 'guess' is not one of: declared, attained, history" \
  sim "${jobs[@]}" --policy xion --set queue.estimates=guess
refuses "trace: file=... is missing" sim --workload trace:jobs=5 --cluster 1x8xV100

# What pauses cost is named; a trace that does not say has costs, unless they are to be free.
printf 'submit,duration\n0,1000\n500,100\n' >"$work/two.csv"
two=(--workload "$work/two.csv" --cluster 1x1xV100 --policy srtf)
"$TRAINYARD" sim "${two[@]}" --json "$work/two.json" >"$work/text"
expect "modelled pauses" '^pauses are modelled, as the workload does not say' "$work/text"
expect "their cost" '"lost_gpu_s": 7.0' "$work/two.json"
expect "their name" '"pause_costs": "modelled"' "$work/two.json"
"$TRAINYARD" sim "${two[@]}" --pauses free --json "$work/two.json" >"$work/text"
expect "free pauses" '^pauses are free' "$work/text"
expect "free pauses" '"lost_gpu_s": 0.0' "$work/two.json"
"$TRAINYARD" compare "${two[@]}" --json "$work/two.json" >"$work/text"
expect "modelled pauses" '^pauses are modelled' "$work/text"
expect "their name" '"pause_costs": "modelled"' "$work/two.json"
"$TRAINYARD" sim --workload poisson:jobs=5,save=3 --cluster 1x1xV100 >"$work/text"
expect "pauses as given" '^pauses cost what the workload says' "$work/text"
"$TRAINYARD" sim --workload "trace:file=$work/two.csv" --cluster 1x1xV100 >"$work/text"
expect "pauses of a trace" '^pauses are modelled' "$work/text"

# Jobs that do not finish are a status and a line on stderr.
# unfinished PATTERN ARGS...: status 3, what there is on standard output, a line on stderr.
unfinished() {
  local pattern=$1 status=0
  shift
  "$TRAINYARD" "$@" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" = 3 ] || fail "'$*' ended with status $status instead of 3"
  expect "'$*'" "$pattern" "$work/err"
  [ -s "$work/out" ] || fail "'$*' printed nothing"
}
echo "5s,r0m0,down" >"$work/down.csv"
unfinished 'trainyard: fifo: 3 of 3 jobs did not finish: job a waits: ' \
  sim "${jobs[@]}" --cluster 1x8xV100 --faults "$work/down.csv"
unfinished 'trainyard: fifo: 3 of 3 jobs did not finish' \
  sim "${jobs[@]}" --cluster 1x8xV100 --faults "$work/down.csv" --json -
unfinished 'trainyard: srtf, seed 1: 3 of 3 jobs did not finish' \
  compare "${jobs[@]}" --cluster 1x8xV100 --faults "$work/down.csv" --policy fifo,srtf

# What failures cost is no cost of pauses.
printf '60,r0m0,down\n70,r0m0,up\n' >"$work/once.csv"
"$TRAINYARD" sim "${jobs[@]}" --cluster 1x8xV100 --pauses free --faults "$work/once.csv" >"$work/text"
expect "failures apart" "^machines failed 1 times and ended 1 runs, whose unsaved work was 0\.1 GPU hours$" "$work/text"
expect "and not here" "pauses and loading took 0\.0 GPU hours" "$work/text"

# --- labels, and kinds that are misspelt ---
"$TRAINYARD" compare "${jobs[@]}" --cluster 1x8xV100 --policy "fifo,mine:order=srtf place=best-fit" >"$work/text"
expect "a label" "^mine  " "$work/text"
refuses "'mine' is given twice" compare "${jobs[@]}" --cluster 1x8xV100 --policy "mine:fifo,mine:srtf"
refuses "no kind of GPU 'V10O', did you mean 'V100'" sim "${jobs[@]}" --cluster 1x8xV10O
refuses "unknown command 'cat' " cat
refuses "unknown command 'sub', did you mean 'submit'" sub

# Machines with more GPUs than a word has bits.
printf 'submit,duration,gpus\n0,60,72\n1,60,100\n' >"$work/wide.csv"
"$TRAINYARD" sim --workload "$work/wide.csv" --cluster 2x128xB200 --timeline "$work/wide.json" >"$work/text"
expect "large machines" "2 of 2 jobs finished, makespan 1m 1s" "$work/text"
[ "$(grep -c '"ph":"X"' "$work/wide.json")" = 172 ] || fail "the timeline of large machines"

refuses "the value is empty" sim "${jobs[@]}" --cluster ''
refuses "the value is empty" sim --workload ''
refuses "its jobs are drawn" sim --workload poisson:jobs=3 --time-unit ms
refuses "mean='0'; it must be a duration longer than 0" sim --workload poisson:mean=0
for shape in x 0x8xV100 8x0xV100 -1x8xV100 8x-1xV100 8x8x 8x8 8x8x8x8xV100 \
  99999999999999999999x8xV100 2x1025xV100 1000001x1xV100 nanx8xV100 1e3x8xV100; do
  refuses "cluster|GPUs in a machine|machines" sim "${jobs[@]}" --cluster "$shape"
done

# --- jobs that share a network ---
cat >"$work/slow.toml" <<'END'
[[rack]]
[[rack.machine]]
count = 4
gpus = 4
kind = "V100"
nic_gbps = 5
END
learning="learning:jobs=4,length=100,iterations=100,span=10,model=VGG-16"
for network in alone shared shared,model=iteration; do
  "$TRAINYARD" sim --workload "$learning" --cluster "$work/slow.toml" --policy place=spread \
    --network "$network" --json "$work/$network.json" --timeline "$work/$network.timeline" >"$work/text"
done
python3 -c '
import json, sys
work = sys.argv[1]
alone, fluid, played = (json.load(open(f"{work}/{n}.json"))["jct_s"]["mean"]
                        for n in ("alone", "shared", "shared,model=iteration"))
assert fluid > 1.5 * alone, (alone, fluid)
assert abs(fluid / played - 1) < 0.1, (fluid, played)
learning = json.load(open(f"{work}/shared.json"))["learning"]
assert learning["jobs"] == 4 and 0 < learning["to_90_s"]["mean"] < learning["to_95_s"]["mean"], learning
events = json.load(open(f"{work}/shared.timeline"))["traceEvents"]
used = [e for e in events if e["ph"] == "C" and e["name"] == "r0m0 up"]
assert used and all(0 <= e["args"]["used"] <= 1.001 for e in used), used
' "$work" || fail "a shared network"
"$TRAINYARD" sim --workload "$learning" --cluster "$work/slow.toml" --policy "place=spread flow=progress flow.period=5s" \
  --network shared --timeline "$work/jpas.timeline" >"$work/text"
grep -q '"flow class":1' "$work/jpas.timeline" || fail "flow classes in the timeline"
refuses "network: 'half': it is alone, or shared" sim --workload "$learning" --network half
refuses "network: 'half': it is alone, or shared" compare --workload "$work/missing.csv" --policy fifo --network half
[ "$(wc -l <"$work/err")" = 1 ] || fail "compare read the workload before it read --network"
refuses "the fluid network knows no single ones: give --network shared,model=iteration" \
  sim --workload "$learning" --cluster "$work/slow.toml" --policy ada-srsf --network shared

# Jobs of a trace learn as the catalogue says of their models, under policies that go by it.
printf 'submit,duration,workers,gpus,model\n0,900,4,2,ResNet-18\n0,900,4,2,ncf\n5,900,4,2,VGG-16\n' >"$work/trace.csv"
for policy in "place=spread flow=srtf" "place=spread flow=progress flow.curves=true"; do
  "$TRAINYARD" sim --workload "$work/trace.csv" --cluster "$work/slow.toml" --policy "$policy" \
    --network shared --json "$work/${policy##*=}.json" >"$work/text"
done
"$TRAINYARD" compare --workload "$work/trace.csv" --cluster "$work/slow.toml" --network shared \
  --policy "place=spread flow=srtf,place=spread flow=to-95" --json "$work/both.json" >"$work/text"
python3 -c '
import json, sys
load = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
by_length, by_curve = load("srtf"), load("true")
assert "learning" not in by_length and by_curve["learning"]["jobs"] == 2, by_curve
beside = load("both")["results"][0]
assert beside["learning"]["jobs"] == 2, beside
assert beside["jct_s"] == by_length["jct_s"], "curves that a policy does not go by change its times"
' "$work" || fail "curves of the catalogue"

printf 'submit,duration\n0,-5\n' >"$work/bad.csv"
refuses "bad.csv:2: .*duration.*-5" sim --workload "$work/bad.csv" --json "$work/never.json"
[ ! -e "$work/never.json" ] || fail "a failed run left a file"
echo "sim, compare, bound and policies do what they say"
