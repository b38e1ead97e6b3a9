// All jobs in one flow class: their bytes share the network alike.
#include "policy/members.h"

namespace trainyard {

Member<FlowStage> flow_fair() {
  return {{"fair", "all flows share the network alike", "standard"},
          [](const Params&, PolicyContext&) -> std::unique_ptr<FlowStage> { return nullptr; }};
}

}  // namespace trainyard
