// A database on the disk, as the tests of database*.cc use it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "index/database.h"
#include "support/crash_copy.h"
#include "support/folder_at.h"
#include "support/temp_dir.h"

namespace dedupfs {

inline std::unique_ptr<Database> open_or_die(const Path& path, const Database::Settings& settings = {}) {
  auto database = Database::open(folder_at(path), settings);
  EXPECT_TRUE(database) << database.error().message();
  return database ? std::move(*database) : nullptr;
}

inline Result<void> put(Database& database, std::string_view key, std::string_view value,
                        Family family = Family::kInodes) {
  Database::Batch batch(database);
  batch.put(family, key, value);
  return database.write(batch);
}

inline std::optional<std::string> get(const Database& database, std::string_view key, Family family = Family::kInodes) {
  auto value = database.get(family, key);
  EXPECT_TRUE(value) << value.error().message();
  return value ? *value : std::nullopt;
}

inline std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>> listing(const Path& path) {
  std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>> files;
  for (const auto& file : std::filesystem::directory_iterator(path))
    files[file.path().filename()] = {file.file_size(), file.last_write_time()};
  return files;
}

inline Path log_with_content(const Path& index) {
  for (const auto& file : std::filesystem::directory_iterator(index))
    if (file.path().extension() == ".log" && file.file_size() != 0) return file.path();
  ADD_FAILURE() << "no log in " << index;
  return {};
}

inline void overwrite_at(const Path& file, std::uint64_t offset, const std::string& bytes) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream << bytes;
  ASSERT_TRUE(stream.good());
}

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto created = Database::create(folder_at(index()));
    ASSERT_TRUE(created) << created.error().message();
  }

  // What a crash now would leave: a copy of the files, with the log not yet turned into tables.
  Path crash(const std::string& name = "crashed") const { return crash_of(index(), name); }
  Path crash_of(const Path& database, const std::string& name) const {
    const Path copy = directory_.path() / name;
    crash_copy(database, copy);
    return copy;
  }

  Path index() const { return directory_.path() / "index"; }

  TempDir directory_;
};

// A small file system of its own, which can be full.
class SmallDisk {
 public:
  explicit SmallDisk(const Path& at) : path_(at) {
    std::filesystem::create_directory(at);
    mounted_ = ::mount("dedupfs-test", at.c_str(), "tmpfs", 0, "size=4m") == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }

  bool is_there() const { return mounted_; }
  void fill() const {
    std::ofstream ballast(path_ / "ballast", std::ios::binary);
    const std::string block(4096, 'x');
    while (ballast.write(block.data(), 4096).flush()) {
    }
  }
  void make_space() const { std::filesystem::remove(path_ / "ballast"); }
  void make_space(std::uint64_t bytes) const {
    const auto held = std::filesystem::file_size(path_ / "ballast");
    std::filesystem::resize_file(path_ / "ballast", held - std::min<std::uint64_t>(bytes, held));
  }

 private:
  Path path_;
  bool mounted_ = false;
};

}  // namespace dedupfs
