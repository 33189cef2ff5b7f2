#include "mount/system/patience.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <thread>
#include <utility>

namespace dedupfs {
namespace {

using namespace std::chrono_literals;

constexpr auto kSilence = 2s;        // most waits end before anybody wonders
constexpr auto kBetweenLines = 30s;  // "now and then"

double seconds_of(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Wait::Wait(std::string what, const Patience& patience)
    : what_(std::move(what)), limit_(patience.limit), say_(patience.say), next_line_(begin_ + kSilence) {
  if (!say_) say_ = [](const std::string& line) { std::cerr << line << std::endl; };
}

std::chrono::milliseconds Wait::pause(std::chrono::milliseconds longest) const {
  const auto left = std::min(next_line_, last_progress_ + limit_) - Clock::now();
  return std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), 0ms, longest);
}

void Wait::note_progress(std::string progress) {
  last_progress_ = Clock::now();
  progress_ = std::move(progress);
}

std::string Wait::reason() const {
  const std::string why = !progress_.empty() ? progress_ : why_ ? why_() : std::string();
  return why.empty() ? why : "; " + why;
}

Result<void> Wait::check() {
  const auto now = Clock::now();
  if (now >= last_progress_ + limit_)
    return Error{ErrorCode::kInterrupted,
                 fmt::format("gave up after {:.0f} s of waiting for {}{}", seconds_of(now - begin_), what_, reason())};
  if (now < next_line_) return {};
  next_line_ = now + kBetweenLines;
  if (last_progress_ != begin_)
    say_(fmt::format("waiting for {} for {:.0f} s{}", what_, seconds_of(now - begin_), reason()));
  else if (lines_++ == 0)
    say_(fmt::format("waiting for {} (at most {:.0f} s){}", what_, seconds_of(limit_), reason()));
  else
    say_(fmt::format("still waiting for {}: {:.0f} of {:.0f} s{}", what_, seconds_of(now - begin_), seconds_of(limit_),
                     reason()));
  return {};
}

Result<void> Wait::for_events(int descriptor, short events) {
  for (;;) {
    DEDUPFS_TRY(check());  // first, since a peer that sends a byte now and then must not make the wait endless
    pollfd polled{descriptor, events, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(pause().count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Error::from_errno(errno, "waiting for " + what_);
  }
}

Result<void> Wait::until(const std::function<bool()>& is_so) {
  constexpr auto kBetweenLooks = 20ms;
  while (!is_so()) {
    DEDUPFS_TRY(check());
    std::this_thread::sleep_for(pause(kBetweenLooks));
  }
  return {};
}

}  // namespace dedupfs
