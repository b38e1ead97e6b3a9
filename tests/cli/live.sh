#!/usr/bin/env bash
# The commands that talk to the daemon, against a real one with a state folder of its own.
set -euo pipefail
: "${TRAINYARD:?the program to test}"
work=$(mktemp -d)
chmod 0711 "$work"
export TRAINYARD_STATE=$work/state
daemon=
trap '[ -z "$daemon" ] || { kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; } || true; rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  [ ! -s "$work/serve" ] || cat "$work/serve" >&2
  exit 1
}

# expect WHAT PATTERN FILE: the file has a line that matches.
expect() {
  grep -qE -- "$2" "$3" || { cat "$3" >&2; fail "$1: nothing matches '$2'"; }
}

# yard ARGS...: the program; its output in $work/out and $work/err.
yard() { "$TRAINYARD" "$@" >"$work/out" 2>"$work/err"; }

# refuses [STATUS] PATTERN ARGS...: this status, 2 without it, and a message that matches.
refuses() {
  local expected=2 status=0
  case $1 in [0-9]) expected=$1 && shift ;; esac
  local pattern=$1
  shift
  yard "$@" || status=$?
  expect "'$*'" "$pattern" "$work/err"
  [ "$status" = "$expected" ] || fail "'$*' ended with status $status instead of $expected"
}

# until_state JOB STATE: within ten minutes, far more than it takes on a busy machine.
until_state() {
  local end=$((SECONDS + 600))
  until yard show "$1" --json && grep -q "\"state\":\"$2\"" "$work/out"; do
    [ "$SECONDS" -lt "$end" ] || { cat "$work/out" >&2; fail "job $1 is not $2"; }
    sleep 0.1
  done
}

api() { curl -sS --max-time 600 --unix-socket "$TRAINYARD_STATE/socket" "$@"; }

# --- without a daemon ---
refuses 6 "no daemon answers at $TRAINYARD_STATE/socket .*start one: trainyard serve" queue
refuses 6 "no daemon answers" submit -- true

"$TRAINYARD" serve --slots 4 --set yard.min_run=9s >"$work/serve" 2>&1 &
daemon=$!
end=$((SECONDS + 600))
until [ -S "$TRAINYARD_STATE/socket" ]; do
  kill -0 "$daemon" 2>/dev/null || fail "the daemon has ended"
  [ "$SECONDS" -lt "$end" ] || fail "the daemon does not begin"
  sleep 0.1
done

# --- what the daemon tells to type ---
until grep -q " queue$" "$work/serve"; do
  [ "$SECONDS" -lt "$end" ] || fail "the daemon does not tell what to type"
  sleep 0.1
done
expect "another terminal does not have our TRAINYARD_STATE" "^  export TRAINYARD_STATE='$TRAINYARD_STATE'$" "$work/serve"

# --- submit, wait, logs ---
status=0
# shellcheck disable=SC2016  # the job expands it
(cd "$work" && MY_SETTING=42 TRAINYARD_TOKEN=secret yard submit --wait --name greet -- \
  sh -c 'echo "hello $MY_SETTING ${TRAINYARD_TOKEN-unset} $PWD"; exit 3') || status=$?
[ "$status" = 3 ] || { cat "$work/err" >&2; fail "--wait ended with $status instead of the job's 3"; }
expect "the end of it" "^job 1 has failed: exit status 3" "$work/out"
expect "what to type next" "^Next: $(realpath "$TRAINYARD") logs 1$" "$work/err"
yard logs 1
expect "why it failed" "job 1 has failed: exit status 3$" "$work/err"
! grep -q "this is run" "$work/err" || fail "logs tells of runs that there were not"
expect "the environment and folder go along, the token does not" "^hello 42 unset $work$" "$work/out"
yard logs 1 --json
expect "logs in JSON" '"text":"hello 42' "$work/out"

cat >"$work/train.sh" <<'SCRIPT'
#!/bin/sh
#SBATCH --job-name=resnet --ntasks=2 --gpus-per-task=1
#SBATCH --partition=gpu --time=1:00:00
#TRAINYARD --class trial
srun sh -c 'echo "rank $RANK of $WORLD_SIZE: $*"' sh "$@"
SCRIPT
yard submit --wait --time 30m "$work/train.sh" --lr "0.1 x"
expect "an option of sbatch that means nothing" "train.sh:3: --partition is ignored: there is one queue" "$work/err"
yard logs -f 2
expect "the arguments of the script" "^rank 1 of 2: --lr 0.1 x$" "$work/out"
yard show 2 --json
expect "the script's lines" '"name":"resnet"' "$work/out"
expect "the script's lines" '"workers":2' "$work/out"
expect "our own lines" '"class":"trial"' "$work/out"
expect "the command line goes before" '"time_s":1800' "$work/out"

# --- queue, why, nodes, watch, cancel ---
yard submit --gpus 3 --time 10m --json -- sleep 300
expect "submit in JSON" '^\{"job":3,"warnings":\[\]\}$' "$work/out"
yard submit --gpus 4 --name wide --time 90 -- true
expect "what --time was understood as" "^submitted job 4 \(time limit 1h30m\)$" "$work/out"
yard submit --after 4 --name later --memory 1GB -- true
expect "no --time" "^submitted job 5 \(no time limit\)$" "$work/out"
until_state 3 running
yard queue
expect "what runs" "^3 +sleep .* running +3 " "$work/out"
expect "what waits" "^4 +wide .* queued +4 " "$work/out"
expect "what is held" "^5 +later .* held " "$work/out"
yard queue --state-is "done" --json
expect "only what is done" '"job":2' "$work/out"
! grep -q '"job":3' "$work/out" || fail "a running job among those that are done"
yard why 4
expect "why it waits" "^resources: needs 4 GPUs" "$work/out"
expect "when it may start" "^expected start: .* \\(in about 1[01]m\\), if the jobs before it" "$work/out"
yard events 1
expect "what happened to a job, with times" "^20[0-9-]* [0-9:]*  run 1 is running$" "$work/out"
expect "how it ended" "  failed: exit status 3$" "$work/out"
yard why 5
expect "why it is held" "^dependency: " "$work/out"
yard nodes
expect "who holds what" " 3 3 3 \.$" "$work/out"
yard watch
expect "one frame without a terminal" "^4 +wide" "$work/out"
yard cancel 3
until_state 3 cancelled
until_state 5 "done"
refuses 4 "job 3 has ended already \(cancelled\), so it cannot be cancelled" cancel 3

# --- arrays ---
# shellcheck disable=SC2016  # the job expands it
yard submit --array 1-5:2%1 --name sweep -- sh -c \
  'echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID of $SLURM_ARRAY_TASK_COUNT"; sleep 300'
expect "an array" "^submitted job 6, an array of 3 tasks \(no time limit\)$" "$work/out"
until_state 6_1 running
yard queue
expect "a task" "^6_1 +sweep .* running" "$work/out"
expect "the tasks that wait" "^6_\[3,5%1\] +sweep .* held" "$work/out"
yard logs 6_1
expect "what the task knows" "^6 1 of 3$" "$work/out"
yard why 6_5
expect "why it is held" "^array-limit: at most 1 tasks of array 6" "$work/out"
refuses "6 are 3 tasks of an array: name one of them" show 6
refuses 5 "there is no job 6_2$" show 6_2
refuses "'6_x' is not a task|'6_x': 'x' is not a task" cancel 6_x
yard cancel '6_[1,3]'
until_state 6_3 cancelled
until_state 6_5 running
yard show 6_5
expect "both of its numbers" "^job +6_5, job 9 of array 6 \(sweep\)" "$work/out"
yard cancel 6
until_state 6_5 cancelled
yard submit --wait --array 0-1 -- true
expect "the whole array is waited for" "^array 10: all tasks are done$" "$work/out"

# --- files for the output ---
# shellcheck disable=SC2016  # the job expands it
(cd "$work" && mkdir -p logs && yard submit --wait --workers 2 --output 'logs/%x-%j.out' \
  --error 'logs/%j.%t.err' --name files -- sh -c 'echo "out $RANK"; echo "err $RANK" >&2')
sort "$work/logs/files-13.out" >"$work/sorted"
[ "$(cat "$work/sorted")" = "out 0
out 1" ] || { cat "$work/sorted" >&2; fail "the output of both workers is in one file"; }
expect "a file for each worker" "^err 1$" "$work/logs/13.1.err"
refuses 4 "job 13 writes to $work/logs/files-13.out \(its --output\)" logs 13
status=0
yard submit --wait --output "$work/no/such/folder" -- true || status=$?
[ "$status" = 1 ] || fail "a file that cannot be opened: status $status"
expect "why it failed" "the file '$work/no/such/folder' of --output cannot be opened by user" "$work/out"

# --- completion asks the daemon for numbers of jobs ---
"$TRAINYARD" completion bash >"$work/completion.bash"
# completes EXPECTED WORD...: what bash offers for the last word.
completes() {
  local expected=$1 offered
  shift
  # shellcheck disable=SC2016  # the other bash expands it
  offered=$(bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _trainyard
    echo "${COMPREPLY[*]}"' "$work/completion.bash" "$@")
  [ "$offered" = "$expected" ] || fail "'$*' completes to '$offered', not '$expected'"
}
completes 5 "$TRAINYARD" show 5
completes 5 "$TRAINYARD" submit --after 5
completes 4,5 "$TRAINYARD" submit --after 4,5
completes las "$TRAINYARD" policy set las
yard completion jobs
expect "what zsh and fish show besides" "^5	later, done$" "$work/out"
TRAINYARD_STATE=$work/nowhere yard completion jobs
[ ! -s "$work/out" ] && [ ! -s "$work/err" ] || fail "completion says something where there is no daemon"

# --- operators ---
yard nodes --json
machine=$(sed -E 's/.*"name":"([^"]*)".*/\1/' "$work/out")
yard close "$machine"
yard submit -- true
yard why 15
expect "a closed machine" "closed" "$work/out"
yard open "$machine"
until_state 15 "done"
yard policy set las
yard policy show
expect "the policy" "^las$" "$work/out"
expect "what was given to serve" "^  yard.min_run=9s$" "$work/out"
cp "$work/out" "$work/shown"
yard policy
cmp "$work/out" "$work/shown" || fail "policy alone does not show it"
yard policy --json
expect "the same in JSON" '"policy":"las"' "$work/out"
refuses "unknown command 'shw', did you mean 'show'" policy shw
refuses "did you mean 'las'" policy set laz
refuses 5 "no such machine|there is no" close nowhere

# --- what is wrong is said before anything is sent ---
refuses "unknown option '--gpsu', did you mean '--gpus'" submit --gpsu 2 "$work/train.sh"
refuses "unknown command 'drain', did you mean 'close'" drain r0m0
refuses "cannot be opened.*trainyard submit -- COMMAND" submit no-such-script
refuses "standard input: is empty" submit </dev/null
refuses "standard input:2: --hold is not supported" submit - <<<$'#!/bin/sh\n#SBATCH --hold'
refuses "gpus: '0' is not a whole number from 1 to 1024" submit --gpus 0 -- true
refuses "--workers: '3..2' ends before it begins; write 2..3" submit --workers 3..2 -- true
refuses "--workers: '2-3' is neither a whole number .* nor a range" submit --workers 2-3 -- true
refuses "measured on GPUs of kind 'V10O', .*did you mean 'V100'" submit --measured-on V10O -- true
refuses "asks for GPUs of kind 'V100', and there are only: cpu" submit --gpu-kind V100 -- true
refuses "--gpu-kind: 'a,b' is not a kind of GPU; write one, as V100, or any" submit --gpu-kind a,b -- true
refuses "2..3 is a range, and a job that takes the whole machine" submit --workers 2..3 --exclusive -- true
refuses "time: '1x' is not a time; write minutes" submit --time 1x -- true
refuses "first line does not name its interpreter" submit "$work/serve"
refuses "--ntasks is an option of sbatch: write it into the script" submit --ntasks=2 "$work/train.sh"
refuses "-p does nothing here, leave it out: there is one queue" submit -p gpu "$work/train.sh"
refuses "--hold is not supported: submit it when it may start" submit --hold "$work/train.sh"
printf '#!/bin/sh\n#SBATCH --hold\n' >"$work/held.sh"
refuses "held.sh:2: --hold is not supported" submit "$work/held.sh"
refuses "asks for a machine with 'h100', and none has that: $machine has cpu" submit --constraint h100 -- true
refuses "no machine has GPUs that 3 workers can share evenly" submit --exclusive --workers 3 -- true
refuses "--export: 'A,,B': write ALL, NONE" submit --export A,,B -- true
refuses 5 "there is no job 99" show 99
refuses 5 "there is no job 99" logs 99

# --- a script from standard input ---
yard submit - 7 <<<$'#!/bin/sh\n#SBATCH --time=5\necho "read $1"'
expect "its lines count" "^submitted job [0-9]+ \(time limit 5m\)$" "$work/out"
yard logs -f "$(sed 's/^submitted job \([0-9]*\).*/\1/' "$work/out")"
expect "its arguments too" "^read 7$" "$work/out"

# --- quotes in what is looked for are only quotes ---
injection="x' OR '1'='1"
yard queue --all --name "$injection" --json
expect "nothing has that name" '"jobs":\[\]' "$work/out"
yard queue --all --user "root'; DROP TABLE jobs; --" --json
expect "nothing is that user's" '"jobs":\[\]' "$work/out"
yard submit --wait --name "$injection" -- true
yard queue --all --name "$injection" --json
expect "found by its name" "\"name\":\"x' OR '1'='1\"" "$work/out"
[ "$(grep -o '"job":' "$work/out" | wc -l)" = 1 ] || fail "others were found by it too"

# --- what a job is called and given does nothing to a terminal ---
bell=$(printf '\007') escape=$(printf '\033') csi=$(printf '\302\233') e_acute=$(printf '\303\251')
refuses "name: 'a\\\\u\{009b\}31mb' has a character that is not visible" submit --name "a${csi}31mb" -- true
yard submit --wait --name "b$e_acute" -- true "x$escape]0;owned$bell" "y${csi}2J"
last=$(sed -nE 's/^submitted job ([0-9]+).*/\1/p;s/^job ([0-9]+) is .*/\1/p' "$work/out" | head -n 1)
yard show "$last"
expect "the command, with its controls visible" 'command +true x\\x1b\]0;owned\\x07 y\\u\{009b\}2J$' "$work/out"
! LC_ALL=C grep -q "$escape\|$bell\|$csi" "$work/out" || fail "a control character is printed"
yard queue --all
expect "the name in the list" "b$e_acute " "$work/out"
! LC_ALL=C grep -q "$escape\|$bell\|$csi" "$work/out" || fail "a control character is printed"

# --- other users see the queue and nothing else, and cannot make themselves somebody else ---
# Not where '/' is closed to other users.
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
  other() {
    setpriv --reuid 65534 --regid 65534 --clear-groups curl -sS --max-time 600 \
      --unix-socket "$TRAINYARD_STATE/socket" "$@"
  }
  other http://x/v1/jobs/1 >"$work/out"
  expect "another's job in the queue" '"name":"greet"' "$work/out"
  ! grep -q 'hello\|exit_status\|command' "$work/out" || fail "more than the queue is shown of another's job"
  other -o /dev/null -w '%{http_code}' -H 'X-Remote-User: root' -X DELETE http://x/v1/jobs/1 >"$work/code"
  [ "$(cat "$work/code")" = 403 ] || fail "another's job can be cancelled"
  other -o /dev/null -w '%{http_code}' -X POST "http://x/v1/machines/$machine/close" >"$work/code"
  [ "$(cat "$work/code")" = 403 ] || fail "a user closes a machine"
  other -o /dev/null -w '%{http_code}' http://x/v1/jobs/1/logs >"$work/code"
  [ "$(cat "$work/code")" = 403 ] || fail "another's output can be read"
  for secret in journal.db tokens.json runs/1.1/run.json; do
    ! setpriv --reuid 65534 --regid 65534 --clear-groups cat "$TRAINYARD_STATE/$secret" \
      >"$work/out" 2>/dev/null || fail "$secret can be read by others"
  done
fi

# --- an elastic job starts with the fewest of its workers ---
yard submit --workers 2..3 --gpu-kind any --measured-on V100 --json -- sleep 300
last=$(sed -E 's/.*"job":([0-9]+).*/\1/' "$work/out")
until_state "$last" running
yard queue
expect "its size and the others" "^$last +.* running +2 \(2\.\.3\) " "$work/out"
yard show "$last"
expect "both of one job" "^needs +2 workers \(2\.\.3\) of 1 GPU$" "$work/out"
expect "what its time is said of" "^measured on +V100$" "$work/out"
yard why "$last"
expect "its size again" "waits for nothing; it runs with 2 of 2\.\.3 workers$" "$work/out"

# --- of several that are cancelled, those that have ended are named ---
refuses 5 "job 3 has ended already.*; there is no job 99$" cancel 3 "$last" 99
expect "the others are told to end" "^job $last has been told to end$" "$work/out"
until_state "$last" cancelled

# --- tokens ---
yard token add ci --role viewer
expect "a token" '^ty_[0-9a-f]{64}$' "$work/out"
token=$(cat "$work/out")
yard token list
expect "its name" '^ci +viewer' "$work/out"
! grep -rqF "$token" "$TRAINYARD_STATE" || fail "the token itself is kept"
yard token remove ci
refuses "there is no token 'ci'" token remove ci

# --- the API itself ---
api http://x/healthz | grep -q '"accepting":true' || fail "/healthz"
api http://x/metrics | grep -q '^trainyard_jobs_total{what="submitted"} 17$' || fail "/metrics"
api http://x/v1/history >"$work/out"
expect "the history is a workload" "^id,|,submit," "$work/out"
"$TRAINYARD" workload info "$work/out" --cluster 1x4xV100 >"$work/info" 2>"$work/err" ||
  { cat "$work/err" >&2; fail "the history cannot be read back"; }
# --- whatif: what was run, under the present policy and others ---
yard whatif
expect "the others replay more" "the row .recorded. is of the jobs that were done .[0-9]+., and the others are of all that ran .[0-9]+.:" "$work/err"
expect "nothing was compared yet" "^Next: .* whatif --policy trainyard,fifo-easy$" "$work/err"
yard whatif --set yard.min_run=1h
expect "the present policy with another setting" "^las with yard.min_run=1h, simulated " "$work/out"
refuses "nonsense" whatif --set nonsense.x=1
yard whatif --policy las
expect "it is no better than itself" "none of them has a shorter mean JCT than las, which decides now" "$work/err"
expect "what there is" "^Next: .* policies$" "$work/err"

# --- any environment, and words that are not UTF-8 ---
large=$(head -c 120000 /dev/zero | tr '\0' x)
variables=('a-b=1' 'x.y=2' 'BASH_FUNC_f%%=() { :; }' $'bad=\xff' 'GOOD=yes')
for n in 1 2 3 4 5 6 7 8 9 10; do variables+=("LARGE$n=$large"); done
env "${variables[@]}" "$TRAINYARD" submit --wait -- \
  sh -c 'test "$GOOD" = yes' >"$work/out" 2>"$work/err" || { cat "$work/err" >&2; fail "an odd environment"; }
expect "an odd name" "variable 'a-b' is left out: its name" "$work/err"
expect "odd bytes" "variable 'bad' is not UTF-8 and is left out" "$work/err"
expect "too much" "variable 'LARGE[0-9]*' is left out: all together" "$work/err"
refuses "word 2 of the command, .*, is not UTF-8" submit -- echo $'\xff\xfe'
refuses "name.* is not UTF-8" submit --name $'\xff' -- true

echo "the commands that talk to the daemon do what they say"
