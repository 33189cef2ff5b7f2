#include "command/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dedupfs::tools {
namespace {

using testing::ContainsRegex;
using testing::StartsWith;

TEST(Version, TheFirstLineIsTheProgramAndTheVersionOfTheProject) {
  EXPECT_EQ(project_version(), DEDUPFS_VERSION);
  EXPECT_THAT(version_text("mkfs.dedupfs"), StartsWith("mkfs.dedupfs " DEDUPFS_VERSION "\n"));
}

TEST(Version, TellsHowTheProgramWasBuilt) {
  const std::string text = version_text("tool");

  EXPECT_THAT(text, ContainsRegex("\nbuild: (gcc|clang) [0-9.]+, buildtype [a-z]+, [a-z0-9_]+"));
  EXPECT_THAT(text, ContainsRegex("\nkernels: scalar"));
}

TEST(Version, NamesTheLibrariesWithTheirVersions) {
  const std::string text = version_text("tool");

  for (const std::string library : {"libfuse 3", "RocksDB [0-9]+", "zstd 1", "OpenSSL 3", "xxHash 0"})
    EXPECT_THAT(text, ContainsRegex("libraries:.* " + library + "\\.[0-9]+\\.[0-9]+")) << library;
}

}  // namespace
}  // namespace dedupfs::tools
