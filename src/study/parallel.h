// Independent pieces of work on several threads, with the outcome of doing them one after the
// other.
#pragma once

#include <cstddef>
#include <functional>

#include "base/error.h"

namespace trainyard {

/// Calls work(0) .. work(count - 1), each once, begun in that order on so many threads (0: one a
/// core). When calls fail, the error is that of the first of them in order, and calls after it are
/// not begun.
Expected<void> in_parallel(std::size_t count, int threads,
                           const std::function<Expected<void>(std::size_t)>& work);

}  // namespace trainyard
