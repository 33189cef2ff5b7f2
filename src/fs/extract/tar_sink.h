// Writes a tar archive in the pax format, as GNU tar, bsdtar and star read it: names of any bytes and length, times with
// nanoseconds, extended attributes (SCHILY.xattr), ACLs (SCHILY.acl), holes (GNU.sparse), hard links, devices. Owners are
// numbers.
//
// Threads: one.
// Failure: as extract_sink.h. An archive has the length of a file before its content, so the content is read once before that, to
//          see whether it can be: a damaged file is left out. Broken once the output takes nothing more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "fs/extract/extract_sink.h"

struct archive;
struct archive_entry;

namespace dedupfs {

class TarSink final : public ExtractSink {
 public:
  // False: it could not be written.
  using Output = std::function<bool(std::string_view bytes)>;

  static Result<std::unique_ptr<TarSink>> open(Output output);
  ~TarSink() override;

  Result<void> begin_folder(const ExtractEntry& folder, EntrySource& source) override;
  Result<Taken> end_folder(const ExtractEntry& folder, EntrySource& source) override;
  Result<Taken> put(const ExtractEntry& entry, EntrySource& source) override;
  Result<void> put_link(const ExtractEntry& entry, const std::string& first) override;
  bool is_broken() const override { return is_broken_; }

  // The end of the archive. Nothing follows.
  Result<void> finish();

 private:
  struct FreeEntry {
    void operator()(archive_entry* entry) const;
  };
  using Entry = std::unique_ptr<archive_entry, FreeEntry>;

  explicit TarSink(Output output) : output_(std::move(output)) {}
  Result<void> start();
  Error failure(std::string_view what);
  Result<Entry> make_entry(const ExtractEntry& entry) const;
  static Result<void> add_xattrs(archive_entry& entry, EntrySource& source);
  Result<void> write_header(archive_entry& entry);
  Result<void> write_content(const ExtractEntry& entry, EntrySource& source);
  Result<void> write_zeros(std::uint64_t count);

  const Output output_;
  archive* archive_ = nullptr;
  bool is_broken_ = false;
};

}  // namespace dedupfs
