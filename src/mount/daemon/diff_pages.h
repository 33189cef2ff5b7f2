// A difference of trees that is asked for page by page. The last one is kept until its last page was taken, so that it is found once,
// and so that all pages are of the same moment.
//
// Threads: one user at a time: the control server asks one question after the other.
// Memory:  kMaxBytes. It is freed with its last page, with the next difference, or by drop_old() kKept after its last use.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "fs/snapshots/tree_diff.h"

namespace dedupfs {

class DiffPages {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kKept{120};
  // What takes more is found again for each page.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  struct Asked {
    std::string from;
    std::optional<std::string> to;  // none: the present
    std::size_t first = 0;          // the number of the first change that is wanted

    bool is_same_diff(const Asked& other) const { return from == other.from && to == other.to; }
  };
  using Find = std::function<Result<TreeDiff>()>;

  // Found anew if the first page is asked for, or if another difference was asked for meanwhile.
  Result<std::shared_ptr<const TreeDiff>> get(const Asked& asked, const Find& find,
                                              Clock::time_point now = Clock::now());
  // So many changes of the last one were given away, from its first one on.
  void note_given(std::size_t changes);
  // Its client seems to be gone. Call it now and then.
  void drop_old(Clock::time_point now = Clock::now());

 private:
  Asked asked_;
  std::shared_ptr<const TreeDiff> kept_;
  Clock::time_point used_;
};

}  // namespace dedupfs
