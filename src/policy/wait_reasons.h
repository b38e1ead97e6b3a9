// Why a job waits, as far as that is the same under every policy.
#pragma once

#include <string>
#include <string_view>

#include "policy/policy.h"

namespace trainyard {

/// The token of what is said of a running job that may get more in the next round.
constexpr std::string_view kNextRound = "next-round";

/// What a gang of this shape lacks on so many machines at most: "needs 8 GPUs; 6 free". Empty where
/// it lacks nothing.
std::string shortage(const Yard& yard, const Shape& shape, std::int32_t max_machines,
                     std::string_view verb = "needs");

/// Of a job that is reserved.
WaitReason room_being_made(const Yard& yard, JobId job);

/// Of a job that is neither queued nor reserved.
WaitReason does_not_wait(const Yard& yard, JobId job);

}  // namespace trainyard
