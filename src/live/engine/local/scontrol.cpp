#include "live/engine/local/scontrol.h"

#include "live/supervisor/files.h"

namespace trainyard {
namespace {

constexpr std::string_view kScript = R"(#!/bin/sh
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
  : >"$TRAINYARD_REQUEUE_FILE"
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

}  // namespace

Expected<void> write_scontrol(const std::string& state) {
  return replace_file(state + "/bin/scontrol", kScript, 0755);
}

}  // namespace trainyard
