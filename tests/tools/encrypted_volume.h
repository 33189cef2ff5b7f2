// A small encrypted volume on the disk, with a key file, for tests of tools.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "dedupfs_stat.h"
#include "mkfs_dedupfs.h"
#include "outcome.h"
#include "support/temp_dir.h"

namespace dedupfs::tools {

class EncryptedVolume : public testing::Test {
 protected:
  EncryptedVolume() {
    first_ = key_file("first", "correct horse");
    EXPECT_EQ(outcome_of(run_mkfs, {"--encrypt", "--kdf-memory", "8m", "--key-file", first_, volume_}).exit_code, 0);
  }

  std::string key_file(const std::string& name, const std::string& passphrase) const {
    const std::string path = folder_.path() / name;
    std::ofstream(path) << passphrase << '\n';
    return path;
  }
  // Whether the volume opens with it.
  bool opens_with(const std::string& file) const {
    return outcome_of(run_stat, {"--key-file", file, volume_}).exit_code == 0;
  }
  // One byte of one copy.
  void damage_key_header(const std::string& copy) const {
    std::fstream(volume_ + '/' + copy, std::ios::in | std::ios::out).seekp(300) << 'X';
  }
  // A file that the last unmount did not leave there.
  void add_a_stray_container() const { std::ofstream(volume_ + "/containers/0000009999.container") << "stray"; }

  TempDir folder_;
  const std::string volume_ = folder_.path() / "volume";
  std::string first_;
};

}  // namespace dedupfs::tools
