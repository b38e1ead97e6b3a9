#include "live/engine/local/shims.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr std::string_view kScontrol = R"(#!/bin/sh
# Answers for this job what training scripts ask of Slurm's scontrol.
refuse() {
  echo "scontrol (of Trainyard): $1; known are 'requeue JOB' of the job itself and 'show hostnames'" >&2
  exit 1
}
case "$1" in
requeue)
  [ -n "$TRAINYARD_REQUEUE_FILE" ] || refuse "not inside a job"
  [ "$#" -le 2 ] || refuse "one job only can be requeued"
  case "${2:-$TRAINYARD_JOB_ID}" in
  "$TRAINYARD_JOB_ID" | "${SLURM_ARRAY_JOB_ID:-none}_${SLURM_ARRAY_TASK_ID:-}") ;;
  *) refuse "this is job $TRAINYARD_JOB_ID, not $2" ;;
  esac
  echo now >"$TRAINYARD_REQUEUE_FILE"
  ;;
show)
  case "$2" in
  hostname | hostnames) echo "${3:-$SLURM_JOB_NODELIST}" | tr ',' '\n' ;;
  *) refuse "'show $2' is not known" ;;
  esac
  ;;
*) refuse "'$1' is not known" ;;
esac
)";

// Names no file of its own: sh of any kind can read it, bash does so by itself.
constexpr std::string_view kProfile = R"(case ":$PATH:" in
*":$TRAINYARD_BIN:"*) ;;
*) PATH=$TRAINYARD_BIN:$PATH ;;
esac
[ -z "${TRAINYARD_BASH_ENV-}" ] || . "$TRAINYARD_BASH_ENV"
)";

/// What is there already needs no space on a disk that may be full.
Expected<void> have_file(const std::string& path, std::string_view text, mode_t mode) {
  const auto there = read_small_file(path);
  return there && *there == text ? Expected<void>() : replace_file(path, text, mode);
}

/// In place of what stood there.
Expected<void> link_to(const std::string& target, const std::string& path) {
  std::error_code none;
  if (std::filesystem::read_symlink(path, none) == target) return {};
  const std::string part = path + ".part";
  ::unlink(part.c_str());
  if (::symlink(target.c_str(), part.c_str()) == 0 && std::rename(part.c_str(), path.c_str()) == 0)
    return {};
  return fail("{}: cannot be made: {}", path, std::strerror(errno));
}

}  // namespace

Expected<void> write_shims(const std::string& state, const std::string& supervisor) {
  const std::string bin = state + "/bin";
  if (auto ok = have_file(bin + "/scontrol", kScontrol, 0755); !ok) return ok;
  if (auto ok = have_file(bin + "/profile", kProfile, 0644); !ok) return ok;
  return link_to(supervisor, bin + "/srun");
}

}  // namespace trainyard
