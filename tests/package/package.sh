#!/usr/bin/env bash
# The Debian package on a bare machine: it installs, its daemon starts as its unit says, an upgrade
# leaves a running job alone and the new daemon adopts it, a removal and a purge leave what they say
# and nothing else. The machine is a Debian in a folder (debootstrap) in namespaces of its own, kept
# below BUILD for the next time. Nothing there is the first process, so the unit's ExecStart is run
# by hand. Needs root and a mirror of Debian; ends with 77 without.
set -euo pipefail
: "${BUILD:?the folder of the build}"
BUILD=$(realpath "$BUILD")
root=$BUILD/package-test/machine

skip() {
  echo "skipped: $*"
  exit 77
}
fail() {
  echo "FAILED: $*" >&2
  [ ! -s "$root/tmp/daemon.log" ] || cat "$root/tmp/daemon.log" >&2
  exit 1
}
trap 'echo "FAILED in line $LINENO" >&2' ERR
expect() { grep -qE -- "$2" <<<"$3" || fail "$1: nothing matches '$2' in: $3"; }

if [ "${1:-}" != inside ]; then
  [ "$(id -u)" = 0 ] || skip "only root can install"
  for tool in debootstrap cpack dpkg-shlibdeps file unshare; do
    command -v $tool >/dev/null || skip "there is no $tool"
  done
  unshare --mount --pid --fork true 2>/dev/null || skip "there are no namespaces here"
  # Mounts and processes end with it.
  exec unshare --mount --pid --fork --kill-child --mount-proc "$BASH" "$0" inside
fi

# --- The packages: this version, and a later one ---
work=$BUILD/package-test
mkdir -p "$work"
rm -rf --one-file-system "$work"/*.deb "$root"
version=$(sed -n 's/^project(trainyard VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
for each in "$version" "$version.1"; do
  (cd "$BUILD" && cpack --config CPackConfig.cmake -G DEB -D CPACK_PACKAGE_VERSION="$each" -B "$work") \
    >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log" >&2; fail "cpack"; }
done
deb() { basename "$(ls "$work"/trainyard_"$1"_*.deb)"; }
depends=$(dpkg-deb -f "$work/$(deb "$version")" Depends)
expect "computed dependencies" 'libc6 \(>= .*libssl3' "$depends"

# --- The machine: bare, with what the package depends on and what looks at it ---
# Of the packages here, which the program was linked with: the one that is or provides this.
provider() {
  dpkg-query -W -f '${Package} ${Provides}\n' |
    awk -v name="$1" '{ gsub(/\([^)]*\)|,/, " "); for (i = 1; i <= NF; i++) if (!n && $i == name) { print $1; n = 1 } }'
}
include=python3,systemd,man-db
for name in $(sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g' <<<"$depends"); do
  include+=,$(provider "$name")
done
if [ "$(cat "$work/base.list" 2>/dev/null)" != "$include" ]; then
  rm -rf "$work/base"
  # shellcheck disable=SC2016  # apt expands it
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
  [ -n "$mirror" ] || skip "apt knows no mirror of Debian 12"
  debootstrap --variant=minbase --include="$include" bookworm "$work/base" "$mirror" \
    >"$work/debootstrap.log" 2>&1 || { tail -n 5 "$work/debootstrap.log"; skip "debootstrap failed"; }
  rm -f "$work"/base/var/cache/apt/archives/*.deb
  echo "$include" >"$work/base.list"
fi
cp -a "$work/base" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp "$work"/*.deb "$root/tmp/"
there=(chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
there() { "${there[@]}" "$@"; }
as_ada() { there setpriv --reuid ada --regid ada --init-groups env HOME=/home/ada TRAINYARD_STATE=/var/lib/trainyard "$@"; }
# What others write into all the time does not count.
files() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./run -o -path ./tmp -o -path ./home -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \) -prune -o -print | sort); }

there useradd --create-home ada
files >"$work/files.before"

# --- It installs, and is whole ---
there dpkg -i "/tmp/$(deb "$version")" >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2; fail "dpkg -i"; }
expect "the version" "^trainyard $version\$" "$(there trainyard --version)"
expect "the manual" 'trainyard-submit' "$(there man -P cat trainyard-submit)"
[ -z "$(there man --warnings -E UTF-8 -Tutf8 -Z -l /usr/share/man/man1/trainyard-serve.1.gz 2>&1 >/dev/null)" ] ||
  fail "the manual page has mistakes"
for file in /usr/share/bash-completion/completions/trainyard /usr/share/zsh/vendor-completions/_trainyard \
  /usr/share/fish/vendor_completions.d/trainyard.fish /usr/libexec/trainyard/trainyard-supervisor \
  /usr/share/doc/trainyard/copyright /etc/trainyard/config.toml /etc/pam.d/trainyard \
  /lib/systemd/system/trainyard-runs.service /lib/systemd/system/trainyard-flow-agent.service; do
  [ -s "$root$file" ] || fail "$file is missing"
done
expect "the Python package" '^/usr/lib/python3/dist-packages/' \
  "$(there python3 -c 'import trainyard; print(trainyard.__file__)')"
expect "the conffile" '/etc/trainyard/config.toml' "$(there dpkg-query -W -f '${Conffiles}' trainyard)"
for unit in trainyard:70 trainyard-flow-agent:30; do
  name=${unit%:*}.service
  verdict=$(there systemd-analyze verify "/lib/systemd/system/$name" 2>&1) || fail "$name: $verdict"
  ! grep -q "$name:" <<<"$verdict" || fail "$name: $verdict"
  there systemd-analyze security --offline=true --threshold="${unit#*:}" "$name" | tail -n 1 ||
    fail "$name is less hardened than it was"
done

# --- It starts as its unit says ---
start_daemon() {
  local line
  line=$(sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/trainyard.service")
  # shellcheck disable=SC2086  # words
  "${there[@]}" $line >>"$root/tmp/daemon.log" 2>&1 &
  daemon=$!
  until there trainyard queue >/dev/null 2>&1; do
    kill -0 $daemon 2>/dev/null || fail "the daemon has ended"
    sleep 0.1
  done
}
stop_daemon() { kill $daemon && wait $daemon || fail "the daemon ended with $?"; }
# until_true COMMAND...: within a minute.
until_true() {
  local end=$((SECONDS + 60))
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "waited in vain: $*"
    sleep 0.1
  done
}
state() { as_ada trainyard show "$1" --json | sed 's/.*"state":"\([a-z]*\)".*/\1/'; }
is() { [ "$(state "$1")" = "$2" ]; }
steps() { wc -l <"$root/home/ada/$1.steps"; }
# Counts until it is told to leave; its process and all that it writes are there to be looked at.
submit() {
  as_ada sh -c "cd && trainyard submit --json -- sh -c 'echo \$\$ >$1.pid; echo kept >\$TRAINYARD_CHECKPOINT_DIR/mine;
    while [ ! -e $1.leave ]; do echo step >>$1.steps; sleep 0.1; done'" | sed 's/.*"job":\([0-9]*\).*/\1/'
}
printf 'log-level = "debug"\n' >>"$root/etc/trainyard/config.toml"
start_daemon
job=$(submit first)
until_true is "$job" running
until_true test -s "$root/home/ada/first.pid"
pid=$(cat "$root/home/ada/first.pid")
expect "it runs as its user" 'ada' "$(there stat -c %U "/proc/$pid")"

# --- An upgrade under a running job ---
there dpkg -i "/tmp/$(deb "$version.1")" >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2; fail "the upgrade"; }
expect "what the operator wrote stays" 'log-level = "debug"' "$(tail -n 1 "$root/etc/trainyard/config.toml")"
before=$(steps first)
goes_on() { [ "$(steps "$1")" -gt "$before" ]; }
until_true goes_on first
stop_daemon
before=$(steps first)
until_true goes_on first
start_daemon
is "$job" running || fail "the new daemon does not know the job: $(state "$job")"
kill -0 "$pid" || fail "the job's process has ended"
before=$(steps first)
until_true goes_on first
touch "$root/home/ada/first.leave"
until_true is "$job" done
expect "one run" '"runs":1[,}]' "$(as_ada trainyard show "$job" --json)"
expect "the log of both daemons" "job $job of ada is starting.*" "$(cat "$root/tmp/daemon.log")"

# --- A removal while the daemon and a job run, and a purge ---
job=$(submit second)
until_true is "$job" running
said=$(there dpkg -r trainyard 2>&1) || fail "dpkg -r: $said"
expect "the removal" 'jobs still run' "$said"
wait $daemon || fail "the daemon that was removed ended with $?"
[ ! -e "$root/usr/bin/trainyard" ] || fail "the program is still there"
until_true test -s "$root/home/ada/second.steps"
before=$(steps second)
until_true goes_on second
touch "$root/home/ada/second.leave"
gone() { ! kill -0 "$(cat "$root/home/ada/second.pid")" 2>/dev/null && ! grep -qsz '^/var/lib/trainyard/runs/' /proc/[0-9]*/cmdline; }
until_true gone
"${there[@]}" flock --no-fork /var/lib/trainyard/lock sleep 600 &
holder=$!
held() { ! there flock --nonblock /var/lib/trainyard/lock true; }
until_true held
! said=$(there dpkg -P trainyard 2>&1) || fail "it is purged under a daemon: $said"
expect "the refusal" 'a daemon still serves /var/lib/trainyard' "$said"
[ -s "$root/var/lib/trainyard/journal.db" ] || fail "a purge that was refused removed the journal"
kill $holder && wait $holder || true
until_true there flock --nonblock /var/lib/trainyard/lock true
said=$(there dpkg -P trainyard 2>&1) || fail "dpkg -P: $said"
expect "the purge" 'checkpoints are kept in /var/lib/trainyard/checkpoints' "$said"
[ "$(cat "$root"/var/lib/trainyard/checkpoints/u*/jobs/"$job"/mine)" = kept ] || fail "a checkpoint is lost"
rm -r "$root/var/lib/trainyard"
files >"$work/files.after"
diff "$work/files.before" "$work/files.after" || fail "the purge left something"
umount -R "$root/dev" "$root/proc"
rm -rf --one-file-system "$root"
echo 'package.sh: all as expected'
