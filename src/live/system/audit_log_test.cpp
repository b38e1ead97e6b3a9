#include "live/system/audit_log.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "live/system/testing.h"

namespace trainyard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Audited : public testing::Test {
 protected:
  AuditEntry entry(const std::string& object) {
    return {.at = system.wall_clock(),
            .user = "ada",
            .uid = 1001,
            .via = "token ci",
            .from = "10.0.0.1",
            .act = "POST /v1/jobs",
            .object = object,
            .outcome = "done"};
  }
  [[nodiscard]] std::vector<AuditLine> lines() const {
    std::vector<AuditLine> all;
    EXPECT_TRUE(read_audit(folder.path(), [&](const AuditLine& line) { all.push_back(line); }));
    return all;
  }
  [[nodiscard]] std::vector<std::string> problems() const {
    return read_audit(folder.path(), [](const AuditLine&) {})->problems;
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  void write(const std::string& text) const { std::ofstream(path) << text; }

  TemporaryDirectory folder;
  std::string path = folder.path() + "/audit.log";
  HandSystem system;
};

TEST_F(Audited, LinesAreReadAsTheyWereWritten) {
  AuditLog log(system, folder.path());
  EXPECT_EQ(*log.append(entry("job 1")), 1U);
  AuditEntry refused = entry("job 2");
  refused.outcome = "refused", refused.why = "no \xff\n\"room\"", refused.of = 1,
  refused.left_out = 3;
  EXPECT_EQ(*log.append(refused), 2U);
  const auto all = lines();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].entry.user, "ada");
  EXPECT_EQ(all[0].entry.uid, 1001U);
  EXPECT_EQ(all[0].entry.via, "token ci");
  EXPECT_EQ(all[0].entry.from, "10.0.0.1");
  EXPECT_EQ(all[0].entry.object, "job 1");
  EXPECT_EQ(all[1].entry.outcome, "refused");
  EXPECT_EQ(all[1].entry.of, 1U);
  EXPECT_EQ(all[1].entry.left_out, 3U);
  EXPECT_THAT(problems(), IsEmpty());
  struct stat facts {};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600U);
}

TEST_F(Audited, WhatIsChangedRemovedOrPutInIsSeen) {
  AuditLog log(system, folder.path());
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(log.append(entry("job " + std::to_string(i))));
  const std::string whole = text();
  std::vector<std::string> all;
  std::istringstream rows(whole);
  for (std::string row; std::getline(rows, row);) all.push_back(row + "\n");
  const auto joined = [](const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts) text += part;
    return text;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto changed = all;
    changed[i].replace(changed[i].find("ada"), 3, "bob");
    write(joined(changed));
    EXPECT_EQ(problems().empty(), i + 1 == all.size()) << "line " << i + 1 << " was changed";
    auto removed = all;
    removed.erase(removed.begin() + static_cast<std::ptrdiff_t>(i));
    write(joined(removed));
    EXPECT_EQ(problems().empty(), i == 0 || i + 1 == all.size()) << "line " << i + 1 << " is gone";
    auto twice = all;
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), all[i]);
    write(joined(twice));
    EXPECT_FALSE(problems().empty()) << "line " << i + 1 << " twice";
  }
  write(whole);
  EXPECT_THAT(problems(), IsEmpty());
}

/// The first lines that are gone are seen by their number.
TEST_F(Audited, TheFirstLineSaysHowManyWereBeforeIt) {
  AuditLog log(system, folder.path());
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(log.append(entry("job")));
  write(text().substr(text().find('\n') + 1));
  EXPECT_EQ(read_audit(folder.path(), [](const AuditLine&) {})->first, 2U);
}

TEST_F(Audited, SeveralWritersShareOneChain) {
  const auto write_some = [&] {
    AuditLog log(system, folder.path());  // as another process
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(log.append(entry("job")));
  };
  AuditLog shared(system, folder.path());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(write_some);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) ASSERT_TRUE(shared.append(entry("job")));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(lines(), SizeIs(400));
}

TEST_F(Audited, ALineThatAPowerFailureToreIsReportedAndTheChainGoesOn) {
  ASSERT_TRUE(AuditLog(system, folder.path()).append(entry("job 1")));
  ASSERT_TRUE(AuditLog(system, folder.path()).append(entry("job 2")));
  write(text().substr(0, text().size() - 20));
  EXPECT_EQ(*AuditLog(system, folder.path()).append(entry("job 3")), 2U);
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("audit.log:2: is not a line of the audit")));
  ASSERT_TRUE(AuditLog(system, folder.path()).append(entry("job 4")));
  EXPECT_THAT(problems(), SizeIs(1));
}

TEST_F(Audited, TheChainGoesOnInTheNextFile) {
  AuditLog log(system, folder.path(), 1000), other(system, folder.path(), 1000);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((i % 3 == 0 ? other : log).append(entry("job")));
  ASSERT_TRUE(log.append(entry(std::string(10'000, 'x'))));
  const auto found = read_audit(folder.path(), [](const AuditLine&) {});
  EXPECT_THAT(found->problems, IsEmpty());
  EXPECT_GT(found->files, 4U);
  EXPECT_EQ(found->lines, 21U);
  EXPECT_LT(std::filesystem::file_size(folder.path() + "/audit.1.log"), 2000U)
      << "what users have a say in is cut";
}

}  // namespace
}  // namespace trainyard
