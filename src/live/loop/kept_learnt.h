// What the policies have learnt, and what pauses cost, as the journal keeps them.
#pragma once

#include <string>

namespace trainyard {

struct KeptLearnt {
  std::string learnt = "{}", costs = "[]";
};

}  // namespace trainyard
