#!/usr/bin/env bash
# watched.sh SCRIPT: runs a command-line test for as long as it gets on. It is stuck when for
# PATIENCE seconds (600) it has begun no other command, and its processes have used less than 1% of
# a processor: then it is ended, and the commands that it ran last are printed. On a busy machine a
# test is slow, and not stuck.
#
#   watched.sh --self-test   checks that it tells the two apart
set -uo pipefail
patience=${PATIENCE:-600}

# Hundredths of seconds that the processes of session $1 have used, their ended children included.
cpu_of() {
  cat /proc/[0-9]*/stat 2>/dev/null |
    awk -v session="$1" '{ sub(/.*\) /, "") } $4 == session { used += $12 + $13 + $14 + $15 } END { print used + 0 }'
}

watch() {
  local trace script test commands used now_commands now_used quiet=0 status
  script=$1
  trace=$(mktemp)
  exec {to_trace}>"$trace"
  BASH_XTRACEFD=$to_trace setsid "$BASH" -x "$script" &
  test=$!
  commands=0 used=0
  while kill -0 $test 2>/dev/null; do
    sleep 0.2
    quiet=$((quiet + 1))
    [ $((quiet % 5)) = 0 ] || continue
    now_commands=$(stat -c %s "$trace") now_used=$(cpu_of $test)
    if [ "$now_commands" != "$commands" ] || [ $((now_used - used)) -gt "$patience" ]; then
      commands=$now_commands used=$now_used quiet=0
    elif [ $((quiet / 5)) -ge "$patience" ]; then
      echo "STUCK: $script has done nothing for $patience s (load $(cut -d ' ' -f 1 /proc/loadavg)); its last commands:" >&2
      tail -n 12 "$trace" >&2
      kill -TERM -- -$test
      sleep 5
      kill -KILL -- -$test 2>/dev/null
    fi
  done
  wait $test
  status=$?
  [ $status = 0 ] || { echo "its last commands:" && tail -n 3 "$trace"; } >&2
  rm -f "$trace"
  return $status
}

self_test() {
  local work
  work=$(mktemp -d)
  echo 'sleep 300 # for nothing' >"$work/stuck.sh"
  echo 'end=$((SECONDS + 6)); while [ $SECONDS -lt $end ]; do :; done' >"$work/busy.sh"
  patience=3
  ! watch "$work/stuck.sh" 2>"$work/said" || { echo "FAILED: it sleeps for ever"; return 1; }
  grep -q '^+ sleep 300' "$work/said" || { cat "$work/said"; echo "FAILED: not what it did"; return 1; }
  watch "$work/busy.sh" || { echo "FAILED: it was at work"; return 1; }
  rm -rf "$work"
}

if [ "$1" = --self-test ]; then self_test; else watch "$1"; fi
