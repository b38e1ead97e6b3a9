// The live scheduler, as its users reach it: the real daemon with the real journal on this disk,
// over its Unix socket, on all cores.
//
//   submissions  16 callers, each waiting for its answer before it asks again. The machine's limit
//                is that of its disk: every answer waits for a sync, and at most 16 share one.
//   reads        a list of 100 jobs, while nothing else happens and while 16 callers submit.
//   neighbours   a submission beside 60 readers of a history of 600,000 jobs, and beside arrays of
//                10,000 tasks that another user submits and cancels as fast as the rate limit
//                lets them (as root; otherwise the same user, who pays for it); the limit is one
//                while idle.
//   snapshots    showing a change of one job among 100,000.
//   starts       from asking to the first line of the job's own process, with 10,000 others
//                waiting. The limit is the same process started directly.
//   streams      1,000 callers that listen to events, and how long one event takes to reach all of
//                them.
//   history      a start of the daemon with a million ended jobs in its journal; the limit is a
//                start with none.
//   queue        a start with many jobs that wait, and with long commands; what memory that takes.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/stats.h"
#include "bench.h"
#include "live/book/job_book.h"
#include "live/client/client.h"
#include "live/journal/journal.h"

namespace trainyard::bench {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void use_all_cores() {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (unsigned core = 0; core < std::thread::hardware_concurrency(); ++core) CPU_SET(core, &all);
  sched_setaffinity(0, sizeof all, &all);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/// The daemon that runs, which is to end also when the benchmark gives up.
pid_t end_at_exit = 0;

/// `trainyard serve` on a directory of its own, both gone at the end.
class Server {
 public:
  explicit Server(std::vector<std::string> options = {}) {
    std::string pattern = std::filesystem::temp_directory_path() / "trainyard_bench_XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    root_ = pattern;
    std::filesystem::permissions(root_,
                                 std::filesystem::perms(0711));  // other users reach the socket
    options_ = std::move(options);
  }
  ~Server() {
    end();
    std::filesystem::remove_all(root_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Seconds until it answers.
  double begin() {
    const std::string program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "trainyard";
    std::vector<std::string> words{program, "serve", "--state", state()};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    const auto start = Clock::now();
    if (posix_spawn(&pid_, program.c_str(), &files, nullptr, argv.data(), environ) != 0)
      std::abort();
    posix_spawn_file_actions_destroy(&files);
    end_at_exit = pid_;
    while (!answers()) {
      if (since(start) > 60 || waitpid(pid_, nullptr, WNOHANG) != 0) {
        std::fprintf(stderr, "trainyard_bench: the daemon does not answer\n");
        std::exit(1);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return since(start);
  }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    pid_ = end_at_exit = 0;
  }

  /// Bytes, since it began.
  [[nodiscard]] std::size_t peak_memory() const {
    std::ifstream status(fmt::format("/proc/{}/status", pid_));
    for (std::string word; status >> word;)
      if (std::size_t kib = 0; word == "VmHWM:" && status >> kib) return kib << 10U;
    return 0;
  }
  [[nodiscard]] std::string state() const { return root_ + "/state"; }
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] Client client() const { return must(Client::open({state(), ""})); }

 private:
  [[nodiscard]] bool answers() const {
    auto asking = Client::open({state(), ""});
    return asking && asking->get("/healthz");
  }

  std::string root_;
  std::vector<std::string> options_;
  pid_t pid_ = 0;
};

json job(const std::string& command, int gpus, const char* job_class = "batch") {
  return {{"name", "bench"}, {"command", {"/bin/bash", "-c", command}},
          {"gpus", gpus},    {"class", job_class},
          {"grace", "1s"},   {"directory", "/"}};
}

JobNumber submit(Client& client, const json& spec) {
  return must(client.post("/v1/jobs", spec)).at("job").get<JobNumber>();
}

std::string state_of(Client& client, JobNumber number) {
  return must(client.get(fmt::format("/v1/jobs/{}", number))).at("state");
}

/// Cancels what holds the machine, so that nothing is left behind.
void cancel(Client& client, JobNumber number) {
  must(client.remove(fmt::format("/v1/jobs/{}", number)));
  while (!is_end_state(state_of(client, number)))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

/// Of a page appended to a file where the journal is.
double syncs_per_second(const std::string& folder) {
  const std::string path = folder + "/sync";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  constexpr int kTimes = 500;
  const auto begin = Clock::now();
  for (int i = 0; i < kTimes; ++i)
    if (write(file, page.data(), page.size()) < 0 || fdatasync(file) != 0) std::abort();
  const double rate = kTimes / since(begin);
  close(file);
  return rate;
}

void measure_submissions(Table& table) {
  constexpr int kCallers = 16, kEach = 500;
  Server server({"--slots", "4"});
  server.begin();
  Client first = server.client();
  const JobNumber holder = submit(first, job("sleep 600", 4));
  const auto begin = Clock::now();
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c)
    callers.emplace_back([&] {
      Client client = server.client();
      for (int i = 0; i < kEach; ++i) submit(client, job("true", 4));
    });
  for (std::thread& caller : callers) caller.join();
  const double rate = kCallers * kEach / since(begin);
  cancel(first, holder);
  table.add({"durable submissions, 16 callers", rate, "jobs/s", Target{Target::Is::at_least, 2000},
             kCallers * syncs_per_second(server.root()), ""});
}

/// A connection to the daemon's socket.
int connect_to(const std::string& state) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = state + "/socket";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
  return fd;
}

struct AnswerTimes {
  double p50 = 0, p99 = 0;  // ms
};

/// Of somebody who asks a hundred times a second, as a page that follows the queue does.
template <class Ask>
AnswerTimes answer_times(int times, Ask ask) {
  std::vector<double> answers;
  for (int i = 0; i < times; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const auto begin = Clock::now();
    ask();
    answers.push_back(1e3 * since(begin));
  }
  std::sort(answers.begin(), answers.end());
  return {answers[answers.size() / 2], answers[answers.size() * 99 / 100]};
}

/// Asks for all of something, and reads it to its end, or until `is_over`.
void read_all(const std::string& state, const std::string& path, const std::atomic<bool>& is_over) {
  const int fd = connect_to(state);
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
  if (write(fd, request.data(), request.size()) < 0) std::abort();
  std::array<char, 65536> part{};
  pollfd answer{.fd = fd, .events = POLLIN, .revents = 0};
  while (!is_over) {  // others may be served first, for long
    if (poll(&answer, 1, 100) == 0) continue;
    if (read(fd, part.data(), part.size()) <= 0) break;
  }
  close(fd);
}

/// Threads that do this over and over; it is told when that is over.
template <class Work>
class Crowd {
 public:
  Crowd(int size, Work work) {
    for (int i = 0; i < size; ++i)
      threads_.emplace_back([this, work] {
        while (!is_over_) work(is_over_);
      });
  }
  ~Crowd() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> threads_;
};

void measure_reads(Table& table) {
  constexpr int kCallers = 16, kWaiting = 1000, kReads = 500;
  constexpr int kMost = 90'000;  // that a user may have, nearly
  Server server({"--slots", "4"});
  server.begin();
  Client reader = server.client();
  const JobNumber holder = submit(reader, job("sleep 600", 4));
  for (int i = 0; i < kWaiting; ++i) submit(reader, job("true", 4));
  const auto list = [&] { must(reader.get("/v1/jobs")); };
  const AnswerTimes idle = answer_times(kReads, list);
  std::atomic<bool> is_over = false;
  std::atomic<int> submitted = 0;
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c)
    callers.emplace_back([&] {
      Client client = server.client();
      while (!is_over && ++submitted < kMost) submit(client, job("true", 4));
    });
  const auto begin = Clock::now();
  const AnswerTimes loaded = answer_times(kReads, list);
  const double rate = submitted / since(begin);
  is_over = true;
  for (std::thread& caller : callers) caller.join();
  cancel(reader, holder);
  table.add({"list of 100 jobs, 16 submitters, p99", loaded.p99, "ms",
             Target{Target::Is::at_most, 2 * idle.p99}, idle.p99,
             fmt::format("limit: while idle; p50 {:.2f} ms, idle {:.2f}; {:.0f} jobs/s submitted",
                         loaded.p50, idle.p50, rate)});
}

/// What a turn costs that changes one job of many and shows it; beside it, copying all of them.
void measure_snapshots(Table& table) {
  constexpr JobNumber kJobs = 100'000;
  constexpr int kTurns = 1000;
  JobBook book;
  for (JobNumber number = 1; number <= kJobs; ++number) {
    JobRecord record;
    record.number = number;
    record.spec.command = {"python3", "train.py"};
    book.enter(std::move(record));
  }
  book.entered();
  const auto begin = Clock::now();
  for (int turn = 0; turn < kTurns; ++turn) {
    const JobTable shown = book.on_disk();
    ++book.edit(1 + (turn * JobNumber{7919}) % kJobs).runs;
    book.written();
  }
  const double each = 1e6 * since(begin) / kTurns;
  const auto again = Clock::now();
  std::vector<JobRecord> all;
  book.on_disk().each_newest_first(0, [&](const JobRecord& job) {
    all.push_back(job);
    return true;
  });
  table.add({"snapshot of 100,000 jobs, one changed", each, "us", Target{Target::Is::at_most, 100},
             1e6 * since(again), "limit: copying all of them"});
}

/// When the process wrote its first line, in seconds since the epoch.
double first_line(const std::string& path) {
  double at = 0;
  while (!(std::ifstream(path) >> at)) std::this_thread::sleep_for(std::chrono::microseconds(200));
  return at;
}

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double p99(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() * 99 / 100];
}

void measure_starts(Table& table) {
  constexpr int kWaiting = 10'000, kStarts = 300;
  Server server({"--slots", "4", "--set", "queue.trial_share=0"});
  server.begin();
  Client client = server.client();
  const JobNumber holder = submit(client, job("sleep 600", 3));
  for (int i = 0; i < kWaiting; ++i) submit(client, job("true", 4));
  std::vector<double> starts, direct;
  for (int i = 0; i < kStarts; ++i) {
    const std::string file = fmt::format("{}/line{}", server.root(), i);
    const std::string line = "echo $EPOCHREALTIME > " + file;
    const double begin = wall_clock();
    const JobNumber number = submit(client, job(line, 1, "trial"));
    starts.push_back(1e3 * (first_line(file) - begin));
    while (!is_end_state(state_of(client, number)))
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    std::filesystem::remove(file);
    const double again = wall_clock();
    if (std::system(fmt::format("/bin/bash -c '{}'", line).c_str()) != 0) std::abort();
    direct.push_back(1e3 * (first_line(file) - again));
  }
  cancel(client, holder);
  const double worst = p99(starts);
  table.add({"submit to process started, p99", worst, "ms", Target{Target::Is::at_most, 50},
             p99(direct),
             fmt::format("p50 {:.1f} ms; {} jobs waiting", starts[starts.size() / 2], kWaiting)});
}

/// A connection that listens; its descriptor.
int listen_to_events(const std::string& state) {
  const int fd = connect_to(state);
  const std::string request = "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  if (write(fd, request.data(), request.size()) < 0) std::abort();
  return fd;
}

/// Seconds until all of them have been sent this text.
double until_all_have(std::vector<int>& fds, const std::string& text) {
  const auto begin = Clock::now();
  std::vector<std::string> seen(fds.size());
  std::size_t missing = fds.size();
  std::vector<pollfd> waits;
  for (const int fd : fds) waits.push_back({fd, POLLIN, 0});
  while (missing > 0 && since(begin) < 60) {
    poll(waits.data(), waits.size(), 1000);
    for (std::size_t i = 0; i < fds.size(); ++i) {
      if ((waits[i].revents & (POLLIN | POLLHUP)) == 0) continue;
      std::array<char, 8192> part{};
      const ssize_t n = read(fds[i], part.data(), part.size());
      if (n <= 0) std::abort();
      seen[i].append(part.data(), static_cast<std::size_t>(n));
      if (seen[i].find(text) == std::string::npos) continue;
      waits[i].fd = -1;
      --missing;
    }
  }
  return missing == 0 ? since(begin) : -1;
}

void measure_streams(Table& table) {
  constexpr int kStreams = 1000;
  Server server({"--slots", "4"});
  server.begin();
  std::vector<int> fds;
  for (int i = 0; i < kStreams; ++i) fds.push_back(listen_to_events(server.state()));
  if (until_all_have(fds, "\r\n\r\n") < 0) std::abort();
  Client client = server.client();
  submit(client, job("true", 1));
  const double taken = until_all_have(fds, "submitted");
  std::vector<double> answers;
  for (int i = 0; i < 200; ++i) {
    const auto begin = Clock::now();
    must(client.get("/v1/cluster"));
    answers.push_back(1e3 * since(begin));
  }
  for (const int fd : fds) close(fd);
  table.add(
      {"event streams held",
       taken < 0 ? 0.0 : kStreams,
       "streams",
       Target{Target::Is::at_least, 1000},
       {},
       fmt::format("an event reaches all in {:.0f} ms; another request meanwhile p99 {:.1f} ms",
                   1e3 * taken, p99(answers))});
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

JobRecord record_of(JobNumber number, Time now, std::size_t command_bytes) {
  JobRecord record;
  record.number = number;
  record.owner = {"ada", 1000, 1000, Role::user};
  record.spec.name = "train";
  record.spec.command = {"python3", std::string(command_bytes, 'x')};
  record.spec.environment = {{"PATH", "/usr/bin:/bin"}};
  record.submitted = record.life.state.since = now;
  return record;
}

/// Jobs that have ended; or jobs that wait, on a machine that is closed.
void fill_journal(const std::string& state, JobNumber jobs, std::size_t command_bytes, bool wait) {
  std::filesystem::create_directories(state);
  RealSystem system;
  const auto journal = must(Journal::open(system, state + "/journal.db"));
  const auto at_once = static_cast<JobNumber>(100'000'000 / (command_bytes + 10'000));
  for (JobNumber first = 1; first <= jobs; first += at_once) {
    std::vector<JobRecord> records;
    for (JobNumber i = first; i < first + at_once && i <= jobs; ++i) {
      JobRecord& record = records.emplace_back(record_of(i, system.wall_clock(), command_bytes));
      record.life.state.phase = wait ? Phase::queued : Phase::done;
      if (wait) record.eligible = record.submitted, record.spec.per_worker.gpus = 1;
      if (!wait) record.runs = 1;
    }
    JournalChange begun, then;
    if (wait) begun.settings.emplace_back("machine/" + host_name(), "closed");
    for (const JobRecord& record : records) {
      begun.submitted.push_back(&record);
      then.changed.push_back(&record);
      then.events.push_back(
          {record.number, record.submitted, wait ? "queued" : "done", record.number, "ada", "{}"});
    }
    if (!journal->commit(begun) || !journal->commit(then)) std::abort();
  }
}

/// Makes this thread alone another user, as far as the daemon sees; does nothing unless it is root.
void become_another_user() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() == 0) syscall(SYS_setresuid, kNobody, kNobody, kNobody);
}

/// Submits an array of 10,000 tasks and cancels it. The rate limit may refuse either: then it
/// waits, and gives up after some seconds.
void submit_and_cancel_array(const Server& server) {
  constexpr int kTries = 200;
  const auto until_taken = [](const auto& ask) {
    auto answer = ask();
    for (int i = 0; i < kTries && !answer; ++i, answer = ask())
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return answer;
  };
  Client client = server.client();
  json many = job("true", 4);
  many["array"] = "1-10000";
  const auto array = must(until_taken([&] { return client.post("/v1/jobs", many); }));
  const std::string path = fmt::format("/v1/jobs/{}", array.at("job").get<JobNumber>());
  must(until_taken([&] { return client.remove(path); }));
}

void measure_neighbours(Table& table) {
  constexpr int kSubmissions = 300, kReaders = 60;
  Server server({"--slots", "4"});
  fill_journal(server.state(), 600'000, 8, false);
  server.begin();
  Client client = server.client();
  const JobNumber holder = submit(client, job("sleep 600", 4));
  const auto submit_one = [&] { submit(client, job("true", 4)); };
  const AnswerTimes idle = answer_times(kSubmissions, submit_one);
  const auto add = [&](const char* name, const AnswerTimes& loaded) {
    table.add({name, loaded.p99, "ms", Target{Target::Is::at_most, 2 * idle.p99}, idle.p99,
               fmt::format("limit: while idle; p50 {:.2f} ms, idle {:.2f}", loaded.p50, idle.p50)});
  };
  {
    const Crowd readers(kReaders, [&](const std::atomic<bool>& is_over) {
      read_all(server.state(), "/v1/history", is_over);
    });
    add("submit beside 60 readers of history, p99", answer_times(kSubmissions, submit_one));
  }
  {
    const Crowd arrays(1, [&](const std::atomic<bool>&) {
      become_another_user();
      submit_and_cancel_array(server);
    });
    add("submit beside arrays of 10,000, p99", answer_times(kSubmissions, submit_one));
  }
  cancel(client, holder);
}

void measure_history(Table& table) {
  Server empty, full;
  const double none = median_of(3, [&] {
    const double taken = empty.begin();
    empty.end();
    return taken;
  });
  fill_journal(full.state(), 1'000'000, 8, false);
  const double taken = median_of(3, [&] {
    const double start = full.begin();
    full.end();
    return start;
  });
  table.add({"start with 1M ended jobs", taken, "s", Target{Target::Is::at_most, 2}, none, ""});
}

/// Of the daemons that have ended.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto in_seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return in_seconds(used.ru_utime) + in_seconds(used.ru_stime);
}

/// A gigabyte of commands of 1 MB shows whether a start reads them.
void measure_queue(Table& table) {
  struct Queue {
    const char* name;
    JobNumber jobs;
    std::size_t command_bytes;
  };
  for (const Queue& queue : {Queue{"start with 100,000 queued jobs of 5 KB", 100'000, 5'000},
                             Queue{"start with 1,000 queued jobs of 1 MB", 1'000, 1'000'000}}) {
    Server server({"--slots", "4"});
    fill_journal(server.state(), queue.jobs, queue.command_bytes, true);
    std::size_t most = 0;
    constexpr int kStarts = 3;
    const double before = processor_seconds();
    const double taken = median_of(kStarts, [&] {
      const double start = server.begin();
      most = std::max(most, server.peak_memory());
      server.end();
      return start;
    });
    table.add({queue.name,
               taken,
               "s",
               Target{Target::Is::at_most, 3},
               {},
               fmt::format("{:.1f} s of a processor; the daemon takes {} MiB at most, 1,024 are "
                           "the goal",
                           (processor_seconds() - before) / kStarts, most >> 20U)});
  }
}

}  // namespace

void measure_live(Table& table) {
  std::atexit([] {
    if (end_at_exit > 0) kill(end_at_exit, SIGTERM);
  });
  use_all_cores();
  if (table.wants("live/submissions")) measure_submissions(table);
  if (table.wants("live/reads")) measure_reads(table);
  if (table.wants("live/neighbours")) measure_neighbours(table);
  if (table.wants("live/snapshots")) measure_snapshots(table);
  if (table.wants("live/starts")) measure_starts(table);
  if (table.wants("live/streams")) measure_streams(table);
  if (table.wants("live/history")) measure_history(table);
  if (table.wants("live/queue")) measure_queue(table);
}

}  // namespace trainyard::bench
