#!/usr/bin/env bash
# trainyard reproduce: what it prints and writes, that it can be stopped at any time and goes on to the
# same bytes, and what it refuses before it begins.
set -euo pipefail
program=$(realpath "${TRAINYARD:?the program to test}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_STATE_HOME=$work/state
journal=$work/state/trainyard/studies/fitgpp.quick.jsonl

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
  "$program" "$@" >out 2>err || status=$?
  [ "$status" = 2 ] || fail "'$*' ended with status $status instead of 2"
  expect "'$*'" "$pattern" err
  [ ! -s out ] || fail "'$*' printed to standard output"
}

# --- what there is ---
"$program" reproduce >list
expect "the list" '^fitgpp +FitGpp' list

# --- one run: every output, and nothing left behind ---
"$program" reproduce fitgpp --quick --seeds 2 --threads 2 --json a.json --report a.html \
  --markdown a.md --tally tally.md >text 2>err
expect "a claim" 'p95 slowdown falls by 96.6% +≥ 96.6 % .*(holds|beyond|open|fails) +base$' text
expect "a table" '^fifo +[0-9]' text
expect "where more is" 'a\.html' text
expect "json" '"holds": (true|false)' a.json
expect "json" '"verdict": "(holds|beyond|open|fails)"' a.json
expect "page" '</svg>' a.html
expect "page" '</html>' a.html
expect "tally" '^\| \[fitgpp\]\(fitgpp.md\) \| .*(holds|beyond|open|fails).* \| 2 \|$' tally.md
expect "markdown" '^Made by `trainyard reproduce fitgpp --quick --seeds 2`' a.md
[ ! -e "$journal" ] || fail "a complete study left its journal"

# --- killed in the middle, it goes on where it was, to the same end ---
# More seeds until it lasts long enough to be killed after its second run and before its last.
interrupt() {
  for seeds in 2 8 32 128; do
    "$program" reproduce fitgpp --quick --seeds "$seeds" --threads 1 >/dev/null 2>&1 &
    local pid=$! lines=0
    while [ "$lines" -lt 2 ] && kill -0 "$pid" 2>/dev/null; do
      sleep 0.01
      lines=$( (cat "$journal" 2>/dev/null || true) | wc -l)
    done
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    [ ! -s "$journal" ] || return 0
  done
  fail "the study was always over before it could be killed"
}
interrupt
printf '{"mark":"torn' >>"$journal"
"$program" reproduce fitgpp --quick --seeds "$seeds" --threads 1 --json - --report b.html \
  --markdown b.md >b.json 2>err
expect "what was there" '[0-9]+ of [0-9]+ runs were there already' err
[ ! -e "$journal" ] || fail "a resumed study left its journal"
if [ "$seeds" != 2 ]; then
  "$program" reproduce fitgpp --quick --seeds "$seeds" --json a.json --report a.html --markdown a.md \
    >/dev/null 2>err
  ! grep -q "there already" err || fail "runs of a complete study were taken over"
fi
for kind in json html md; do
  cmp a.$kind b.$kind || fail "resumed, and on one thread, the study wrote another .$kind"
done

# --- without a place to keep runs it says so, and runs ---
# begins CONDITION COMMAND...: a study, which is ended once the condition holds, or ends well.
begins() {
  local condition=$1 study status=0
  shift
  "$@" >/dev/null 2>err &
  study=$!
  until eval "$condition"; do
    kill -0 $study 2>/dev/null || break
    sleep 0.1
  done
  kill $study 2>/dev/null || true
  wait $study || status=$?
  [ "$status" = 0 ] || [ "$status" = 143 ] || { cat err >&2; fail "'$*' ended with status $status"; }
  eval "$condition" || fail "'$*' ended before $condition"
}
quick=("$program" reproduce fitgpp --quick --seeds 2)
begins "grep -q 'note: not resumable.*neither HOME nor XDG_STATE_HOME' err" env -u HOME -u XDG_STATE_HOME "${quick[@]}"
echo "a file" >blocked
begins "grep -q 'note: not resumable.*cannot be made' err" env XDG_STATE_HOME="$work/blocked" "${quick[@]}"
begins "[ -d '$work/home/.local/state/trainyard/studies' ]" env -u XDG_STATE_HOME HOME="$work/home" "${quick[@]}"

# --- what is wrong is said before anything runs ---
refuses "'fitgp' is not known, did you mean 'fitgpp'\?" reproduce fitgp
refuses "which study\? One of .*fitgpp" reproduce --quick
refuses "'0' must be a whole number from 1" reproduce fitgpp --seeds 0
refuses "'-1' must be a whole number from 1" reproduce fitgpp --seeds -1
refuses "no sweep's title begins with 'Lod'; one is 'Length of the trace'" reproduce fitgpp --only Lod
refuses "'fitgpp' is not LABEL=LINE" reproduce fitgpp --instead fitgpp
refuses "nothing is left to run: The Philly log: .* need philly/philly.csv; give .* --traces" \
  reproduce xion --only "The Philly log"
refuses "--traces: 'nowhere' is not a folder" reproduce xion --traces nowhere
TRAINYARD_TRACES=nowhere refuses "TRAINYARD_TRACES: 'nowhere' is not a folder" reproduce xion
expect "what was left out" '^warning: Jobs of the Philly log: 3 of 3 conditions left out' text
refuses "unknown policy 'fifi'" reproduce fitgpp --instead fitgpp=fifi
refuses "no policy is called 'fitgp'" reproduce fitgpp --instead fitgp=fifo
refuses "--tally has one study" reproduce --all --tally tally.md
refuses "'0' must be a whole number from 1" reproduce fitgpp --threads 0
refuses "missing/x.json: cannot be written" reproduce fitgpp --json missing/x.json
refuses "missing/x.html: cannot be written" reproduce fitgpp --report missing/x.html
refuses "missing/x.md: cannot be written" reproduce fitgpp --json - --markdown missing/x.md
mkdir folder
refuses "folder: cannot be written: Is a directory" reproduce fitgpp --report folder
[ ! -e "$work/state/trainyard/studies/fitgpp.full.jsonl" ] || fail "a refused study began to run"
[ -z "$(find . -name '*.part')" ] || fail "trying out whether a file can be written left one"
echo keep >old.json
refuses "missing/x.md: cannot be written" reproduce fitgpp --json old.json --markdown missing/x.md
expect "an old file" '^keep$' old.json

# --- completion knows the names ---
"$program" completion bash >completion.bash
offered=$(bash -c 'source ./completion.bash; COMP_WORDS=(trainyard reproduce fit); COMP_CWORD=2
  _trainyard; echo "${COMPREPLY[*]}"')
[ "$offered" = fitgpp ] || fail "completion offers '$offered' for fit"
echo "reproduce does what it says"
