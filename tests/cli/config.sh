#!/usr/bin/env bash
# The file of options of `trainyard serve`: what it may say, what goes before what, what is refused;
# the log in a file; and that the file we ship and the manual know every option.
set -euo pipefail
: "${TRAINYARD:?the program to test}"
work=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || { kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; } || true; rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  [ ! -s "$work/err" ] || cat "$work/err" >&2
  exit 1
}

# prints PATTERN WORD...: the command, and something that matches.
prints() {
  local pattern=$1
  shift
  "$TRAINYARD" "$@" >"$work/out" 2>"$work/err" || fail "'$*' failed"
  grep -qE -- "$pattern" "$work/out" || { cat "$work/out" >&2; fail "'$*': nothing matches '$pattern'"; }
}

# refuses PATTERN LINE...: a file of these lines, with status 2 and a message that matches.
refuses() {
  local pattern=$1 status=0
  shift
  printf '%s\n' "$@" >"$work/bad.toml"
  "$TRAINYARD" serve --state "$work/state" --config "$work/bad.toml" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" = 2 ] || fail "'$*' ended with status $status instead of 2"
  grep -qE -- "$pattern" "$work/err" || fail "'$*': nothing matches '$pattern'"
}

# --- what is refused, with file and line ---
refuses "bad.toml:2: unknown field 'polcy', did you mean 'policy'" '# mine' 'polcy = "srtf"'
refuses "bad.toml:1: unknown field 'config'" 'config = "other.toml"'
refuses "bad.toml:1: slots = '0'; it must be a whole number from 1 to" 'slots = 0'
refuses "bad.toml:1: policy = '3'; it must be a text" 'policy = 3'
refuses "bad.toml:1: set = 'x'; it must be a list" 'set = "x"'
refuses "bad.toml:1: log-level = 'loud' is not known.*debug, info, warning, error" 'log-level = "loud"'
refuses "bad.toml:2: " 'slots = 2' 'keep ='
refuses "srtff" 'policy = "srtff"'
refuses "engine = 'slrum' is not known.*local, slurm" 'engine = "slrum"'
refuses "only --engine slurm has partitions" 'partition = "train"'
refuses "only with --engine slurm" 'dry-run = true'
refuses "the machines of --engine slurm are Slurm's nodes" 'engine = "slurm"' 'slots = 2'
refuses "needs --partition|built without libslurm" 'engine = "slurm"'
SLURM_CONF=/none refuses "/none: Slurm's configuration cannot be read|built without libslurm" 'engine = "slurm"' 'partition = "train"'
status=0
"$TRAINYARD" serve --config "$work/none.toml" 2>"$work/err" || status=$?
[ "$status" = 2 ] && grep -q "none.toml: cannot be read: No such file" "$work/err" || fail "a file that is not there"

# --- command line over file over defaults ---
cat >"$work/good.toml" <<END
state = "$work/state"
slots = 3
policy = "fifo"
log = "$work/trainyard.log"
log-level = "debug"
END
"$TRAINYARD" serve --config "$work/good.toml" --policy srtf >"$work/out" 2>"$work/err" &
daemon=$!
end=$((SECONDS + 600))
until [ -S "$work/state/socket" ]; do
  kill -0 "$daemon" 2>/dev/null || fail "the daemon has ended"
  [ "$SECONDS" -lt "$end" ] || fail "the daemon does not begin"
  sleep 0.1
done
export TRAINYARD_STATE=$work/state
prints srtf policy show           # the command line goes before the file
prints '"gpus":3' nodes --json    # and the file before the default

# --- the log ---
"$TRAINYARD" submit --wait -- sh -c 'exit 3' >"$work/out" 2>&1 || true
"$TRAINYARD" submit --wait -- /no/such/program >"$work/out" 2>&1 || true
"$TRAINYARD" policy set fifo >"$work/out" 2>&1
"$TRAINYARD" close "$(hostname)" >"$work/out" 2>&1
kill "$daemon" && wait "$daemon" || fail "the daemon ends with $?"
daemon=
logged() { grep -qE -- "^[-0-9T:.+]+ $1" "$work/trainyard.log" || { cat "$work/trainyard.log" >&2; fail "the log has no '$1'"; }; }
logged 'info    listening on '
logged 'debug   job 1 of [a-z]+ was submitted'
logged 'info    job 1 of [a-z]+ is starting: gpus [0-9], run 1'
logged 'warning job 1 of [a-z]+ has failed: exit status 3'
logged 'warning job 2 of [a-z]+ has failed: .*/no/such/program'
logged 'info    policy changed: by [^ ]*, policy fifo'
logged 'info    machine closed: '
logged 'info    ending; jobs run on'

# A daemon that cannot begin says so in its log too.
"$TRAINYARD" serve --state "$work/state" --log "$work/trainyard.log" --tcp 127.0.0.1:0 2>"$work/err" &&
  fail "TCP without a token"
logged 'error   .*nobody could use it without a token'

# --- the file that is shipped, and the manual, know all that serve takes ---
options=$("$TRAINYARD" serve --help | grep -oE '^ +(-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+' | grep -vxE -- '--(help|config)')
[ "$(wc -l <<<"$options")" -ge 10 ] || fail "serve --help lists too little: $options"
"$TRAINYARD" man serve >"$work/man"
for option in $options; do
  grep -qE "^#${option#--} = " packaging/config.toml || fail "packaging/config.toml has no line for $option"
  grep -qF -- "\\fB${option//-/\\-}\\fR" "$work/man" || fail "the manual has no $option"
done
# Two of them belong to the other engine.
sed -nE 's/^#([a-z-]+ = )/\1/p; /^\[/p' packaging/config.toml | grep -vE '^(partition|dry-run) = ' >"$work/shipped.toml"
status=0
"$TRAINYARD" serve --config "$work/shipped.toml" --state "$work/fresh" --log "$work/other.log" \
  --runs "$work/runs" --checkpoints "$work/checkpoints" --cert /none --key /none 2>"$work/err" || status=$?
[ "$status" = 2 ] && grep -q 'without a token' "$work/err" || fail "the shipped file, with every line in effect"

# --- notes of --help begin a line of their own, below the examples ---
prints '^Works while the daemon runs' backup --help
prints '^The status is 3' sim --help

# --- the manual ---
prints '^.TH TRAINYARD\\-WORKLOAD\\-INFO 1' man workload info
prints 'BR trainyard\\-submit \(1\)' man
"$TRAINYARD" man sumbit 2>"$work/err" && fail "a page that is not there"
grep -q "did you mean 'submit'" "$work/err" || fail "no suggestion"
echo 'config.sh: all as expected'
