// Memory that runs out at one allocation after the other: of all threads, wherever our own code allocates. Whatever fails is an
// error of the one request, nothing hangs, nothing that was acknowledged is lost, and what is on the disk stays sound.
//
//   DEDUPFS_TEST_ALLOCATIONS=all   every allocation instead of some of them;  =n   the n-th alone
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <new>
#include <random>
#include <string>

#include "base/guarded.h"
#include "base/memory_reserve.h"
#include "fs/check/fsck.h"
#include "support/sanitized.h"
#include "test_filesystem.h"

namespace dedupfs {
namespace {

// Counts down with each allocation while it is armed; the one that finds zero fails.
std::atomic<std::int64_t> left = 0;
std::atomic<bool> armed = false;
thread_local bool exempt = false;  // the test's own

// What fails inside of RocksDB is not ours to mend.
bool is_inside_rocksdb() {
  void* frames[48];
  const int count = ::backtrace(frames, 48);
  for (int i = 0; i < count; ++i) {
    Dl_info info{};
    if (::dladdr(frames[i], &info) != 0 && info.dli_fname != nullptr &&
        std::string_view(info.dli_fname).find("rocksdb") != std::string_view::npos)
      return true;
  }
  return false;
}

bool must_fail() {
  if (!armed || exempt || left.fetch_sub(1) > 0) return false;
  exempt = true;
  const bool ours = !is_inside_rocksdb();
  exempt = false;
  return ours && armed.exchange(false);  // one fails; inside of RocksDB it is the next one's turn
}

class Exempt {
 public:
  Exempt() { exempt = true; }
  ~Exempt() { exempt = false; }
  Exempt(const Exempt&) = delete;
  Exempt& operator=(const Exempt&) = delete;
};

// What is known of a file: its content, unless an operation on it failed.
struct Expected {
  InodeNumber inode = 0;
  std::string content;
  bool certain = true;
};

class Workload {
 public:
  explicit Workload(TestFilesystem& fs, std::string name) : fs_(fs), name_(std::move(name)) {
    std::mt19937_64 random(1);
    noise_.resize(700'000);
    for (auto& byte : noise_) byte = static_cast<char>(random());
  }

  // Calls of the filesystem are what fails; the test's own memory does not.
  template <class Call>
  auto request(const Call& call) -> decltype(call()) {
    exempt = false;
    auto result = guarded(call);
    exempt = true;
    if (!result) ++errors_;
    return result;
  }

  void run() {
    const Exempt own;
    create("a");
    create("b");
    for (std::size_t at = 0; at < noise_.size(); at += 100'000) write("a", at, noise_.substr(at, 100'000));
    write("b", 0, "short");
    (void)request([&] { return fs_->sync(); });
    write("a", 50'000, noise_.substr(3, 5000));
    punch("a", 200'000, 8192);
    truncate("a", 650'000);
    (void)request([&] { return fs_->make_directory(kRootInode, name_ + "d", 0755, {}); });
    create("c");
    clone("a", "c", 300'000);
    if (files_["b"].inode != 0)
      (void)request([&] { return fs_->set_xattr(files_["b"].inode, "user.x", "value", Filesystem::XattrMode::kSet); });
    (void)request([&] {
      return fs_->rename(kRootInode, name_ + "b", kRootInode, name_ + "e", Filesystem::RenameMode::kReplace);
    });
    for (const auto& [name, file] : files_)
      if (file.inode != 0) (void)request([&, inode = file.inode] { return fs_->read(inode, 0, 1 << 20); });
    (void)request([&] { return fs_->sync(); });
  }

  // False: the filesystem has become read-only.
  bool verify() {
    const Result<void> synced = fs_->sync();
    if (!synced && !fs_->check_writable(kRootInode)) return false;
    // What could not be stored for want of memory is stored now. Its error is told once.
    EXPECT_TRUE(ok(fs_->sync()));
    for (const auto& [name, file] : files_) {
      if (file.inode == 0 || !file.certain) continue;
      EXPECT_TRUE(fs_.content(file.inode) == file.content) << name_ << name;
    }
    for (const auto& [name, file] : files_)
      if (file.inode != 0) fs_->forget(file.inode, 1);
    return true;
  }
  int errors() const { return errors_; }

 private:
  void create(const std::string& name) {
    const auto created = request([&] { return fs_->create(kRootInode, name_ + name, 0644, {}); });
    if (created) files_[name].inode = created->inode;
  }
  template <class Change, class Model>
  void change(const std::string& name, const Change& real, const Model& model) {
    Expected& file = files_[name];
    if (file.inode == 0) return;
    if (request(real))
      model(file.content);
    else
      file.certain = false;
  }
  void write(const std::string& name, std::size_t offset, const std::string& bytes) {
    change(
        name, [&] { return fs_->write(files_[name].inode, offset, bytes_of(bytes), {}, nullptr); },
        [&](std::string& content) {
          content.resize(std::max(content.size(), offset + bytes.size()));
          content.replace(offset, bytes.size(), bytes);
        });
  }
  void punch(const std::string& name, std::size_t offset, std::size_t length) {
    change(
        name, [&] { return fs_->allocate(files_[name].inode, offset, length, Filesystem::AllocateMode::kPunchHole); },
        [&](std::string& content) {
          for (std::size_t i = offset; i < std::min(content.size(), offset + length); ++i) content[i] = '\0';
        });
  }
  void truncate(const std::string& name, std::size_t size) {
    AttributeChanges changes;
    changes.size = size;
    change(
        name, [&] { return fs_->set_attributes(files_[name].inode, changes, {}); },
        [&](std::string& content) { content.resize(size); });
  }
  void clone(const std::string& from, const std::string& to, std::size_t length) {
    if (files_[from].inode == 0) return;
    Result<std::uint64_t> copied = 0;
    change(
        to, [&] { return copied = fs_->copy_range(files_[from].inode, 0, files_[to].inode, 0, length); },
        [&](std::string& content) {
          content = files_[from].content.substr(0, *copied);
          files_[to].certain = files_[from].certain;
        });
  }

  TestFilesystem& fs_;
  const std::string name_;
  std::string noise_;
  std::map<std::string, Expected> files_;
  int errors_ = 0;
};

TEST(OutOfMemory, EachAllocationMayFail) {
  void* frames[1];
  ::backtrace(frames, 1);  // loads what it needs
  const char* const asked = std::getenv("DEDUPFS_TEST_ALLOCATIONS");
  const bool all = asked != nullptr && std::string_view(asked) == "all";

  auto fs = std::make_unique<TestFilesystem>();
  constexpr std::int64_t kNone = std::int64_t{1} << 60;
  left = kNone;
  armed = true;
  Workload calm(*fs, "calm");
  calm.run();
  armed = false;
  const std::int64_t allocations = kNone - left;
  ASSERT_EQ(calm.errors(), 0);
  ASSERT_TRUE(calm.verify());

  constexpr std::int64_t kSome = kSanitized ? 50 : 150;
  std::int64_t first = 0;
  std::int64_t step = all ? 1 : std::max<std::int64_t>(1, allocations / kSome);
  if (asked != nullptr && !all) {
    first = std::strtoll(asked, nullptr, 10);
    step = allocations;
  }
  int runs = 0;
  int read_only = 0;
  int failed_requests = 0;
  for (std::int64_t number = first; number < allocations; number += step, ++runs) {
    SCOPED_TRACE("DEDUPFS_TEST_ALLOCATIONS=" + std::to_string(number));
    Workload workload(*fs, "run" + std::to_string(number));
    left = number;
    armed = true;
    workload.run();
    armed = false;
    failed_requests += workload.errors();
    if (!workload.verify()) {
      // It gave up rather than to commit half a change: what was committed before is whole.
      ++read_only;
      (void)(*fs)->close();
    } else if (runs % 50 == 49) {
      fs->close();
    } else {
      if (testing::Test::HasFailure()) break;
      continue;
    }
    fs->drop();
    const FsckReport report = value_of(run_fsck(fs->path(), {.verify_data = true}));
    EXPECT_TRUE(report.is_clean()) << testing::PrintToString(report.lines);
    fs->open();
    if (testing::Test::HasFailure()) break;
  }
  std::cout << runs << " of " << allocations << " allocations failed: " << failed_requests << " requests got an error, "
            << read_only << " times the filesystem became read-only\n";
  EXPECT_GT(failed_requests, runs / 4);
}

TEST(OutOfMemory, TheReserveIsGivenUpOnceAndTakenAgain) {
  install_memory_reserve(1 << 20);
  ASSERT_TRUE(memory_reserve_is_whole());

  std::get_new_handler()();
  EXPECT_THROW(std::get_new_handler()(), std::bad_alloc);
  EXPECT_TRUE(memory_reserve_is_whole());
  EXPECT_NO_THROW(std::get_new_handler()());

  std::set_new_handler(nullptr);
}

}  // namespace
}  // namespace dedupfs

// Not inlined: the compiler would take the two for a mismatched pair.
// NOLINTBEGIN(cppcoreguidelines-no-malloc): this is what malloc is for
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (dedupfs::must_fail()) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc)
