#!/usr/bin/env bash
# trainyard workload and the frame around it: what is printed, what is refused and with which status,
# and that a failure leaves no file behind. TRAINYARD is the program to test.
set -eu
program=$(realpath "${TRAINYARD:?set it to the program}")
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

die() {
  echo "workload.sh: $*" >&2
  exit 1
}

# refuses PATTERN ARGUMENT...: status 2, and the pattern in a message that begins with our name.
refuses() {
  local pattern=$1 status=0
  shift
  "$program" "$@" >stdout 2>stderr || status=$?
  [ "$status" = 2 ] || die "'$*' ended with $status, not 2"
  grep -q '^trainyard: ' stderr || die "'$*' does not say who speaks: $(cat stderr)"
  grep -qe "$pattern" stderr || die "'$*' does not say '$pattern': $(cat stderr)"
  [ ! -s stdout ] || die "'$*' printed something although it failed"
}

# prints PATTERN ARGUMENT...: status 0, and the pattern on standard output.
prints() {
  local pattern=$1
  shift
  "$program" "$@" >stdout 2>stderr || die "'$*' failed: $(cat stderr)"
  grep -qe "$pattern" stdout || die "'$*' does not print '$pattern': $(cat stdout)"
}

# The frame.
prints '^trainyard [0-9]' --version
prints 'Examples:' --help
for command in 'workload' 'workload info' 'workload convert' 'workload generate' 'completion'; do
  # shellcheck disable=SC2086
  prints 'Examples:' $command --help
done
refuses 'which command'
refuses "'worklod', did you mean 'workload'" worklod
refuses "'inf', did you mean 'info'" workload inf
refuses "'--clutser', did you mean '--cluster'" workload info poisson --clutser 1x8xV100
refuses "unknown argument 'more'" workload info poisson more
refuses 'whole number' workload info poisson --seed -1
refuses 'whole number' workload info poisson --seed x

# Generate: the same seed gives the same bytes, in a file as on standard output.
spec=philly-like:jobs=2000,load=0.8,trial=0.3,save=20
"$program" workload generate $spec --seed 7 >a.csv
"$program" workload generate $spec --seed 7 -o b.csv 2>stderr
cmp a.csv b.csv || die 'the same seed gave other jobs'
grep -q 'workload info b.csv' stderr || die 'the next command is not shown'
"$program" workload generate $spec --seed 8 >c.csv
! cmp -s a.csv c.csv || die 'another seed gave the same jobs'
refuses "'poison', did you mean 'poisson'" workload generate poison:jobs=5
refuses "'lod', did you mean 'load'" workload generate poisson:lod=5
refuses "jobs='0'" workload generate poisson:jobs=0 -o never.csv
refuses 'not a cluster' workload generate poisson --cluster 8 -o never.csv

# Info: figures, JSON, bars for terminals of both kinds, distances.
prints '^jobs  *2,000 (600 trial, 1,400 batch)' workload info a.csv
prints '^load  *0\.800 offered' workload info a.csv --cluster 16x8xV100
prints '"trial": 600' workload info a.csv --json
prints '"offered_load": 0\.[78]' workload info a.csv --json --cluster 16x8xV100
LC_ALL=C.UTF-8 prints '█' workload info a.csv
LC_ALL=C.UTF-8 prints '####' workload info a.csv --plain
LC_ALL=C prints '####' workload info a.csv
prints '^duration  *2,000  *2,000  *0\.0000' workload info a.csv --against b.csv
prints '"ks": 0.0' workload info a.csv --against b.csv --json
refuses 'absent.csv' workload info absent.csv
refuses "'nativ' is not known, did you mean 'native'" workload info a.csv --format nativ

# Convert: through our own format nothing changes; rules, limits and what does not fit.
"$program" workload convert a.csv -o d.csv 2>stderr
cmp a.csv d.csv || die 'a native file changes when converted'
printf '%s\n' submit,duration,workers 0,60,1 5,600,1 9,60,4 >few.csv
"$program" workload convert few.csv --trial-below 5m >stdout 2>stderr
[ "$(grep -c trial stdout)" = 1 ] || die "one trial job was expected: $(cat stdout)"
grep -q '1 of 3 jobs are trial' stderr || die 'the number of trial jobs is not said'
"$program" workload convert few.csv --trial-below 5m --trial-max-gpus 4 >stdout 2>stderr
[ "$(grep -c trial stdout)" = 2 ] || die "two trial jobs were expected: $(cat stdout)"
[ "$("$program" workload convert few.csv --limit 2 | wc -l)" = 3 ] || die 'the limit is not kept'
[ "$("$program" workload convert few.csv --cluster 1x2xV100 --drop-larger 2>stderr | wc -l)" = 3 ] ||
  die 'the larger job is still there'
grep -q '1 of 3 jobs left out: too large' stderr || die 'what was left out is not said'
prints '^too large  1 jobs' workload info few.csv --cluster 1x2xV100
refuses 'needs --cluster' workload convert few.csv --drop-larger -o never.csv
refuses "'soon' is not a duration" workload convert few.csv --trial-below soon -o never.csv
refuses 'requires --trial-below' workload convert few.csv --trial-max-gpus 2 -o never.csv
refuses 'whole number' workload convert few.csv --limit -1 -o never.csv
refuses 'cannot be written' workload convert few.csv -o no/such/directory.csv
printf '%s\n' submit,duration 0,60 1,minus >bad.csv
refuses 'bad.csv:3' workload convert bad.csv -o never.csv
if [ -e /dev/full ]; then
  status=0
  "$program" workload convert few.csv >/dev/full 2>stderr || status=$?
  [ "$status" = 2 ] || die "a full disk gave status $status"
fi

# Compressed files and standard input, as every other workload.
gzip -c few.csv >few.csv.gz
prints '^jobs  *3 ' workload info few.csv.gz
"$program" workload convert - <few.csv.gz >stdout 2>stderr
cmp few.csv stdout || die 'standard input gave other jobs'
prints '^jobs  *3 ' workload info - <few.csv
head -c 40 few.csv.gz >cut.csv.gz
refuses 'cut.csv.gz: the gzip data ends too soon' workload info cut.csv.gz
refuses 'standard input: the file is empty' workload info - </dev/null
refuses 'is not a regular file.*standard input as -' workload info <(cat few.csv)

# Times in another unit, ids that are given twice, and notes also of a trace that is made over.
printf '%s\n' job_id,num_gpu,submit_time,duration 1,1,0,200000000 2,1,50000,100000000 >ms.csv
refuses 'half of the jobs run for .*--time-unit ms' workload info ms.csv
prints '^submitted  from 0s to 50s' workload info ms.csv --time-unit ms
prints 'max 2d 7h' workload info trace:file=ms.csv --time-unit ms
printf '%s\n' id,submit,duration a,0,60 b,1,60 a,2,60 >twice.csv
refuses "two jobs have the id 'a'" workload info twice.csv
printf '%s\n' timestamp,duration,num_gpus '2017-10-01 00:00:00,0,1' '2017-10-01 00:00:05,60,4' \
  '2017-10-01 00:00:09,60,1' >philly.csv
"$program" workload info trace:file=philly.csv >stdout 2>stderr
grep -q 'note: philly.csv: 1 job left out: ran for 0 seconds' stderr || die 'the note is missing'
refuses '1 of 2 jobs are too large.*--drop-larger' workload info trace:file=philly.csv --cluster 1x2xV100
"$program" workload generate trace:file=philly.csv --cluster 1x2xV100 --drop-larger >stdout 2>stderr
[ "$(wc -l <stdout)" = 2 ] || die "one job was expected: $(cat stdout)"
grep -q '1 of 2 jobs left out: too large' stderr || die 'what was left out is not said'

# A failure leaves what was there, and nothing else.
cp few.csv kept.csv
refuses 'bad.csv:3' workload convert bad.csv -o kept.csv
cmp few.csv kept.csv || die 'a failed conversion changed its target'
[ ! -e never.csv ] || die 'a failed command left a file'
[ -z "$(find . -name '*.part')" ] || die 'a part of a file was left behind'

# Completion: the shells that are here accept their script, and bash completes with it.
for shell in bash zsh fish; do
  "$program" completion $shell >completion.$shell
  grep -q -- against completion.$shell || die "completion for $shell does not know --against"
  ! command -v $shell >/dev/null || $shell -n completion.$shell || die "$shell refuses its script"
done
# completes EXPECTED WORD...: what bash offers for the last word.
completes() {
  local expected=$1 offered
  shift
  offered=$(bash -c 'source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _trainyard
    echo "${COMPREPLY[*]}"' bash "$@")
  [ "$offered" = "$expected" ] || die "'$*' completes to '$offered', not '$expected'"
}
completes workload trainyard wo
completes 'info' trainyard workload i
completes '--seed' trainyard workload info a.csv --s
completes 'philly-json philly-csv' trainyard workload info --format ph
completes 'zsh' trainyard completion z
completes 'tiresias' trainyard sim --policy tir
completes 'fifo,tiresias' trainyard compare --policy fifo,tir
completes 'tiresias' trainyard policies tir
completes 'equal-split' trainyard sim --policy eq
TRAINYARD_STATE=$PWD/nowhere completes '' trainyard cancel 1
refuses "'ksh'" completion ksh
echo 'workload.sh: all as expected'
