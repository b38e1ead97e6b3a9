#!/usr/bin/env bash
# The layers of src/, and those within src/live/: a file may include headers of its own folder and
# of those before it only. And one name is one type's: where headers of a namespace have two, the linker
# takes functions of the one for the other's. And what belongs to a user is reached through
# live/system/user_files.h only: no path of it is put together elsewhere, or taken for one of ours.
#
#   tests/layers.sh src          prints all that is wrong; fails if there is anything
#   tests/layers.sh --self-test  checks that the check finds what it must
set -euo pipefail

readonly layers="base model perf bound market network yard policy sim forecast workload study live cli"
readonly live_layers="job system sbatch srun slurm_setup supervisor engine book service journal loop server client flow_agent daemon"

# Prints "file:line: what is wrong" for every offending file and include below folder $1. The names
# of its layers, lowest first, are $2; headers of others begin with $3, and are no concern.
offences() {
  [ -d "$1" ] || return 0
  find "$1" -name '*.h' -o -name '*.cpp' | sort | xargs -r awk -v root="$1/" -v layers="$2" -v prefix="$3" '
    BEGIN { count = split(layers, names, " "); for (i = 1; i <= count; ++i) rank[names[i]] = i }
    FNR == 1 {
      folder = substr(FILENAME, length(root) + 1); sub("/.*", "", folder)
      if (!(folder in rank)) print FILENAME ":1: " folder " is not a layer; known are " layers
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      split($0, quotes, "\""); header = quotes[2]
      if (index(header, prefix) != 1) next
      used = substr(header, length(prefix) + 1); sub("/.*", "", used)
      if (!(used in rank))
        print FILENAME ":" FNR ": \"" header "\" does not begin with the name of a layer"
      else if (rank[used] > rank[folder])
        print FILENAME ":" FNR ": " folder "/ comes before " used "/ and must not include " header
    }'
}

# Prints "file:line: what is wrong" for every type below folder $1 whose name another header has too.
twins() {
  find "$1" -name '*.h' | sort | xargs -r awk '
    FNR == 1 { space = "" }
    /^namespace / { space = $2 "::" }
    /^(class|struct|enum class) [A-Za-z]+/ && !/^[^{]*;$/ {
      name = space ($1 == "enum" ? $3 : $2)
      if (name in seen) print FILENAME ":" FNR ": " name " is the name of another type in " seen[name]
      seen[name] = FILENAME
    }'
}

# Prints "file:line: what is wrong" for every path below a run's job/ or the checkpoints that is put
# together below folder $1, and for every use of the text that is meant for processes of users, real or simulated.
user_paths() {
  find "$1" \( -name '*.h' -o -name '*.cpp' \) ! -name '*_test.cpp' ! -name testing.h | sort | xargs -r awk '
    /^[ \t]*(\/\/|#[ \t]*include)/ { next }
    /"[^"]*\/job(\/[^"]*)?"/ || /"[^"]*\/checkpoints\/[^"]*"/ {
      print FILENAME ":" FNR ": a path of a user is put together; job_directory() and checkpoint_directory() have them"
    }
    /[.>]told_to_user\(/ && FILENAME !~ /(supervisor\/environment|local\/simulated_world)\.cpp$/ {
      print FILENAME ":" FNR ": told_to_user() is for environment.cpp; UserDirectory opens files of users"
    }'
}

check() {
  local found
  found=$(offences "$1" "$layers" "" && offences "$1/live" "$live_layers" live/ && twins "$1" && user_paths "$1")
  [ -z "$found" ] && return 0
  echo "$found"
  return 1
}

self_test() {
  local root
  root=$(mktemp -d)
  # shellcheck disable=SC2064  # its name is known now and gone at the end
  trap "rm -rf '$root'" EXIT
  mkdir -p "$root"/{base,model,policy/order,live/book,live/loop}
  echo '#include "base/time.h"' >"$root/model/job.h"
  printf 'struct Cells;\nstruct Table {\n' >"$root/base/table.h"
  echo '#include "model/job.h"' >"$root/policy/order/fifo.cpp"
  printf '#include "model/job.h"\n#include "live/book/job_book.h"\n' >"$root/live/loop/loop.h"
  check "$root" || { echo "a proper tree was refused"; return 1; }
  expect_offence base/time.h '#include "model/job.h"' "base/ comes before model/"
  expect_offence model/up.h '  #  include "policy/order/fifo.h"' "model/ comes before policy/"
  expect_offence model/bare.h '#include "job.h"' "does not begin with the name of a layer"
  expect_offence other/x.h '' "other is not a layer"
  expect_offence live/book/up.h '#include "live/loop/loop.h"' "book/ comes before loop/"
  expect_offence live/stray.h '' "stray.h is not a layer"
  expect_offence live/loop/read.cpp '  std::ifstream file(directory + "/job/saved");' "a path of a user"
  expect_offence live/loop/move.cpp '  put(directory + "/job");' "a path of a user"
  expect_offence live/loop/print.cpp 'fmt::format("{}/checkpoints/{}", state, job);' "a path of a user"
  expect_offence live/loop/open.cpp '::open(own.told_to_user("saved").c_str());' "told_to_user() is for environment.cpp"
  expect_offence model/table.h 'struct Table {' "Table is the name of another type in"
}

# In the tree at $root, file $1 with content $2 must be refused with message $3.
expect_offence() {
  mkdir -p "$root/$(dirname "$1")"
  echo "$2" >"$root/$1"
  if check "$root" >"$root/output" || ! grep -qF "$root/$1:1: " "$root/output" ||
    ! grep -qF "$3" "$root/output"; then
    echo "$1 with '$2' should be refused: $3"
    cat "$root/output"
    exit 1
  fi
  rm "$root/$1"
}

if [ "${1:-src}" = --self-test ]; then self_test; else check "${1:-src}"; fi
