#include "live/server/elastic_threads.h"

#include <chrono>
#include <csignal>
#include <system_error>
#include <thread>

namespace trainyard {

constexpr std::chrono::seconds kIdle{10};

ElasticThreads::~ElasticThreads() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  more_.notify_all();
  gone_.wait(lock, [&] { return alive_ == 0; });
}

bool ElasticThreads::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (work_.size() >= idle_) {
    try {
      std::thread([this] { live(); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    ++alive_;
    ++idle_;  // it will be when it has begun; until then the work below is as good as its own
  }
  work_.push_back(std::move(work));
  more_.notify_one();
  return true;
}

void ElasticThreads::live() {
  // Whoever writes to a connection that is gone is told by an error instead. Only here: what the
  // process starts must not inherit it.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (more_.wait_for(lock, kIdle, [&] { return !work_.empty() || stopping_; }) &&
         !work_.empty()) {
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    --idle_;
    lock.unlock();
    work();
    lock.lock();
    ++idle_;
  }
  --idle_;
  --alive_;
  // Under the lock: whoever waits for the last one destroys what is notified here.
  gone_.notify_all();
}

}  // namespace trainyard
