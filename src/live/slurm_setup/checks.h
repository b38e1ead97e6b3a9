// What slurm.conf has to say so that Trainyard can steer a partition, and why; and how a given
// slurm.conf stands to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "live/slurm_setup/slurm_conf.h"

namespace trainyard {

struct SlurmFinding {
  enum class Kind {
    good,     // says what it has to
    missing,  // has to be added, or changed to it
    harmful,  // works against Trainyard
    advice,   // goes without, but less well
  };
  Kind kind = Kind::good;
  std::size_t line = 0;  // where it stands; 0: nowhere
  std::string text;      // the line as it should be, or as it is where that is harmful
  std::string why;
};

std::string_view name(SlurmFinding::Kind kind);

/// `conf` null: there is none yet, so that all that is needed is missing.
std::vector<SlurmFinding> check_slurm_conf(const SlurmConf* conf, std::string_view partition);

}  // namespace trainyard
