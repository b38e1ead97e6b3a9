#include "live/flow_agent/flow_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainyard {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const FlowHost kHost{.interface = "eth0", .code_points = {43, 35, 19, 0}, .mbit = 100};

TEST(FlowRules, TheTableBelongsToItsProcess) {
  const auto commands = table_commands(kHost);
  EXPECT_EQ(commands.front(), "create table inet trainyard_flow { flags owner; }");
  for (const std::string& command : commands)
    EXPECT_EQ(command.find('\n'), std::string::npos) << "each is one transaction";
}

TEST(FlowRules, AllThatIsNoJobsIsBleachedAndGoesLast) {
  std::string all;
  for (const std::string& command : table_commands(kHost)) all += command + "\n";
  EXPECT_THAT(all, HasSubstr("ip dscp { 43, 35, 19 } ip dscp set 0"));
  EXPECT_THAT(all, HasSubstr("ip6 dscp { 43, 35, 19 } ip6 dscp set 0"));
  EXPECT_THAT(all, HasSubstr("other meta priority set 0x7a1d0013"));
  EXPECT_THAT(all, HasSubstr("class0 meta priority set 0x7a1d0010"));
  FlowHost without = kHost;
  without.mbit = 0;
  for (const std::string& command : table_commands(without))
    EXPECT_THAT(command, Not(HasSubstr("priority set")));
}

TEST(FlowRules, AChangeIsOneTransactionOfWhatDiffers) {
  const CgroupMount mount{"/sys/fs/cgroup/unified"};
  const Marks now{{"1_1", {0, {{"a/b/1.1", 7}}}}, {"2_1", {1, {{"a/b/2.1", 8}}}}};
  const Marks next{{"2_1", {0, {{"a/b/2.1", 8}}}}, {"3_1", {3, {{"s/x/y/job_3", 9}}}}};
  EXPECT_EQ(change_command(kHost, mount, now, next),
            "flush map inet trainyard_flow groups; flush map inet trainyard_flow users; "
            "flush chain inet trainyard_flow out; "
            "flush chain inet trainyard_flow job_2_1; "
            "add rule inet trainyard_flow job_2_1 counter name bytes_job_2_1; "
            "add rule inet trainyard_flow job_2_1 goto class0; "
            "add element inet trainyard_flow groups { \"unified/a/b/2.1\" : goto job_2_1 }; "
            "add counter inet trainyard_flow bytes_job_3_1; "
            "add chain inet trainyard_flow job_3_1; "
            "add rule inet trainyard_flow job_3_1 counter name bytes_job_3_1; "
            "add rule inet trainyard_flow job_3_1 goto class3; "
            "add element inet trainyard_flow groups { \"unified/s/x/y/job_3\" : goto job_3_1 }; "
            "add rule inet trainyard_flow out oifname \"eth0\" socket cgroupv2 level 3 vmap "
            "@groups; "
            "add rule inet trainyard_flow out oifname \"eth0\" socket cgroupv2 level 4 vmap "
            "@groups; "
            "add rule inet trainyard_flow out oifname \"eth0\" goto other; "
            "delete chain inet trainyard_flow job_1_1; "
            "delete counter inet trainyard_flow bytes_job_1_1");
}

TEST(FlowRules, AUserIsLookedUpAfterControlGroups) {
  const std::string change =
      change_command(kHost, {}, {}, {{"1_1", {0, {{"a/b/1.1", 7}}}}, {"2_1", {1, {}, 1008}}});
  EXPECT_THAT(change,
              HasSubstr("add element inet trainyard_flow users { 1008 : goto job_2_1 }; "
                        "add rule inet trainyard_flow out oifname \"eth0\" socket cgroupv2 level 3 "
                        "vmap @groups; "
                        "add rule inet trainyard_flow out oifname \"eth0\" meta skuid vmap @users; "
                        "add rule inet trainyard_flow out oifname \"eth0\" goto other"));
}

TEST(FlowRules, WhereControlGroupsAreMounted) {
  const std::string hybrid =
      "30 20 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
      "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "32 30 0:28 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
  EXPECT_EQ(find_cgroup_mount(hybrid).value(), CgroupMount{"/sys/fs/cgroup/unified"});
  EXPECT_EQ(find_cgroup_mount("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n").value(),
            CgroupMount{"/sys/fs/cgroup"});
  EXPECT_THAT(
      find_cgroup_mount("31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw\n").error().message,
      HasSubstr("not mounted"));
  EXPECT_THAT(find_cgroup_mount("31 30 0:27 / /cg rw - cgroup2 cgroup rw\n").error().message,
              HasSubstr("mounted at /cg"));
  const CgroupMount pure{"/sys/fs/cgroup"}, below{"/sys/fs/cgroup/unified"};
  EXPECT_EQ(pure.for_nft("a/b/c"), "a/b/c");
  EXPECT_EQ(below.for_nft("a/b/c"), "unified/a/b/c");
  EXPECT_EQ(pure.level(pure.for_nft("a/b/c")), 3U);
  EXPECT_EQ(below.level(below.for_nft("a/b/c")), 3U);
}

TEST(FlowRules, TheLastClassKeepsTheFloor) {
  const auto commands = queue_commands(kHost, 0.2);
  EXPECT_THAT(commands.front(),
              HasSubstr("qdisc replace dev eth0 root handle 7a1d: htb default 13"));
  EXPECT_THAT(commands[2], HasSubstr("classid 7a1d:10 htb rate 8000bit ceil 100000000bit prio 0"));
  EXPECT_THAT(commands[8],
              HasSubstr("classid 7a1d:13 htb rate 20000000bit ceil 100000000bit prio 3"));
  EXPECT_THAT(floor_command(kHost, 0), HasSubstr("class change dev eth0 parent 7a1d:1 classid "
                                                 "7a1d:13 htb rate 8000bit"));
}

TEST(FlowRules, WhoseQueueItIs) {
  const auto whose = [](const char* text) { return find_root_queue(text).value().what; };
  EXPECT_EQ(whose(R"([{"kind":"noqueue","handle":"0:","root":true,"options":{}}])"),
            RootQueue::usual);
  EXPECT_EQ(whose(R"([{"kind":"mq","handle":"0:","root":true},{"kind":"fq","handle":"0:"}])"),
            RootQueue::usual);
  EXPECT_EQ(whose(R"([{"kind":"htb","handle":"7a1d:","root":true}])"), RootQueue::ours);
  EXPECT_EQ(whose(R"([{"kind":"htb","handle":"1:","root":true}])"), RootQueue::foreign);
  EXPECT_EQ(whose(R"([{"kind":"tbf","handle":"7a1d:","root":true}])"), RootQueue::foreign);
  EXPECT_EQ(whose("[]"), RootQueue::usual);
  for (const char* text : {"", "{}", R"([{"root":true,"kind":3}])", R"([{"root":"x"}])"})
    EXPECT_FALSE(find_root_queue(text)) << text;
}

TEST(FlowRules, CountersByClassAndByJob) {
  const auto bytes = read_counters(
      R"({"nftables": [{"metainfo": {"version": "1.0.6"}},
        {"counter": {"family": "inet", "name": "bytes_class1", "table": "trainyard_flow", "packets": 2, "bytes": 3000}},
        {"counter": {"family": "inet", "name": "bytes_class1", "table": "other", "packets": 2, "bytes": 9}},
        {"counter": {"family": "inet", "name": "bytes_other", "table": "trainyard_flow", "packets": 2, "bytes": 5}},
        {"counter": {"family": "inet", "name": "bytes_job_12_1", "table": "trainyard_flow", "packets": 1, "bytes": 77}}]})",
      3);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->by_class, (std::vector<std::uint64_t>{0, 3000, 0}));
  EXPECT_EQ(bytes->other, 5U);
  EXPECT_EQ(bytes->by_job, (std::map<std::string, std::uint64_t>{{"12_1", 77}}));
  for (const char* text :
       {"", "[]", "{}", R"({"nftables": 3})", R"({"nftables": [{"counter": {"table": 3}}]})"})
    EXPECT_FALSE(read_counters(text, 3)) << text;
}

}  // namespace
}  // namespace trainyard
