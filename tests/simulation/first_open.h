// Every way to die while the journal is made for the first time.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard {

/// A daemon is killed, or its power fails, at each write, sync and removal of its first start; the
/// next one commits something, and then the power fails. Returns what does not hold, or nothing.
/// `acts` is how many acts there were.
std::string die_while_making_the_journal(std::uint64_t& acts);

}  // namespace trainyard
