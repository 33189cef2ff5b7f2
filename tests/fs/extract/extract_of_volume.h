// A volume with files of all kinds, and an extraction from it.
#pragma once

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fs/extract/extract.h"
#include "fs/test_filesystem.h"

namespace dedupfs {

// Remembers failures by path.
class Failures final : public ExtractObserver {
 public:
  void note_failure(const std::string& path, const Error& error) override { by_path.emplace(path, error); }
  bool goes_on(const ExtractTotals& /*so_far*/) override { return !stops; }

  std::map<std::string, Error> by_path;
  bool stops = false;
};

inline EntrySource source_of(Filesystem& filesystem, const Attributes& attributes) {
  static const EntrySource::Watcher kGoOn = [](std::uint64_t) { return true; };
  return {filesystem, attributes, kGoOn};
}

// docs/letter with a second name, docs/old -> letter, sparse with a hole in the middle and at its end, a fifo, an empty folder.
class VolumeOfAllKinds : public testing::Test {
 protected:
  VolumeOfAllKinds() {
    const InodeNumber docs = volume_.make_directory(kRootInode, "docs", 0750);
    const InodeNumber letter = volume_.make_file(docs, "letter", letter_text_, 0640);
    value_of(volume_->make_link(letter, kRootInode, "twin"));
    value_of(volume_->make_symlink(docs, "old", "letter", {}));
    const InodeNumber sparse = volume_.make_file(kRootInode, "sparse", "begin");
    volume_.write(sparse, 1 << 20, "middle");
    EXPECT_TRUE(ok(volume_->set_attributes(sparse, {.size = 4 << 20}, {})));
    value_of(volume_->make_node(kRootInode, "pipe", S_IFIFO | 0600, 0, {}));
    volume_.make_directory(kRootInode, "empty");
    EXPECT_TRUE(ok(volume_->set_xattr(letter, "user.author", "me", XattrMode::kSet)));
    AttributeChanges old;
    old.mtime = Timestamp{.seconds = 1'000'000'000, .nanoseconds = 7};
    EXPECT_TRUE(ok(volume_->set_attributes(letter, old, {})));
    EXPECT_TRUE(ok(volume_->set_attributes(docs, old, {})));
  }

  ExtractTotals take(ExtractSink& sink, const ExtractRequest& request = {}) {
    failures_.by_path.clear();
    return value_of(extract(*volume_, request, sink, failures_));
  }

  const std::string letter_text_ = random_text(100'000, 1);
  TestFilesystem volume_;
  Failures failures_;
};

}  // namespace dedupfs
