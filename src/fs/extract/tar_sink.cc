#include "fs/extract/tar_sink.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "fs/format/mode.h"
#include "fs/namespace/posix_acl.h"

namespace dedupfs {
namespace {

// A file with more is written with its holes as zeros: the list of the parts stands in memory and in the archive.
constexpr std::size_t kMostExtents = 10'000;
constexpr std::array<std::uint8_t, 64 << 10> kZeroPadding{};

int acl_tag(PosixAcl::Tag tag) {
  switch (tag) {
    case PosixAcl::Tag::kUserObject: return ARCHIVE_ENTRY_ACL_USER_OBJ;
    case PosixAcl::Tag::kUser: return ARCHIVE_ENTRY_ACL_USER;
    case PosixAcl::Tag::kGroupObject: return ARCHIVE_ENTRY_ACL_GROUP_OBJ;
    case PosixAcl::Tag::kGroup: return ARCHIVE_ENTRY_ACL_GROUP;
    case PosixAcl::Tag::kMask: return ARCHIVE_ENTRY_ACL_MASK;
    case PosixAcl::Tag::kOther: return ARCHIVE_ENTRY_ACL_OTHER;
  }
  return ARCHIVE_ENTRY_ACL_OTHER;
}

Result<void> add_acl(archive_entry& entry, int type, const std::string& value) {
  const auto acl = PosixAcl::decode(value);
  if (!acl) return acl.error().with("its access list");
  for (const PosixAcl::Entry& line : acl->entries()) {
    const bool has_id = line.tag == PosixAcl::Tag::kUser || line.tag == PosixAcl::Tag::kGroup;
    const int id = has_id ? static_cast<int>(line.id) : -1;
    if (::archive_entry_acl_add_entry(&entry, type, line.permissions & 7, acl_tag(line.tag), id, nullptr) != ARCHIVE_OK)
      return Error{ErrorCode::kNoMemory, "its access list"};
  }
  return {};
}

using Extents = std::vector<EntrySource::Extent>;

// None if there are too many.
Result<std::optional<Extents>> extents_of(EntrySource& source) {
  Extents extents;
  for (std::uint64_t offset = 0;; offset = extents.back().end) {
    DEDUPFS_ASSIGN(const auto extent, source.next_extent(offset));
    if (!extent) return std::optional(std::move(extents));
    if (extents.size() == kMostExtents) return std::optional<Extents>();
    extents.push_back(*extent);
  }
}

void add_holes(archive_entry& entry, const Extents& extents, std::uint64_t size) {
  const bool has_holes = extents.size() != 1 || extents.front().begin != 0 || extents.front().end != size;
  if (!has_holes || size == 0) return;
  for (const auto& [begin, end] : extents)
    ::archive_entry_sparse_add_entry(&entry, static_cast<la_int64_t>(begin), static_cast<la_int64_t>(end - begin));
  // A file that ends with a hole, or is one.
  if (extents.empty() || extents.back().end != size)
    ::archive_entry_sparse_add_entry(&entry, static_cast<la_int64_t>(size), 0);
}

}  // namespace

void TarSink::FreeEntry::operator()(archive_entry* entry) const {
  ::archive_entry_free(entry);
}

Result<std::unique_ptr<TarSink>> TarSink::open(Output output) {
  std::unique_ptr<TarSink> sink(new TarSink(std::move(output)));
  DEDUPFS_TRY(sink->start());
  return sink;
}

TarSink::~TarSink() {
  if (archive_ == nullptr) return;
  is_broken_ = true;  // without finish(), the archive gets no end
  ::archive_write_free(archive_);
}

Result<void> TarSink::start() {
  archive_ = ::archive_write_new();
  if (archive_ == nullptr) return Error{ErrorCode::kNoMemory, "the archive"};
  if (::archive_write_set_format_pax(archive_) != ARCHIVE_OK ||
      ::archive_write_set_options(archive_, "xattrheader=SCHILY") != ARCHIVE_OK ||
      ::archive_write_set_bytes_in_last_block(archive_, 1) != ARCHIVE_OK)
    return failure("the format of the archive");
  const auto write = [](archive*, void* self, const void* bytes, std::size_t length) -> la_ssize_t {
    auto& sink = *static_cast<TarSink*>(self);
    if (sink.is_broken_ || !sink.output_({static_cast<const char*>(bytes), length})) return -1;
    return static_cast<la_ssize_t>(length);
  };
  if (::archive_write_open(archive_, this, nullptr, write, nullptr) != ARCHIVE_OK) return failure("the archive");
  return {};
}

Error TarSink::failure(std::string_view what) {
  is_broken_ = true;
  const char* const why = ::archive_error_string(archive_);
  return {ErrorCode::kIo, std::string(what) + ": " + (why != nullptr ? why : "it cannot be written")};
}

Result<TarSink::Entry> TarSink::make_entry(const ExtractEntry& entry) const {
  Entry made(::archive_entry_new2(archive_));
  if (!made) return Error{ErrorCode::kNoMemory, "an entry of the archive"};
  const Attributes& attributes = entry.attributes;
  ::archive_entry_copy_pathname(made.get(), entry.path.c_str());
  ::archive_entry_set_mode(made.get(), static_cast<mode_t>(attributes.mode));
  ::archive_entry_set_uid(made.get(), attributes.uid);
  ::archive_entry_set_gid(made.get(), attributes.gid);
  ::archive_entry_set_mtime(made.get(), attributes.mtime.seconds, static_cast<long>(attributes.mtime.nanoseconds));
  ::archive_entry_set_atime(made.get(), attributes.atime.seconds, static_cast<long>(attributes.atime.nanoseconds));
  ::archive_entry_set_size(made.get(), is_regular(attributes.mode) ? static_cast<la_int64_t>(attributes.size) : 0);
  if (is_device(attributes.mode)) ::archive_entry_set_rdev(made.get(), static_cast<dev_t>(attributes.device));
  return made;
}

Result<void> TarSink::add_xattrs(archive_entry& entry, EntrySource& source) {
  DEDUPFS_ASSIGN(const EntrySource::Xattrs xattrs, source.xattrs());
  for (const auto& [name, value] : xattrs) {
    if (name == kAccessAclName)
      DEDUPFS_TRY(add_acl(entry, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, value));
    else if (name == kDefaultAclName)
      DEDUPFS_TRY(add_acl(entry, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, value));
    else
      ::archive_entry_xattr_add_entry(&entry, name.c_str(), value.data(), value.size());
  }
  return {};
}

// Names are bytes here, and in the archive. libarchive warns of one that is not ASCII, writes its bytes, and a keyword that says
// so. GNU tar does not know the keyword and tells the user, so the other names go without.
Result<void> TarSink::write_header(archive_entry& entry) {
  const int written = ::archive_write_header(archive_, &entry);
  if (written == ARCHIVE_FATAL) return failure("the archive");
  if (written != ARCHIVE_OK && written != ARCHIVE_WARN) {
    const char* const why = ::archive_error_string(archive_);
    return Error{ErrorCode::kUnsupported, why != nullptr ? why : "it does not fit into an archive"};
  }
  return {};
}

Result<void> TarSink::write_zeros(std::uint64_t count) {
  while (count != 0) {
    const std::uint64_t part = std::min<std::uint64_t>(count, kZeroPadding.size());
    if (::archive_write_data(archive_, kZeroPadding.data(), part) < 0) return failure("the archive");
    count -= part;
  }
  return {};
}

// libarchive drops the zeros of the holes that the header lists.
Result<void> TarSink::write_content(const ExtractEntry& entry, EntrySource& source) {
  std::uint64_t at = 0;
  auto written = source.read_all([&](std::uint64_t offset, ByteSpan bytes) -> Result<void> {
    DEDUPFS_TRY(write_zeros(offset - at));
    if (::archive_write_data(archive_, bytes.data(), bytes.size()) < 0) return failure("the archive");
    at = offset + bytes.size();
    return {};
  });
  if (!written) {
    is_broken_ = true;  // its header is there, and promises more
    return written;
  }
  return write_zeros(entry.attributes.size - at);
}

Result<void> TarSink::begin_folder(const ExtractEntry& folder, EntrySource& source) {
  DEDUPFS_ASSIGN(const Entry entry, make_entry(folder));
  DEDUPFS_TRY(add_xattrs(*entry, source));
  return write_header(*entry);
}

Result<Taken> TarSink::end_folder(const ExtractEntry& /*folder*/, EntrySource& /*source*/) {
  return Taken();
}

Result<Taken> TarSink::put(const ExtractEntry& found, EntrySource& source) {
  const Attributes& attributes = found.attributes;
  if (type_bits(attributes.mode) == S_IFSOCK) return Error{ErrorCode::kUnsupported, "an archive holds no sockets"};
  DEDUPFS_ASSIGN(const Entry entry, make_entry(found));
  DEDUPFS_TRY(add_xattrs(*entry, source));
  if (is_symlink(attributes.mode)) {
    DEDUPFS_ASSIGN(const std::string target, source.symlink_target());
    ::archive_entry_copy_symlink(entry.get(), target.c_str());
  }
  if (!is_regular(attributes.mode)) {
    DEDUPFS_TRY(write_header(*entry));
    return Taken();
  }
  DEDUPFS_ASSIGN(const auto extents, extents_of(source));
  DEDUPFS_TRY(source.read_all([](std::uint64_t, ByteSpan) -> Result<void> { return {}; }));
  if (extents) add_holes(*entry, *extents, attributes.size);
  DEDUPFS_TRY(write_header(*entry));
  DEDUPFS_TRY(write_content(found, source));
  return Taken();
}

Result<void> TarSink::put_link(const ExtractEntry& found, const std::string& first) {
  DEDUPFS_ASSIGN(const Entry entry, make_entry(found));
  ::archive_entry_set_size(entry.get(), 0);
  ::archive_entry_copy_hardlink(entry.get(), first.c_str());
  return write_header(*entry);
}

Result<void> TarSink::finish() {
  if (::archive_write_close(archive_) != ARCHIVE_OK) return failure("the end of the archive");
  return {};
}

}  // namespace dedupfs
