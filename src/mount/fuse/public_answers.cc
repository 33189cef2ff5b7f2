#include "mount/fuse/public_answers.h"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/guarded.h"

namespace dedupfs {

PublicAnswers::PublicAnswers(const Makers& makers, std::function<Clock::time_point()> now) : now_(std::move(now)) {
  {
    const MutexLock lock(mutex_);
    for (const auto& [name, make] : makers) questions_[name].make = make;
  }
  thread_ = std::thread([this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), "answers");
}

PublicAnswers::~PublicAnswers() {
  stop();
}

bool PublicAnswers::has_room_for(uid_t user) const {
  std::size_t all = 0, of_user = 0;
  for (const auto& [name, question] : questions_) {
    all += question.waiting.size();
    of_user += static_cast<std::size_t>(std::ranges::count(question.waiting, user, &Waiting::user));
  }
  return all < kMaxWaiting && of_user < kMaxWaitingOfUser;
}

void PublicAnswers::ask(std::string_view name, uid_t user, Done done) {
  const auto answer_now = [&]() -> Result<std::optional<std::string>> {  // none: the own thread answers
    const MutexLock lock(mutex_);
    const auto found = questions_.find(name);
    if (found == questions_.end()) return Error{ErrorCode::kNoData, "there is no such attribute"};
    if (stopping_) return Error{ErrorCode::kStale, "the volume is being unmounted"};
    Question& question = found->second;
    if (now_() < question.fresh_until) {
      if (!question.answer) return question.answer.error();
      return *question.answer;
    }
    if (!has_room_for(user)) return Error{ErrorCode::kBusy, "too many questions at once"};
    question.waiting.push_back({user, done});
    changed_.notify_one();
    return std::nullopt;
  };
  const auto answer = guarded(answer_now);
  if (!answer)
    done(answer.error());
  else if (*answer)
    done(**answer);
}

PublicAnswers::Question* PublicAnswers::next() {
  const auto found = std::ranges::find_if(questions_, [](const auto& item) { return !item.second.waiting.empty(); });
  return found == questions_.end() ? nullptr : &found->second;
}

void PublicAnswers::answer(Question& question) {
  Result<std::string> made = std::string();
  const auto began = now_();
  {
    const MutexUnlock unlocked(mutex_);
    made = guarded([&] { return question.make(); });
  }
  const auto ended = now_();
  question.answer = made;
  question.fresh_until = ended + std::max<Clock::duration>(std::chrono::seconds(1), kCostFactor * (ended - began));
  const std::vector<Waiting> asked = std::exchange(question.waiting, {});
  const MutexUnlock unlocked(mutex_);
  for (const Waiting& one : asked) one.done(made);
}

void PublicAnswers::run() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    Question* const question = next();
    if (question == nullptr)
      changed_.wait(mutex_);
    else
      answer(*question);
  }
}

void PublicAnswers::stop() {
  std::vector<Waiting> asked;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  {
    const MutexLock lock(mutex_);
    for (auto& [name, question] : questions_)
      for (Waiting& one : std::exchange(question.waiting, {})) asked.push_back(std::move(one));
  }
  const Result<std::string> ended = Error{ErrorCode::kStale, "the volume is being unmounted"};
  for (const Waiting& one : asked) one.done(ended);
}

}  // namespace dedupfs
