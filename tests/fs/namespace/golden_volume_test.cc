// Volumes that earlier versions wrote (tests/golden/volumes) hold for this one what they held for their makers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "fs/check/namespace_check.h"
#include "fs/check/snapshot_check.h"
#include "fs/test_filesystem.h"
#include "store/check/store_check.h"
#include "store/chunks/fingerprint.h"
#include "store/seal/sealed_backing.h"

namespace dedupfs {
namespace {

using Manifest = std::map<std::string, nlohmann::json>;  // by path

const std::filesystem::path kGoldens = std::filesystem::path(DEDUPFS_GOLDEN_DIR) / "volumes";

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kGoldens))
    if (file.path().extension() == ".manifest") names.push_back(file.path().stem());
  std::ranges::sort(names);
  return names;
}

Manifest read_manifest(const std::filesystem::path& from) {
  Manifest manifest;
  std::ifstream file(from);
  for (std::string line; std::getline(file, line);) {
    nlohmann::json entry = nlohmann::json::parse(line);
    const std::string path = entry.at("path");
    manifest[path] = std::move(entry);
  }
  return manifest;
}

Manifest manifest_of(const std::string& name) {
  return read_manifest(kGoldens / (name + ".manifest"));
}

// By the names of the snapshots.
std::map<std::string, Manifest> snapshots_of(const std::string& name) {
  std::map<std::string, Manifest> manifests;
  for (const auto& file : std::filesystem::directory_iterator(kGoldens)) {
    const std::string stem = file.path().stem();
    if (file.path().extension() == ".snapshot" && stem.starts_with(name + "."))
      manifests[stem.substr(name.size() + 1)] = read_manifest(file.path());
  }
  return manifests;
}

// As in the manifests: what is not printable ASCII stands as %XX.
std::string printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~' && c != '%')
      text += c;
    else
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string time_text(const Timestamp& time) {
  return fmt::format("{}.{:09}", time.seconds, time.nanoseconds);
}

class GoldenVolumeTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string command = fmt::format("tar -xzf '{}' -C '{}'", (kGoldens / (GetParam() + ".tar.gz")).string(),
                                            directory_.path().string());
    ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(cert-env33-c): nobody else's input
  }

  std::unique_ptr<Volume> open_volume(bool read_only) {
    VolumeOptions options;
    options.read_only = read_only;
    options.threads = 2;
    options.index_memory_bytes = 32 << 20;
    auto key_of = [](const Path&, const KeyHeader& header) -> Result<std::shared_ptr<const VolumeKey>> {
      DEDUPFS_ASSIGN(UnlockedKey unlocked, unlock(header, bytes_of("a passphrase for everybody")));
      return std::move(unlocked.key);
    };
    return value_of(Volume::open(directory_.path() / "volume", options,
                                 std::make_shared<SealedBacking>(Backing::posix(), std::move(key_of))));
  }
  void open(bool read_only) {
    FilesystemOptions options;
    options.atime = FilesystemOptions::Atime::kNever;
    filesystem_ = value_of(Filesystem::open(open_volume(read_only), options));
  }
  void close() {
    ASSERT_TRUE(ok(filesystem_->close()));
    filesystem_.reset();
  }

  Manifest contents(InodeNumber root = kRootInode) {
    first_paths_.clear();
    Manifest found;
    add_below(root, "/", found);
    return found;
  }
  std::map<std::string, Manifest> snapshots() {
    std::map<std::string, Manifest> found;
    for (const SnapshotRecord& snapshot : filesystem_->snapshots())
      found[snapshot.name] = contents(node_of(snapshot.number, kRootInode));
    return found;
  }

  std::vector<std::string> errors() {
    std::vector<std::string> lines;
    CheckReport report([&](const std::string& line) {
      if (line.starts_with("error")) lines.push_back(line);
    });
    const auto volume = open_volume(true);
    const ChunkTable chunks = value_of(check_store(*volume, report)).chunks;
    value_of(check_namespace(*volume, chunks, report));
    EXPECT_TRUE(ok(check_snapshots(*volume, chunks, report)));
    return lines;
  }

 private:
  TempDir directory_;

 protected:
  std::unique_ptr<Filesystem> filesystem_;

 private:
  void add_below(InodeNumber directory, const std::string& path, Manifest& found) {
    add(directory, path, found);
    std::map<std::string, DirectoryEntry> entries;  // in order of name, as the paths of hard links are told
    ASSERT_TRUE(ok(filesystem_->read_directory(directory, 0, false, [&](const DirectoryEntry& entry) {
      if (entry.name != "." && entry.name != "..") entries[entry.name] = entry;
      return true;
    })));
    for (const auto& [name, entry] : entries) {
      const std::string below = (path == "/" ? path : path + "/") + printable(name);
      const Attributes attributes = value_of(filesystem_->lookup(directory, name));
      EXPECT_EQ(attributes.inode, entry.attributes.inode) << below;
      if (is_directory(attributes.mode))
        add_below(attributes.inode, below, found);
      else
        add(attributes.inode, below, found);
      filesystem_->forget(attributes.inode, 1);
    }
  }

  void add(InodeNumber inode, const std::string& path, Manifest& found) {
    const Attributes attributes = value_of(filesystem_->attributes(inode));
    nlohmann::json entry = {{"path", path},
                            {"mode", fmt::format("{:o}", attributes.mode)},
                            {"uid", attributes.uid},
                            {"gid", attributes.gid},
                            {"links", attributes.links},
                            {"size", attributes.size},
                            {"atime", time_text(attributes.atime)},
                            {"mtime", time_text(attributes.mtime)},
                            {"ctime", time_text(attributes.ctime)},
                            {"xattrs", nlohmann::json::object()}};
    for (const std::string& name : value_of(filesystem_->list_xattrs(inode)))
      entry["xattrs"][name] = hex(value_of(filesystem_->get_xattr(inode, name)));
    if (is_regular(attributes.mode)) entry["sha256"] = fingerprint_of(bytes_of(content(attributes))).hex();
    if (is_symlink(attributes.mode)) entry["target"] = printable(value_of(filesystem_->read_symlink(inode)));
    if (is_device(attributes.mode)) entry["device"] = attributes.device;
    const std::string first = first_paths_.try_emplace(inode, path).first->second;
    if (first != path) entry["same_file_as"] = first;
    found[path] = std::move(entry);
  }

  std::string content(const Attributes& attributes) {
    std::string content;
    while (content.size() < attributes.size) {
      const std::size_t before = content.size();
      for (const auto& piece : value_of(filesystem_->read(attributes.inode, before, 1 << 20)))
        content += text_of(piece.bytes);
      if (content.size() == before) break;
    }
    return content;
  }

  std::map<InodeNumber, std::string> first_paths_;
};

INSTANTIATE_TEST_SUITE_P(Golden, GoldenVolumeTest, testing::ValuesIn(golden_names()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(GoldenVolumeTest, IsReadWithoutWriting) {
  open(true);

  EXPECT_EQ(contents(), manifest_of(GetParam()));
  EXPECT_EQ(snapshots(), snapshots_of(GetParam()));
}

TEST_P(GoldenVolumeTest, IsReadForWriting) {
  open(false);
  EXPECT_EQ(contents(), manifest_of(GetParam()));
  close();

  open(false);
  EXPECT_EQ(contents(), manifest_of(GetParam()));
}

TEST_P(GoldenVolumeTest, CanBeWrittenTo) {
  open(false);
  const Attributes created = value_of(filesystem_->create(kRootInode, "new", 0644, {}));
  const std::string content(1 << 20, 'x');
  ASSERT_TRUE(ok(filesystem_->write(created.inode, 0, bytes_of(content), {}, nullptr)));
  filesystem_->forget(created.inode, 1);
  close();

  open(false);
  Manifest found = contents();
  EXPECT_EQ(found["/new"]["sha256"], fingerprint_of(bytes_of(content)).hex());
  found.erase("/new");
  Manifest expected = manifest_of(GetParam());
  expected["/"] = found["/"];  // has another entry and other times
  EXPECT_EQ(found, expected);
  close();
  EXPECT_EQ(errors(), std::vector<std::string>());
  open(true);
  EXPECT_EQ(snapshots(), snapshots_of(GetParam()));
}

TEST_P(GoldenVolumeTest, KnowsUpToWhereItWasGathered) {
  const bool was_gathered = GetParam() == "v1-gathered";
  EXPECT_EQ(open_volume(true)->end_of_gathered() > 1, was_gathered);
}

TEST_P(GoldenVolumeTest, IsSound) {
  EXPECT_EQ(errors(), std::vector<std::string>());
}

}  // namespace
}  // namespace dedupfs
