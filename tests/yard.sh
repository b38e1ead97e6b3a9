#!/usr/bin/env bash
# ./yard and its packages: where some are missing it installs them as root or through sudo, and
# whoever can do neither is told the line to run; where all are there it goes on. The tools that would install are stand-ins that tell what they
# were asked for; nothing else is in the PATH.
set -euo pipefail
yard=$(realpath "$(dirname "$0")/../yard")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  cat "$work/out" >&2
  exit 1
}

stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod 755 "$work/bin/$1"; }

# on_a_machine_of USER_ID: without any package; `need` is all that is reached of `build`.
on_a_machine_of() {
  rm -rf "$work/bin" && mkdir "$work/bin"
  local tool
  for tool in bash sh env cat dirname grep sed tr find sort nproc; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
  done
  stand_in id "echo $1"
  stand_in dpkg-query 'exit 1'
  # shellcheck disable=SC2016  # the stand-in expands it
  stand_in apt-get 'echo "apt-get $*"; case $* in *--assume-no*)
    echo "0 upgraded, 7 newly installed, 0 to remove and 1 not upgraded."
    echo "Need to get 3 MB/4 MB of archives."
    echo "After this operation, 12 MB of additional disk space will be used." ;; esac'
  stand_in cmake 'echo "cmake is there" >&2; exit 9'
}
# shellcheck disable=SC2016
with_sudo() { stand_in sudo "$1"; }
build() { PATH=$work/bin "$yard" build >"$work/out" 2>&1; }
expect() { grep -qE -- "$1" "$work/out" || fail "nothing matches '$1'"; }

on_a_machine_of 0
! build || fail "the stand-in for cmake fails"
expect '^yard: installing g\+\+ cmake '
expect '^yard: that is 7 packages$'
expect '^yard: to be fetched: 3 MB/4 MB$'
expect '^yard: on the disk: 12 MB$'
expect '^apt-get install -qy --no-install-recommends g\+\+ cmake '
expect '^cmake is there$'

on_a_machine_of 1000
with_sudo 'echo "with sudo"; exec "$@"'
! build || fail "the stand-in for cmake fails"
expect '^with sudo$'
expect '^apt-get install -qy .* libssl-dev '
expect '^cmake is there$'

on_a_machine_of 1000
! build || fail "it goes on without packages"
expect 'there is no sudo'
expect '^  apt-get update && apt-get install -y --no-install-recommends g\+\+ cmake .*libssl-dev'
! grep -q 'cmake is there' "$work/out" || fail "it goes on without packages"

on_a_machine_of 1000
with_sudo 'echo "this user may not"; exit 1'
! build || fail "it goes on without packages"
expect 'installing them failed'
expect '^  apt-get update && apt-get install -y --no-install-recommends g\+\+ '
on_a_machine_of 1000
# shellcheck disable=SC2016
stand_in dpkg-query 'for name; do case $name in -*|\$*) ;; *) echo "installed $name" ;; esac; done'
! build || fail "the stand-in for cmake fails"
! grep -q 'installing' "$work/out" || fail "it installs what is there"
expect '^cmake is there$'

on_a_machine_of 0
stand_in dpkg-query 'echo "installed g++"; echo "config-files cmake"; exit 1'
! build || fail "the stand-in for cmake fails"
expect '^yard: installing cmake ninja-build '
expect '^cmake is there$'
echo 'yard.sh: all as expected'
