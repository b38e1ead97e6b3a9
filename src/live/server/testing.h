// For tests of the server: a service that keeps its jobs in memory, a server over it in a folder of
// its own, and a client that sends any bytes it is told to.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "live/server/http_server.h"
#include "live/server/sockets.h"
#include "live/system/testing.h"

namespace trainyard {

/// The least that can be submitted.
inline const std::string kJob = R"({"command": ["true"], "name": "j"})";

/// Does as service.h says, as simply as it can be done.
class FakeService : public Service {
 public:
  Answer<Submitted> submit(const Identity& who, JobSpec spec) override {
    const std::lock_guard lock(mutex_);
    if (spec.name == "throw") throw std::runtime_error("secret internals");
    JobRecord job;
    job.number = static_cast<JobNumber>(jobs_.size()) + 1;
    job.owner = who;
    job.spec = std::move(spec);
    job.submitted = Time{1'000'000};
    job.life.state.phase = Phase::queued;
    jobs_[job.number] = job;
    add_event("submitted", job.number, who.user);
    Submitted submitted{job.number, warnings(job.spec)};
    if (const auto array = parse_job_array(job.spec.array)) submitted.tasks = array->tasks.size();
    return submitted;
  }
  Answer<std::vector<JobNumber>> find(const Identity& /*who*/, const JobName& name) override {
    const std::lock_guard lock(mutex_);
    if (!name.tasks.empty() || !jobs_.contains(name.number))
      return tl::make_unexpected(no_such_job());
    return std::vector{name.number};
  }
  Answer<void> cancel(const Identity& who, const std::vector<JobNumber>& numbers) override {
    const std::lock_guard lock(mutex_);
    for (const JobNumber number : numbers) {
      if (auto refused = check_owner(who, number)) return tl::make_unexpected(*refused);
      jobs_[number].life.state.phase = Phase::cancelled;
      add_event("cancelled", number, jobs_[number].owner.user);
    }
    return {};
  }
  Answer<void> close_machine(const Identity& /*who*/, const std::string& machine) override {
    if (machine != "m0")
      return tl::make_unexpected(Refusal{Refusal::Kind::not_found, "there is no such machine"});
    return {};
  }
  Answer<void> open_machine(const Identity& who, const std::string& machine) override {
    return close_machine(who, machine);
  }
  Answer<void> set_policy(const Identity& /*who*/, const PolicyView& policy) override {
    const std::lock_guard lock(mutex_);
    policy_ = policy;
    return {};
  }
  Answer<void> resume_erasing(const Identity& /*who*/) override { return {}; }
  Answer<RetentionView> retention(const Identity& /*who*/) override { return RetentionView{}; }
  Answer<MachineFlows> flows(const Identity& /*who*/, const std::string& machine,
                             bool /*vouched*/) override {
    return MachineFlows{machine, {true, 4, 0.2, "progress"}, seconds(30)};
  }
  Answer<JobRecord> job(const Identity& who, JobNumber number) override {
    const std::lock_guard lock(mutex_);
    if (!jobs_.contains(number)) return tl::make_unexpected(no_such_job());
    JobRecord job = jobs_[number];
    return check_owner(who, number) ? public_part(job) : job;
  }
  Answer<JobPage> jobs(const Identity& who, const JobFilter& filter) override {
    JobPage page;
    for (JobNumber number = static_cast<JobNumber>(size()); number >= 1; --number) {
      if (filter.before != 0 && number >= filter.before) continue;
      const auto found = job(who, number);
      if (filter.user && *filter.user != found->owner.user) continue;
      if (page.jobs.size() == filter.limit) return page.more = true, page;
      page.jobs.push_back(*found);
    }
    return page;
  }
  Answer<WhyAnswer> why(const Identity& who, JobNumber number) override {
    if (const auto found = job(who, number); !found) return tl::make_unexpected(found.error());
    WhyAnswer answer;
    answer.state = "queued";
    answer.category = WaitsBy::resources;
    answer.reason.token = "resources";
    answer.reason.sentence = "needs 8 GPUs; 6 are free";
    answer.reason.place = 1;
    return answer;
  }
  Answer<LiveOutlook> forecast(const Identity& who, std::optional<JobNumber> job) override {
    if (job)
      if (const auto found = this->job(who, *job); !found)
        return tl::make_unexpected(found.error());
    const Time at = Time{} + hours(1);
    LiveOutlook outlook{.made_at = at, .horizon = days(2), .draws = 32, .policy = "fifo"};
    const TimeBand start{at + minutes(40), at + hours(2), at + hours(5)};
    outlook.jobs = {{1, true, start, start, {}}};
    outlook.segments = {{1, MachineId{0}, at + hours(2), at + hours(3)}};
    return outlook;
  }
  Answer<LiveOutlook> what_if(const Identity& who, OutlookQuestion question) override {
    for (const std::string& machine : question.without)
      if (machine != "m0") return tl::make_unexpected(Refusal{Refusal::Kind::not_found, "no"});
    auto outlook = forecast(who, {});
    if (question.job) {
      outlook->jobs.front().job = 0;
      if (question.job->job_class == JobClass::trial)
        outlook->jobs.front().start.p50 = outlook->made_at + minutes(1);
    }
    return outlook;
  }
  Answer<LogPage> logs(const Identity& who, JobNumber number, std::int32_t /*worker*/,
                       std::uint32_t /*run*/, std::uint64_t offset) override {
    const std::lock_guard lock(mutex_);
    if (auto refused = check_owner(who, number)) return tl::make_unexpected(*refused);
    LogPage page;
    page.run = 1;
    page.at_end = log_ended_;
    page.output = {offset, offset < log_.size() ? log_.substr(offset, 4) : ""};
    return page;
  }
  Answer<ClusterView> cluster(const Identity& /*who*/) override {
    return ClusterView{
        {{"m0", "V100", "down", {4, 8000, 1024}, {2, 4000, 512}, {1, 1, 0, 0}, "no answer"}}, 3, 1};
  }
  Answer<PolicyView> policy(const Identity& /*who*/) override {
    const std::lock_guard lock(mutex_);
    return policy_;
  }
  /// Five parts, of which the last cannot be read if the test says so.
  Answer<HistoryPart> history(const Identity& /*who*/, const HistoryPart& before) override {
    if (before.last == 4 && breaks_history)
      return tl::make_unexpected(Refusal{Refusal::Kind::unavailable, "no luck"});
    if (before.last == 0) return HistoryPart{"id,submit,duration\n", 1, {}, false};
    return HistoryPart{fmt::format("{},0,1\n", before.last), before.last + 1, {}, before.last == 4};
  }
  std::atomic<bool> breaks_history = false;
  EventPage events(const Identity& /*who*/, std::int64_t after, Duration patience) override {
    std::unique_lock lock(mutex_);
    happened_.wait_for(lock, std::chrono::microseconds(patience.us),
                       [&] { return static_cast<std::int64_t>(events_.size()) > after; });
    const auto all = static_cast<std::int64_t>(events_.size());
    if (all <= after) return {{}, after};
    return {{events_.begin() + after, events_.end()}, all};
  }
  Answer<std::vector<LiveEvent>> events_of(const Identity& who, JobNumber number) override {
    if (const auto found = job(who, number); !found) return tl::make_unexpected(found.error());
    const std::lock_guard lock(mutex_);
    std::vector<LiveEvent> events = events_;
    std::erase_if(events, [&](const LiveEvent& event) { return event.job != number; });
    return events;
  }
  [[nodiscard]] std::int64_t last_event() const override {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(events_.size());
  }
  [[nodiscard]] Counters counters() const override {
    Counters counters;
    counters.submitted = size();
    return counters;
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return jobs_.size();
  }
  [[nodiscard]] JobRecord at(JobNumber number) const {
    const std::lock_guard lock(mutex_);
    return jobs_.at(number);
  }
  void change(JobNumber number, const std::function<void(JobRecord&)>& how) {
    const std::lock_guard lock(mutex_);
    how(jobs_.at(number));
  }
  void set_log(std::string text, bool ended) {
    const std::lock_guard lock(mutex_);
    log_ = std::move(text);
    log_ended_ = ended;
  }

 private:
  static Refusal no_such_job() { return {Refusal::Kind::not_found, "there is no such job"}; }
  [[nodiscard]] std::optional<Refusal> check_owner(const Identity& who, JobNumber number) const {
    const auto found = jobs_.find(number);
    if (found == jobs_.end()) return no_such_job();
    if (who.role == Role::operator_ || found->second.owner.uid == who.uid) return {};
    return Refusal{Refusal::Kind::forbidden, "it is another user's job"};
  }
  void add_event(const std::string& kind, JobNumber job, const std::string& user) {
    const auto sequence = static_cast<std::int64_t>(events_.size()) + 1;
    events_.push_back({sequence, Time{sequence}, kind, job, user, "{}"});
    happened_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable happened_;
  std::map<JobNumber, JobRecord> jobs_;
  std::vector<LiveEvent> events_;
  PolicyView policy_{"fifo", {}};
  std::string log_ = "hello, world\n";
  bool log_ended_ = true;
};

/// A folder that is gone with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "trainyard-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = pattern;
    ::chmod(path.c_str(), 0711);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::string path;
};

/// An answer, taken apart.
struct RawAnswer {
  int status = 0;  // 0: none came
  std::string head, body;

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body); }
  [[nodiscard]] std::string error() const {
    return nlohmann::json::parse(body).at("error").at("message");
  }
};

/// Sends bytes and takes what comes back, both as they are. All waiting ends after 20 s.
class RawClient {
 public:
  explicit RawClient(Descriptor socket) : socket_(std::move(socket)) {
    deadline_ = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  }
  explicit RawClient(const std::string& folder) : RawClient(*connect_to_unix(folder)) {}

  /// False when the other side has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Reads on until what came has this in it, or nothing more comes.
  bool read_until(std::string_view wanted) {
    while (received.find(wanted) == std::string::npos)
      if (!read_some()) return false;
    return true;
  }
  bool read_to_end() {
    while (read_some()) {
    }
    return ended_;
  }
  RawAnswer answer() {
    RawAnswer answer;
    if (!read_until("\r\n\r\n")) return answer;
    const std::size_t end = received.find("\r\n\r\n") + 4;
    answer.head = received.substr(0, end);
    received.erase(0, end);
    answer.status = std::stoi(answer.head.substr(9));
    const std::size_t at = answer.head.find("Content-Length: ");
    if (at == std::string::npos || is_head_) return answer;
    const std::size_t size = std::stoul(answer.head.substr(at + 16));
    while (received.size() < size && read_some()) {
    }
    answer.body = received.substr(0, size);
    received.erase(0, size);
    return answer;
  }
  RawAnswer ask(const std::string& method, const std::string& target, const std::string& body = "",
                const std::string& headers = "") {
    is_head_ = method == "HEAD";
    send(method + " " + target + " HTTP/1.1\r\nHost: x\r\n" + headers +
         (body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n") + "\r\n" +
         body);
    return answer();
  }

  std::string received;

 private:
  bool read_some() {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline_ - std::chrono::steady_clock::now());
    pollfd entry{socket_.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&entry, 1, static_cast<int>(left.count())) <= 0) return false;
    std::array<char, 65536> part{};
    const ssize_t got = ::recv(socket_.get(), part.data(), part.size(), 0);
    ended_ = got <= 0;
    if (got > 0) received.append(part.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  Descriptor socket_;
  std::chrono::steady_clock::time_point deadline_;
  bool ended_ = false, is_head_ = false;
};

/// A server over a FakeService.
class ServerTest : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.state_directory = folder.path;
    options.system = &system;
    auto started = HttpServer::start(service, std::move(options));
    ASSERT_TRUE(started) << started.error().message;
    server = *std::move(started);
  }
  [[nodiscard]] RawClient connect() const { return RawClient(folder.path); }
  RawAnswer ask(const std::string& method, const std::string& target, const std::string& body = "",
                const std::string& headers = "") const {
    return connect().ask(method, target, body, headers);
  }

  TemporaryFolder folder;
  FakeService service;
  HandSystem system;
  KeptLog& log = system.log();
  std::unique_ptr<HttpServer> server;
};

}  // namespace trainyard
