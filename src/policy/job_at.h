// A job and a time, by the time and then by the number: what lists of jobs that are due, that wait
// or that will end are made of.
#pragma once

#include "base/ids.h"
#include "base/time.h"

namespace trainyard {

struct JobAt {
  Time at;
  JobId job = kNoJob;

  friend bool operator<(const JobAt& a, const JobAt& b) {
    return a.at != b.at ? a.at < b.at : a.job < b.job;
  }
};

}  // namespace trainyard
