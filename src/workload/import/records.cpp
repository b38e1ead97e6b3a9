#include "workload/import/records.h"

#include <algorithm>
#include <cstring>

namespace trainyard {
namespace {

std::size_t find(std::string_view text, char c) {
  const void* const found = text.empty() ? nullptr : std::memchr(text.data(), c, text.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace

Records::Records(std::string_view text, LineStyle style) : text_(text), style_(style) {
  if (text_.starts_with("\xef\xbb\xbf")) position_ = 3;
}

Expected<bool> Records::next(std::string_view& record) {
  while (position_ < text_.size()) {
    line_ = next_line_;
    if (auto ok = take_record(record); !ok) return tl::make_unexpected(ok.error());
    if (record.ends_with('\r')) record.remove_suffix(1);
    if (!record.empty() && record.front() != style_.comment) return true;
  }
  return false;
}

/// The text up to the next line end outside quotes, which is looked for in a bounded window.
Expected<void> Records::take_record(std::string_view& record) {
  const std::string_view window = text_.substr(position_, kLongestLine + 1);
  std::size_t end = std::min(find(window, '\n'), window.size());
  has_quotes_ = style_.quotes && window.front() != style_.comment && quote_before(position_ + end);
  bool open = false;
  if (has_quotes_)
    for (end = 0; end < window.size() && (open || window[end] != '\n'); ++end)
      open ^= window[end] == '"';
  if (end > kLongestLine)
    return fail("the line is longer than {} bytes; is this a text file with a job a line?",
                kLongestLine);
  if (open) return fail("a quoted field is not closed; is the file cut short?");
  record = window.substr(0, end);
  position_ = std::min(position_ + end + 1, text_.size());
  ++next_line_;
  if (has_quotes_)
    next_line_ += static_cast<std::size_t>(std::count(record.begin(), record.end(), '\n'));
  return {};
}

/// Looks ahead in blocks: most files have no quotes at all, and asking for every line is not free.
bool Records::quote_before(std::size_t end) {
  constexpr std::size_t kBlock = 1 << 16;
  quote_free_ = std::max(quote_free_, position_);
  while (quote_free_ < end) {
    const std::string_view block = text_.substr(quote_free_, kBlock);
    const std::size_t found = find(block, '"');
    quote_free_ += std::min(found, block.size());
    if (found != std::string_view::npos) break;
  }
  return quote_free_ < end;
}

Expected<void> Cells::split(std::string_view record, char separator, bool has_quotes) {
  cells_.clear();
  if (has_quotes) return split_quoted(record, separator);
  if (separator == ' ') {
    split_blanks(record);
  } else {
    split_plain(record, separator);
  }
  return {};
}

void Cells::split_plain(std::string_view record, char separator) {
  const char* begin = record.data();
  const char* const stop = begin + record.size();
  for (const char* at = begin; at != stop; ++at) {
    if (*at != separator) continue;
    cells_.emplace_back(begin, static_cast<std::size_t>(at - begin));
    begin = at + 1;
  }
  cells_.emplace_back(begin, static_cast<std::size_t>(stop - begin));
}

void Cells::split_blanks(std::string_view record) {
  constexpr std::string_view kBlanks = " \t";
  std::size_t begin = record.find_first_not_of(kBlanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(record.find_first_of(kBlanks, begin), record.size());
    cells_.push_back(record.substr(begin, end - begin));
    begin = record.find_first_not_of(kBlanks, end);
  }
}

Expected<void> Cells::split_quoted(std::string_view record, char separator) {
  unescaped_.clear();
  unescaped_.reserve(record.size());  // so that the views into it stay valid
  std::size_t begin = 0;
  while (true) {
    std::size_t end = begin;
    if (begin < record.size() && record[begin] == '"') {
      const auto closed = quoted_cell(record, begin, separator);
      if (!closed) return tl::make_unexpected(closed.error());
      end = *closed;
    } else {
      end = std::min(record.find(separator, begin), record.size());
      const std::string_view cell = record.substr(begin, end - begin);
      if (find(cell, '"') != std::string_view::npos)
        return fail(
            "value {} has a quote inside; put the whole field in quotes and double those "
            "inside it",
            quoted(cell));
      cells_.push_back(cell);
    }
    if (end == record.size()) return {};
    begin = end + 1;
  }
}

/// Adds the cell whose opening quote is at `begin`; where its closing quote's successor stands.
Expected<std::size_t> Cells::quoted_cell(std::string_view record, std::size_t begin,
                                         char separator) {
  const std::size_t start = unescaped_.size();
  std::size_t at = begin + 1;
  for (; at < record.size(); ++at) {
    if (record[at] == '"') {
      if (at + 1 == record.size() || record[at + 1] != '"') break;
      ++at;
    }
    unescaped_ += record[at];
  }
  const std::size_t after = at + 1;
  if (after > record.size()) return fail("a quoted field is not closed");
  if (after < record.size() && record[after] != separator)
    return fail("text follows the closing quote of {}; double a quote that is part of the value",
                quoted(std::string_view(unescaped_).substr(start)));
  cells_.push_back(std::string_view(unescaped_).substr(start));
  return after;
}

}  // namespace trainyard
