// The head of a request in HTTP/1.1, read by RFC 9112 and strictly. Where two readers could
// disagree about what a request is or where it ends, one of them can be made to serve a request
// that the other never saw, so everything that is not exactly as it should be is refused:
//
//   lines end in CRLF, and no CR or LF stands elsewhere; no line is folded
//   one space between method, target and version, none before the colon of a field
//   no control characters, NUL among them; none that is percent-encoded as NUL or "/" in the path
//   one Host; at most one Content-Length, of digits, and none beside a Transfer-Encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace trainyard {

inline constexpr std::size_t kLongestTarget = 8 << 10;
inline constexpr std::size_t kMostFields = 100;

struct RequestHead {
  std::string method;
  std::string path;                                         // decoded; begins with '/'
  std::multimap<std::string, std::string> query;            // decoded
  std::vector<std::pair<std::string, std::string>> fields;  // names in lower case
  std::size_t body_bytes = 0;                               // that follow
  bool has_body = false;                                    // a Content-Length was given
  bool is_chunked = false;        // a Transfer-Encoding was given: its end is not known
  bool expects_continue = false;  // the client waits for "100 Continue" before it sends the body
  bool keeps_alive = true;        // the connection is to be used again
  bool is_http10 = false;

  /// `name` in lower case.
  [[nodiscard]] std::size_t count(std::string_view name) const;
  /// Of the first field of that name; empty if there is none.
  [[nodiscard]] std::string_view value(std::string_view name) const;
};

struct HeadProblem {
  int status = 400;
  std::string message;
};

/// Finds the end of a head while its bytes come.
class HeadScanner {
 public:
  enum class State : std::uint8_t { incomplete, complete, broken };

  /// Looks at the bytes that it has not seen yet; `text` is what has come so far.
  State scan(std::string_view text);
  /// How many bytes the head has, once it is complete.
  [[nodiscard]] std::size_t size() const { return scanned_; }

 private:
  std::size_t scanned_ = 0, line_bytes_ = 0;
  char previous_ = 0;
};

/// `text` is a whole head with the empty line at its end.
tl::expected<RequestHead, HeadProblem> parse_head(std::string_view text);

}  // namespace trainyard
