#include "fs/background/defragmenter.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/guarded.h"
#include "base/low_priority.h"
#include "base/size.h"
#include "store/relocation/relocator.h"

namespace dedupfs {
namespace {

constexpr std::chrono::milliseconds kNone{0};

}  // namespace

Defragmenter::Defragmenter(Volume& volume, unsigned percent, DefragmenterHost host)
    : volume_(volume), percent_(percent), host_(std::move(host)) {
  volume_.chunks().recent_references().start();
  thread_ = std::thread([this] { run(); });
}

Defragmenter::~Defragmenter() {
  stop();
}

void Defragmenter::stop() {
  volume_.chunks().recent_references().end();
  if (thread_.joinable()) thread_.join();
}

void Defragmenter::finish(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  stop();
  if (!host_.commit(kNone)) return;  // it cuts the last files into chunks
  while (std::chrono::steady_clock::now() < end) {
    const auto window = volume_.chunks().recent_references().take();
    if (!window) return;
    rewrite(*window, kNone);
  }
}

void Defragmenter::run() {
  lower_priority_of_this_thread();
  while (const auto window = volume_.chunks().recent_references().wait_for_window())
    survive("rewriting", [&] { rewrite(*window, host_.patience); });
}

void Defragmenter::rewrite(const RecentReferences::Window& window, std::chrono::milliseconds patience) {
  const auto moving = volume_.chunks().relocator().try_moving();
  if (!moving || !host_.may_defragment()) return;
  if (!host_.commit(patience)) return;  // callers that wait for the commit get the error
  const auto findings = volume_.chunks().relocator().defragment(window, percent_, host_.in_group);
  if (!findings)
    spdlog::warn("rewriting: {}", findings.error().message());
  else if (findings->chunks != 0)
    spdlog::info("rewriting: {} chunks, {}", findings->chunks, human_size(findings->bytes));
}

}  // namespace dedupfs
