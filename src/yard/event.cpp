#include "yard/event.h"

namespace trainyard {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::absent:
      return "absent";
    case Phase::queued:
      return "queued";
    case Phase::reserved:
      return "reserved";
    case Phase::starting:
      return "starting";
    case Phase::running:
      return "running";
    case Phase::draining:
      return "draining";
    case Phase::done:
      return "done";
    case Phase::failed:
      return "failed";
    case Phase::cancelled:
      return "cancelled";
  }
  return "?";
}

std::string_view describe(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "accepted";
    case Verdict::time_went_back:
      return "the event is older than the one before it";
    case Verdict::no_such_subject:
      return "there is no such job or machine";
    case Verdict::wrong_phase:
      return "the job is not in a phase where this can happen";
    case Verdict::wrong_gang:
      return "the placement is not the job's whole gang";
    case Verdict::no_room:
      return "a machine has not that much free";
    case Verdict::wrong_kind:
      return "the machine, or the whole cluster, has GPUs of other kinds than the job wants";
    case Verdict::forbidden:
      return "a machine lacks a feature that the job asks for, or cannot be shared as it asks";
    case Verdict::wrong_value:
      return "the rate, the estimate or the point of a learning curve is none that can be";
    case Verdict::machine_is_down:
      return "a machine is down";
    case Verdict::machine_is_up:
      return "the machine is up already";
    case Verdict::victim_protected:
      return "a job to be paused is protected from it now";
    case Verdict::victim_unneeded:
      return "a job would be paused without need";
    case Verdict::no_change:
      return "nothing would change by it";
  }
  return "?";
}

}  // namespace trainyard
