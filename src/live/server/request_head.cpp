#include "live/server/request_head.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace trainyard {
namespace {

using Problem = tl::unexpected<HeadProblem>;
using Done = tl::expected<void, HeadProblem>;

Problem bad(std::string message, int status = 400) {
  return Problem(HeadProblem{status, std::move(message)});
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// A token of RFC 9110, section 5.6.2.
bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_letter_or_digit(c) || kMarks.find(c) != kMarks.npos;
  });
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

std::optional<char> hexadecimal(std::string_view digits) {
  unsigned value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, problem] = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != 2 || problem != std::errc{} || at != end) return {};
  return static_cast<char>(value);
}

/// `forbidden`: characters that must not come out of it. In a query a plus sign is a space.
tl::expected<std::string, HeadProblem> decoded(std::string_view text, std::string_view forbidden,
                                               bool in_query) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += in_query && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const auto byte = hexadecimal(text.substr(i + 1, 2));
    if (!byte) return bad("the target has a '%' that two hexadecimal digits do not follow");
    if (forbidden.find(*byte) != forbidden.npos)
      return bad(fmt::format("the target has {} percent-encoded, which is not taken",
                             *byte == '\0' ? "a NUL byte" : "a slash"));
    plain += *byte;
    i += 2;
  }
  return plain;
}

Done read_query(std::string_view text, RequestHead& head) {
  const std::string_view nul("\0", 1);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.empty()) continue;
    const std::size_t sign = std::min(part.find('='), part.size());
    auto name = decoded(part.substr(0, sign), nul, true);
    auto value = decoded(part.substr(std::min(sign + 1, part.size())), nul, true);
    if (!name) return Problem(name.error());
    if (!value) return Problem(value.error());
    head.query.emplace(*std::move(name), *std::move(value));
  }
  return {};
}

/// "http://host/path", which a client sends to a proxy and a server has to take.
std::string_view without_authority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (lower(target.substr(0, scheme.size())) != scheme) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = std::min(target.find_first_of("/?"), target.size());
    const bool is_host = end > 0 && target.substr(0, end).find('@') == target.npos;
    target.remove_prefix(end);
    if (!is_host) return "";
    return target.empty() ? "/" : target;
  }
  return target;
}

Done read_target(std::string_view target, RequestHead& head) {
  if (target.size() > kLongestTarget)
    return bad(fmt::format("the request's path is {} bytes; the limit is {}", target.size(),
                           kLongestTarget),
               414);
  const auto is_visible = [](char c) { return c > 0x20 && c < 0x7f && c != '#'; };
  if (!std::ranges::all_of(target, is_visible))
    return bad("the target has a character that must be percent-encoded");
  target = without_authority(target);
  if (!target.starts_with('/')) return bad("the target does not begin with '/'");
  const std::size_t mark = std::min(target.find('?'), target.size());
  auto path = decoded(target.substr(0, mark), std::string_view("\0/", 2), false);
  if (!path) return Problem(path.error());
  head.path = *std::move(path);
  return read_query(target.substr(std::min(mark + 1, target.size())), head);
}

Done read_request_line(std::string_view line, RequestHead& head) {
  constexpr std::array<std::string_view, 7> kMethods{"GET",    "HEAD",    "POST", "PUT",
                                                     "DELETE", "OPTIONS", "PATCH"};
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == line.npos || first == last)
    return bad("this is not a request in HTTP/1.1: METHOD TARGET HTTP/1.1");
  head.method = line.substr(0, first);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(head.method) || (version != "HTTP/1.1" && version != "HTTP/1.0"))
    return bad("this is not a request in HTTP/1.1: METHOD TARGET HTTP/1.1");
  head.is_http10 = version == "HTTP/1.0";
  if (std::ranges::find(kMethods, head.method) == kMethods.end())
    return bad("the method is not known", 501);
  return read_target(line.substr(first + 1, last - first - 1), head);
}

Done read_field(std::string_view line, RequestHead& head) {
  if (line.starts_with(' ') || line.starts_with('\t'))
    return bad("a header line begins with a blank: folded lines are not taken");
  const std::size_t colon = line.find(':');
  if (colon == line.npos) return bad("a header line has no colon");
  if (!is_token(line.substr(0, colon)))
    return bad("a header's name has a blank or another character that is not allowed before ':'");
  if (std::ranges::any_of(line, is_control)) return bad("a header has a control character");
  if (head.fields.size() == kMostFields)
    return bad(fmt::format("there are more than {} headers", kMostFields), 431);
  head.fields.emplace_back(lower(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return {};
}

/// Only of a stated length: where a request ends must never be in doubt.
Done read_length(RequestHead& head) {
  head.is_chunked = head.count("transfer-encoding") > 0;
  head.has_body = head.count("content-length") > 0;
  if (!head.has_body) return {};
  if (head.is_chunked) return bad("both Content-Length and Transfer-Encoding are given");
  const std::string_view text = head.value("content-length");
  const char* end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, head.body_bytes);
  if (head.count("content-length") > 1 || text.empty() || problem != std::errc{} || at != end ||
      text[0] == '+' || text[0] == '-')
    return bad("Content-Length: is not one whole number");
  return {};
}

Done read_host(const RequestHead& head) {
  constexpr std::string_view kMarks = ".-_:[]%~";
  const std::size_t hosts = head.count("host");
  if (hosts > 1 || (hosts == 0 && !head.is_http10)) return bad("there is not one Host");
  const bool is_host = std::ranges::all_of(head.value("host"), [&](char c) {
    return is_letter_or_digit(c) || kMarks.find(c) != kMarks.npos;
  });
  if (!is_host) return bad("Host: is not the name of a host");
  return {};
}

/// What is to become of the connection, and of a client that waits to be told to go on.
Done read_wishes(RequestHead& head) {
  bool closes = head.is_http10;
  for (const auto& [name, value] : head.fields) {
    if (name == "connection" && lower(value).find("close") != std::string::npos) closes = true;
    if (name != "expect") continue;
    if (lower(value) != "100-continue") return bad("Expect: only 100-continue is known", 417);
    head.expects_continue = !head.is_http10;
  }
  head.keeps_alive = !closes;
  return {};
}

}  // namespace

std::size_t RequestHead::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(fields, [&](const auto& field) { return field.first == name; }));
}

std::string_view RequestHead::value(std::string_view name) const {
  const auto found =
      std::ranges::find_if(fields, [&](const auto& field) { return field.first == name; });
  return found == fields.end() ? std::string_view() : found->second;
}

HeadScanner::State HeadScanner::scan(std::string_view text) {
  while (scanned_ < text.size()) {
    const char c = text[scanned_++];
    if ((c == '\n') != (previous_ == '\r')) return State::broken;
    previous_ = c;
    if (c == '\n' && line_bytes_ == 0) return State::complete;
    if (c == '\n')
      line_bytes_ = 0;
    else if (c != '\r')
      ++line_bytes_;
  }
  return State::incomplete;
}

tl::expected<RequestHead, HeadProblem> parse_head(std::string_view text) {
  RequestHead head;
  bool is_first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    if (line.empty() && !is_first) break;
    const Done done = is_first ? read_request_line(line, head) : read_field(line, head);
    if (!done) return Problem(done.error());
    is_first = false;
  }
  if (auto ok = read_host(head); !ok) return Problem(ok.error());
  if (auto ok = read_length(head); !ok) return Problem(ok.error());
  if (auto ok = read_wishes(head); !ok) return Problem(ok.error());
  return head;
}

}  // namespace trainyard
