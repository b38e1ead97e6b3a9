// How the value of each option of sbatch that is taken becomes a wish: for the table only.
#pragma once

#include "live/sbatch/sbatch_options.h"

namespace trainyard {

Expected<std::int64_t> whole_number_of(std::string_view text);
/// "[KIND:]N"; the kind is that of --gpu-kind.
Expected<std::int64_t> gpus_of_kind(SbatchWishes& wishes, std::string_view text);

template <auto Member>
Expected<void> set_whole(SbatchWishes& wishes, std::string_view value) {
  const auto number = whole_number_of(value);
  if (!number) return tl::make_unexpected(number.error());
  wishes.*Member = *number;
  return {};
}

template <auto Member>
Expected<void> set_memory(SbatchWishes& wishes, std::string_view value) {
  const auto mib = parse_sbatch_memory(value);
  if (!mib) return tl::make_unexpected(mib.error());
  wishes.*Member = *mib;
  return {};
}

/// "[KIND:]N".
template <auto Member>
Expected<void> set_gpus(SbatchWishes& wishes, std::string_view value) {
  const auto number = gpus_of_kind(wishes, value);
  if (!number) return tl::make_unexpected(number.error());
  wishes.*Member = *number;
  return {};
}

Expected<void> set_constraint(SbatchWishes& wishes, std::string_view value);
Expected<void> set_dependency(SbatchWishes& wishes, std::string_view value);
Expected<void> set_directory(SbatchWishes& wishes, std::string_view value);
Expected<void> set_exclusive(SbatchWishes& wishes, std::string_view value);
Expected<void> set_export(SbatchWishes& wishes, std::string_view value);
Expected<void> set_gres(SbatchWishes& wishes, std::string_view value);
Expected<void> set_kill_on_invalid_dependency(SbatchWishes& wishes, std::string_view value);
Expected<void> set_nodes(SbatchWishes& wishes, std::string_view value);
Expected<void> set_nothing(SbatchWishes& wishes, std::string_view value);

}  // namespace trainyard
