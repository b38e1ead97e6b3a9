// Runs a plan on several threads. What comes out depends on the plan alone: not on the number of
// threads, on which run ended first, or on which of them a journal had already.
#pragma once

#include <functional>
#include <vector>

#include "base/error.h"
#include "sim/result.h"
#include "study/reproduce/journal.h"
#include "study/reproduce/plan.h"

namespace trainyard {

/// The numbers of a run that are the same whenever it is repeated.
Metrics metrics_of(const Result& result);

struct RunnerOptions {
  int threads = 0;                // runs at once; 0: one a core
  RunJournal* journal = nullptr;  // null: the runs are not kept
  /// Before the first run: how many the journal has.
  std::function<void(std::size_t there_already)> on_begin = [](std::size_t) {};
  std::function<void()> on_run_done = [] {};  // from several threads at once
};

/// One for each of the plan's runs. A workload is made once, and kept only while runs on it are
/// to come.
Expected<std::vector<Metrics>> run_plan(const StudyPlan& plan, const RunnerOptions& options);

}  // namespace trainyard
