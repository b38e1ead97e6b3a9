// Who may see and do what with whose jobs.
#pragma once

#include "live/book/job_record.h"
#include "live/service/service.h"

namespace trainyard {

template <class... Args>
tl::unexpected<Refusal> refuse(Refusal::Kind kind, fmt::format_string<Args...> format,
                               Args&&... args) {
  return tl::make_unexpected(Refusal{kind, fmt::format(format, std::forward<Args>(args)...)});
}

/// What cannot be read or written now.
inline tl::unexpected<Refusal> unavailable(const Error& error) {
  return refuse(Refusal::Kind::unavailable, "{}", error.message);
}

/// The name alone does not do: it is the kernel's number that counts.
inline bool is_owner(const Identity& who, const Identity& owner) {
  return who.uid == owner.uid && who.user == owner.user;
}
inline bool may_handle(const Identity& who, const Identity& owner) {
  return who.role == Role::operator_ || (who.role == Role::user && is_owner(who, owner));
}
/// All of it; else what stands in the queue (public_part), or nothing where jobs are private.
inline bool sees_all(const Identity& who, const JobRecord& job) {
  return who.role == Role::operator_ || is_owner(who, job.owner);
}

}  // namespace trainyard
