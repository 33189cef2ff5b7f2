// A fixture: an empty folder for a volume, and one to mount it at.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace dedupfs {

struct VolumeAndPlace : testing::Test {
  TempDir folder;
  const Path volume = folder.path() / "volume";
  const Path place = folder.path() / "mounted";

  void SetUp() override {
    std::filesystem::create_directory(volume);
    std::filesystem::create_directory(place);
  }
};

}  // namespace dedupfs
