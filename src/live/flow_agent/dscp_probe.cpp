#include "live/flow_agent/dscp_probe.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <tuple>

#include "live/system/files.h"

namespace trainyard {
namespace {

constexpr int kTries = 3;
constexpr std::chrono::milliseconds kAnswersWithin{1000};
/// What is asked: random bytes, so that an answer is to this and no other datagram. The answer is
/// the first 16 of them and the code point. It is shorter, so that two that answer never answer
/// each other.
using Question = std::array<unsigned char, 24>;
using Answer = std::array<unsigned char, 17>;

struct Peer {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Expected<Peer> find_peer(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0)
    return fail("--peer {}: is not HOST:PORT", quoted(text));
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  const int problem = ::getaddrinfo(host.c_str(), text.substr(colon + 1).c_str(), &hints, &found);
  if (problem != 0) return fail("--peer {}: {}", text, ::gai_strerror(problem));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  Peer peer;
  std::memcpy(&peer.address, found->ai_addr, found->ai_addrlen);
  peer.size = found->ai_addrlen;
  return peer;
}

void set_code_point(int socket, int family, int code_point) {
  const int octet = code_point << 2;
  if (family == AF_INET6)
    (void)::setsockopt(socket, IPPROTO_IPV6, IPV6_TCLASS, &octet, sizeof octet);
  else
    (void)::setsockopt(socket, IPPROTO_IP, IP_TOS, &octet, sizeof octet);
}

/// The code point that it came with, by its ancillary data.
int code_point_of(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TOS) return *CMSG_DATA(part) >> 2;
    if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_TCLASS) {
      int octet = 0;
      std::memcpy(&octet, CMSG_DATA(part), sizeof octet);
      return octet >> 2;
    }
  }
  return 0;
}

/// -1 if no answer to this datagram comes in time.
int await_answer(int socket, const Question& asked) {
  const auto until = std::chrono::steady_clock::now() + kAnswersWithin;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - std::chrono::steady_clock::now());
    pollfd wait{socket, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return -1;
    Question answer{};  // has room for more than there may be
    const ssize_t size = ::recv(socket, answer.data(), answer.size(), MSG_DONTWAIT);
    constexpr std::size_t kRandom = std::tuple_size_v<Answer> - 1;
    if (size == std::tuple_size_v<Answer> &&
        std::equal(asked.begin(), asked.begin() + kRandom, answer.begin()))
      return answer[kRandom];
  }
}

}  // namespace

Expected<std::vector<int>> probe_code_points(const std::string& text,
                                             const std::vector<int>& code_points) {
  const auto peer = find_peer(text);
  if (!peer) return tl::make_unexpected(peer.error());
  const int family = peer->address.ss_family;
  const Descriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer->address), peer->size) != 0)
    return fail("--peer {}: {}", text, std::strerror(errno));
  std::vector<int> arrived;
  for (const int code_point : code_points) {
    set_code_point(socket.get(), family, code_point);
    int answer = -1;
    for (int i = 0; i < kTries && answer < 0; ++i) {
      Question asked{};
      if (::getrandom(asked.data(), asked.size(), 0) < 0) return fail("no random numbers");
      (void)::send(socket.get(), asked.data(), asked.size(), 0);
      answer = await_answer(socket.get(), asked);
    }
    arrived.push_back(answer);
  }
  return arrived;
}

Expected<void> echo_code_points(int port, int end) {
  const Descriptor socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int off = 0, on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on);
  (void)::setsockopt(socket.get(), IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(static_cast<std::uint16_t>(port));
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0)
    return fail("--echo {}: {}", port, std::strerror(errno));
  pollfd waits[] = {{end, POLLIN, 0}, {socket.get(), POLLIN, 0}};
  while (::poll(waits, 2, -1) >= 0 || errno == EINTR) {
    if ((waits[0].revents & POLLIN) != 0) break;
    if ((waits[1].revents & POLLIN) == 0) continue;
    Question asked{};
    sockaddr_storage from{};
    std::array<char, 256> extra{};
    iovec part{asked.data(), asked.size()};
    msghdr message{};
    message.msg_name = &from, message.msg_namelen = sizeof from;
    message.msg_iov = &part, message.msg_iovlen = 1;
    message.msg_control = extra.data(), message.msg_controllen = extra.size();
    if (::recvmsg(socket.get(), &message, MSG_DONTWAIT) != static_cast<ssize_t>(asked.size()))
      continue;
    Answer answer{};
    std::copy_n(asked.begin(), answer.size() - 1, answer.begin());
    answer.back() = static_cast<unsigned char>(code_point_of(message));
    (void)::sendto(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT,
                   reinterpret_cast<const sockaddr*>(&from), message.msg_namelen);
  }
  return {};
}

}  // namespace trainyard
