// Any bytes as what comes over a connection. However they are cut into parts, a session says the
// same; it ends, or waits for more; and what it takes for a request is one by the rules of
// request_head.h.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "live/server/http_session.h"

using namespace trainyard;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

/// Notes every request, and answers with its length.
class Noting : public RequestHandler {
 public:
  BegunRequest begin(const Peer& /*peer*/, const RequestHead& head) override {
    require(head.path.starts_with('/') && head.path.find('\0') == std::string::npos);
    require(!head.method.empty() && head.fields.size() <= kMostFields);
    require(head.count("content-length") + head.count("transfer-encoding") <= 1 || head.is_chunked);
    for (const auto& [name, value] : head.fields)
      require((name + value).find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    if (head.is_chunked || head.body_bytes > 1000)
      return {.reply = error_reply(400, "invalid", "no")};
    return {.finish = [this, head](std::string body) {
      require(body.size() == head.body_bytes);
      seen.push_back(head.method + " " + head.path + " " + body);
      return Reply{.body = seen.back()};
    }};
  }
  std::vector<std::string> seen;
};

/// All that the session says to these bytes, of which it gets `each` at a time.
std::string said_to(std::string_view bytes, std::size_t each) {
  Noting handler;
  const Admission admission({});
  ServerCounts counts(admission);
  SeldomLog log(silent_log());
  SessionContext context{handler, {}, log, counts};
  HttpSession session(context, {}, Time{});
  std::string said;
  while (!session.is_over()) {
    if (const std::string_view out = session.output(); !out.empty()) {
      said += out;
      session.sent(out.size(), Time{});
    } else if (bytes.empty()) {
      session.end_of_input(Time{});
    } else {
      session.take(bytes.substr(0, each), Time{});
      bytes.remove_prefix(std::min(each, bytes.size()));
    }
  }
  for (const std::string& request : handler.seen) said += "\n" + request;
  return said;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string whole = said_to(text, 8192);
  require(said_to(text, 1) == whole);
  require(said_to(text, 7) == whole);
  return 0;
}
