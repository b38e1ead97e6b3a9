// Dense ids: each is an index into a vector of what it names. Distinct types, so that a machine is
// never looked up by a job's number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace trainyard {

enum class JobId : std::uint32_t {};
enum class MachineId : std::uint32_t {};
enum class RackId : std::uint32_t {};
enum class KindId : std::uint16_t {};   // of GPU
enum class ModelId : std::uint16_t {};  // of neural network
enum class UserId : std::uint32_t {};
enum class TermsId : std::uint32_t {};  // what a job asks of its machines

template <class Id>
constexpr std::size_t index(Id id) {
  return static_cast<std::size_t>(id);
}

constexpr JobId kNoJob{std::numeric_limits<std::uint32_t>::max()};
constexpr MachineId kNoMachine{std::numeric_limits<std::uint32_t>::max()};
/// A job that takes any kind of GPU.
constexpr KindId kAnyKind{std::numeric_limits<std::uint16_t>::max()};
/// A job that takes the same of every machine of its kind.
constexpr TermsId kNoTerms{std::numeric_limits<std::uint32_t>::max()};
/// A job whose model is not known.
constexpr ModelId kNoModel{std::numeric_limits<std::uint16_t>::max()};

}  // namespace trainyard
