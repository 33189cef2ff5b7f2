#define FUSE_USE_VERSION 312  // its header demands one; the version of the library is the same for all

#include "command/version.h"

#include <fmt/format.h>
#include <fuse_lowlevel.h>
#include <openssl/crypto.h>
#include <rocksdb/version.h>
#include <xxhash.h>
#include <zstd.h>

namespace dedupfs::tools {
namespace {

// XXH_versionNumber() packs two decimal digits a part.
std::string xxhash_version() {
  const unsigned number = XXH_versionNumber();
  return fmt::format("{}.{}.{}", number / 10'000, number / 100 % 100, number % 100);
}

}  // namespace

std::string_view project_version() {
  return DEDUPFS_VERSION;
}

std::string version_text(std::string_view program) {
  return fmt::format(
      "{} {}\n"
      "build: {}\n"
      "kernels: {}\n"
      "libraries: libfuse {}, RocksDB {}, zstd {}, OpenSSL {}, xxHash {}",
      program, project_version(), DEDUPFS_BUILD, DEDUPFS_KERNELS, fuse_pkgversion(), rocksdb::GetRocksVersionAsString(),
      ZSTD_versionString(), OpenSSL_version(OPENSSL_VERSION_STRING), xxhash_version());
}

}  // namespace dedupfs::tools
