#include "fs/transfer/records.h"

#include <fmt/format.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "store/format/format.h"

namespace dedupfs::transfer {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

void put_text(Encoder& out, std::string_view text) {
  out.varint(text.size());
  out.bytes(text);
}

std::string take_text(Decoder& in) {
  return std::string(text_of(in.bytes(in.varint())));
}

void put(Encoder& out, const ContentPlace& place) {
  out.u8(static_cast<std::uint8_t>(place.tree));
  out.varint(place.inode);
  out.varint(place.offset);
  out.varint(place.length);
}

std::optional<Tree> take_tree(Decoder& in) {
  const std::uint8_t tree = in.u8();
  if (tree > static_cast<std::uint8_t>(Tree::kBase)) return std::nullopt;
  return static_cast<Tree>(tree);
}

std::optional<ContentPlace> take_place(Decoder& in) {
  const auto tree = take_tree(in);
  if (!tree) return std::nullopt;
  ContentPlace place{.tree = *tree};
  place.inode = in.varint();
  place.offset = in.varint();
  place.length = in.varint();
  return place;
}

void put(Encoder& out, const Timestamp& time) {
  out.signed_varint(time.seconds);
  out.varint(time.nanoseconds);
}

Timestamp take_time(Decoder& in) {
  const std::int64_t seconds = in.signed_varint();
  const std::uint64_t nanoseconds = in.varint();
  return {.seconds = seconds, .nanoseconds = static_cast<std::uint32_t>(nanoseconds % 1'000'000'000)};
}

bool is_in_file(std::uint64_t offset, std::uint64_t length) {
  return length > 0 && offset <= kMaxFileBytes && length <= kMaxFileBytes - offset;
}

// Nothing: no record of that kind looks so.
using Decoded = std::optional<Record>;

Decoded take_name_record(Decoder& in, std::size_t kind) {
  const InodeNumber parent = in.varint();
  std::string name = take_text(in);
  const InodeNumber inode = in.varint();
  switch (kind) {
    case 2: return RemovedName{parent, std::move(name), inode, in.u8() != 0};
    case 3: {
      MadeInode made{.parent = parent, .name = std::move(name), .inode = inode};
      const std::uint64_t mode = in.varint();
      if (mode > 0177777) return std::nullopt;
      made.mode = static_cast<std::uint32_t>(mode);
      made.device = in.varint();
      made.target = take_text(in);
      return made;
    }
    default: return PlacedName{parent, std::move(name), inode};
  }
}

Decoded take_delta(Decoder& in, InodeNumber inode, std::uint64_t offset) {
  DeltaContent delta{.inode = inode, .offset = offset};
  const std::uint64_t length = in.varint();
  delta.checksum = in.u32();
  const std::uint64_t sources = in.varint();
  if (length == 0 || length > kMaxContentBytes || sources == 0 || sources > kMaxDeltaSources) return std::nullopt;
  delta.length = static_cast<std::uint32_t>(length);
  for (std::uint64_t i = 0; i < sources; ++i) {
    const auto place = take_place(in);
    if (!place || !is_in_file(place->offset, place->length)) return std::nullopt;
    delta.sources.push_back(*place);
  }
  delta.delta = take_text(in);
  if (!is_in_file(offset, length)) return std::nullopt;
  return delta;
}

Decoded take_content_record(Decoder& in, std::size_t kind) {
  const InodeNumber inode = in.varint();
  const std::uint64_t offset = in.varint();
  switch (kind) {
    case 5: {
      NewContent content{inode, offset, take_text(in)};
      if (content.bytes.size() > kMaxContentBytes || !is_in_file(offset, content.bytes.size())) return std::nullopt;
      return content;
    }
    case 6: return take_delta(in, inode, offset);
    case 7: {
      const auto place = take_place(in);
      if (!place || !is_in_file(place->offset, place->length) || !is_in_file(offset, place->length))
        return std::nullopt;
      return CopiedContent{inode, offset, *place};
    }
    default: {
      const std::uint64_t length = in.varint();
      if (!is_in_file(offset, length)) return std::nullopt;
      return Hole{inode, offset, length};
    }
  }
}

Decoded take_finished(Decoder& in) {
  FinishedInode finished{.inode = in.varint()};
  const std::uint64_t mode = in.varint();
  finished.mode = static_cast<std::uint32_t>(mode & 07777);
  finished.uid = in.u32();
  finished.gid = in.u32();
  finished.size = in.varint();
  finished.atime = take_time(in);
  finished.mtime = take_time(in);
  finished.ctime = take_time(in);
  if (mode > 07777 || finished.size > kMaxFileBytes) return std::nullopt;
  return finished;
}

Decoded take_record(Decoder& in, std::size_t kind) {
  switch (kind) {
    case 1: {
      const InodeNumber inode = in.varint();
      const auto tree = take_tree(in);
      KnownInode known{.inode = inode, .tree = tree.value_or(Tree::kNow), .parent = in.varint()};
      known.path = take_text(in);
      if (!tree || known.path.size() > kMaxPathBytes) return std::nullopt;
      return known;
    }
    case 2:
    case 3:
    case 4: return take_name_record(in, kind);
    case 5:
    case 6:
    case 7:
    case 8: return take_content_record(in, kind);
    case 9: {
      const InodeNumber inode = in.varint();
      std::string name = take_text(in);
      Xattr xattr{inode, std::move(name), take_text(in)};
      if (xattr.value.size() > kMaxXattrValue) return std::nullopt;
      return xattr;
    }
    case 10: return take_finished(in);
    case 11: return End{};
    case 12: return Outlook{in.varint()};
    default: return std::nullopt;
  }
}

}  // namespace

void encode(const Record& record, Encoder& out) {
  out.u8(static_cast<std::uint8_t>(record.index() + 1));
  const auto put_name = [&](InodeNumber parent, const std::string& name, InodeNumber inode) {
    out.varint(parent);
    put_text(out, name);
    out.varint(inode);
  };
  const auto put_range = [&](InodeNumber inode, std::uint64_t offset) {
    out.varint(inode);
    out.varint(offset);
  };
  std::visit(Overloaded{
                 [&](const KnownInode& known) {
                   out.varint(known.inode);
                   out.u8(static_cast<std::uint8_t>(known.tree));
                   out.varint(known.parent);
                   put_text(out, known.path);
                 },
                 [&](const RemovedName& removed) {
                   put_name(removed.parent, removed.name, removed.inode);
                   out.u8(removed.inode_stays ? 1 : 0);
                 },
                 [&](const MadeInode& made) {
                   put_name(made.parent, made.name, made.inode);
                   out.varint(made.mode);
                   out.varint(made.device);
                   put_text(out, made.target);
                 },
                 [&](const PlacedName& placed) { put_name(placed.parent, placed.name, placed.inode); },
                 [&](const NewContent& content) {
                   put_range(content.inode, content.offset);
                   put_text(out, content.bytes);
                 },
                 [&](const DeltaContent& delta) {
                   put_range(delta.inode, delta.offset);
                   out.varint(delta.length);
                   out.u32(delta.checksum);
                   out.varint(delta.sources.size());
                   for (const ContentPlace& source : delta.sources) put(out, source);
                   put_text(out, delta.delta);
                 },
                 [&](const CopiedContent& copied) {
                   put_range(copied.inode, copied.offset);
                   put(out, copied.source);
                 },
                 [&](const Hole& hole) {
                   put_range(hole.inode, hole.offset);
                   out.varint(hole.length);
                 },
                 [&](const Xattr& xattr) {
                   out.varint(xattr.inode);
                   put_text(out, xattr.name);
                   put_text(out, xattr.value);
                 },
                 [&](const FinishedInode& finished) {
                   out.varint(finished.inode);
                   out.varint(finished.mode);
                   out.u32(finished.uid);
                   out.u32(finished.gid);
                   out.varint(finished.size);
                   put(out, finished.atime);
                   put(out, finished.mtime);
                   put(out, finished.ctime);
                 },
                 [](const End&) {},
                 [&](const Outlook& outlook) { out.varint(outlook.content_bytes); },
             },
             record);
}

Result<Record> decode(Decoder& in) {
  const std::uint8_t kind = in.u8();
  Decoded record = in.ok() ? take_record(in, kind) : std::nullopt;
  if (!record || !in.ok()) return corruption(fmt::format("a record of kind {} in the stream is malformed", kind));
  return std::move(*record);
}

}  // namespace dedupfs::transfer
