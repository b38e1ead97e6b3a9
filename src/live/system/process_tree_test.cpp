#include "live/system/process_tree.h"

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "live/system/files.h"

namespace trainyard {
namespace {

/// A child that waits, with this in its environment.
pid_t waiting_child(const char* variable) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const char* arguments[] = {"sleep", "1000", nullptr};
    const char* environment[] = {"FIRST=1", variable, nullptr};
    ::execve("/bin/sleep", const_cast<char**>(arguments), const_cast<char**>(environment));
    ::_exit(1);
  }
  return pid;
}

void end(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

template <class Holds>
bool eventually(Holds holds) {
  for (int tries = 0; tries < 10'000; ++tries) {
    if (holds()) return true;
    ::usleep(1000);
  }
  return false;
}

TEST(ProcessTree, FindsChildrenOfChildren) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::prctl(PR_SET_NAME, ") S 1 (");  // as what follows the name in /proc
    ::fork();
    for (;;) ::pause();
  }
  EXPECT_TRUE(eventually([&] { return descendants(child).size() == 1; }));
  const auto below = descendants(child);
  ASSERT_EQ(below.size(), 1U);
  EXPECT_TRUE(is_descendant(below[0], child));
  EXPECT_TRUE(is_descendant(below[0], ::getpid()));
  EXPECT_FALSE(is_descendant(child, below[0]));
  EXPECT_FALSE(is_descendant(::getpid(), child));
  EXPECT_THAT(descendants(::getpid()), testing::IsSupersetOf({child, below[0]}));
  ::kill(below[0], SIGKILL);
  end(child);
}

TEST(ProcessTree, FindsByWholeVariablesOnly) {
  const std::string mark = "TRAINYARD_TEST=" + std::to_string(::getpid());
  const pid_t one = waiting_child(mark.c_str());
  const pid_t other = waiting_child((mark + "1").c_str());
  const uid_t us = ::getuid();
  ASSERT_TRUE(eventually([&] { return has_marks(one, {us, {mark, "FIRST=1"}}); }));
  ASSERT_TRUE(eventually([&] { return has_marks(other, {us, {mark + "1"}}); }));
  EXPECT_EQ(processes_with({us, {mark}}), std::vector<pid_t>{one});
  EXPECT_TRUE(processes_with({us, {mark, "SECOND=1"}}).empty());
  EXPECT_TRUE(processes_with({us + 1, {mark}}).empty()) << "of another user";
  end(one);
  end(other);
}

TEST(ProcessTree, KillsOnlyWhatIsStillMeant) {
  const pid_t child = waiting_child("A=1");
  signal_if(child, SIGKILL, [](pid_t) { return false; });
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0);
  signal_if(child, SIGKILL, [](pid_t) { return true; });
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  signal_if(child, SIGKILL, [](pid_t) { return true; });  // gone: nothing
}

/// A process of ours ends while it is checked, and a stranger gets its number.
TEST(ProcessTree, ANumberThatIsGivenAnewIsNotSignalled) {
  const pid_t ours = waiting_child("A=1");
  pid_t stranger = 0;
  signal_if(ours, SIGKILL, [&](pid_t) {
    end(ours);
    for (int tries = 0; tries < 100 && stranger != ours; ++tries) {
      if (stranger != 0) end(stranger);
      std::ofstream("/proc/sys/kernel/ns_last_pid") << ours - 1;
      stranger = waiting_child("B=1");
    }
    return true;
  });
  const bool is_same = stranger == ours;
  ::kill(stranger, SIGTERM);
  int status = 0;
  EXPECT_EQ(::waitpid(stranger, &status, 0), stranger);
  EXPECT_EQ(WTERMSIG(status), SIGTERM) << "not by what was meant for ours";
  if (!is_same) GTEST_SKIP() << "numbers of processes cannot be chosen here";
}

}  // namespace
}  // namespace trainyard
