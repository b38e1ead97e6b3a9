#!/usr/bin/env bash
# trainyard models: the list, one model, a user's own, the fit; and what is refused.
set -euo pipefail
: "${TRAINYARD:?the program to test}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# prints PATTERN ARGS...: status 0, and a line that matches.
prints() {
  local pattern=$1
  shift
  "$TRAINYARD" "$@" >"$work/out" 2>"$work/err" || fail "'$*': $(cat "$work/err")"
  grep -qE -- "$pattern" "$work/out" || fail "'$*' prints nothing like '$pattern': $(cat "$work/out")"
}

# refuses PATTERN ARGS...: status 2, a message that matches, and nothing on standard output.
refuses() {
  local pattern=$1 status=0
  shift
  "$TRAINYARD" "$@" >"$work/out" 2>"$work/err" || status=$?
  [ "$status" = 2 ] || fail "'$*' ended with status $status instead of 2"
  grep -qE -- "$pattern" "$work/err" || fail "'$*' does not say '$pattern': $(cat "$work/err")"
  [ ! -s "$work/out" ] || fail "'$*' printed to standard output"
}

prints '^ResNet-50 ' models
prints 'Examples:' models --help
prints '^  V100 +281 +Gavel' models resnet50
prints '^  GPUs +machine +rack +pod +across$' models VGG-16 --cluster examples/clusters/pods.toml
prints '^    16 +- +[0-9.]+ ms, x1\.[0-9]+ ' models VGG-16 --cluster examples/clusters/pods.toml

cat >"$work/mine.toml" <<'END'
[[model]]
name = "MyNet"
parameters = 30e6
batch = 64
[[model.speed]]
kind = "V100"
samples_per_s = 800
END
prints '^MyNet +30 ' models --models "$work/mine.toml"
prints '^     1 +80 ms' models mynet --models "$work/mine.toml"

refuses "no model 'ResNet', did you mean 'ResNet-50'|no model 'ResNet'" models ResNet
refuses 'nowhere.toml: cannot be opened' models --models "$work/nowhere.toml"
echo 'overlap = 3' >>"$work/mine.toml"
refuses "mine.toml:8: unknown field 'overlap'" models --models "$work/mine.toml"
refuses 'neither sia/ nor gavel' models --fit "$work"

# The same measurements, the same fit.
mkdir -p "$work/traces/sia/net"
{
  echo placement,local_bsz,step_time,sync_time
  for placement in 1,1.0,0.01 2,1.1,0.1 3,1.2,0.2 4,1.3,0.3 11,1.4,0.4 22,1.5,0.5 44,1.6,0.6; do
    echo "${placement/,/,8,}"
  done
} >"$work/traces/sia/net/placements-here.csv"
prints '^net, all systems +3 ' models --fit "$work/traces"
cp "$work/out" "$work/first"
prints '^all ' models --fit "$work/traces"
cmp "$work/first" "$work/out" || fail "another fit the second time"
