// Blocks of one size.
#include "base/size.h"
#include "chunkers/algorithms.h"
#include "chunkers/registry.h"

namespace dedupfs {
namespace {

class FixedChunker final : public Chunker {
 public:
  explicit FixedChunker(std::uint32_t size_bytes) : size_bytes_(size_bytes) {}

  std::size_t split(ByteSpan data, bool last, std::vector<std::size_t>& ends) const override {
    std::size_t end = 0;
    while (data.size() - end >= size_bytes_) ends.push_back(end += size_bytes_);
    if (last && end < data.size()) ends.push_back(end = data.size());
    return end;
  }

  ChunkSizes sizes() const override { return {size_bytes_, size_bytes_, size_bytes_}; }
  std::string spec() const override { return "fixed:size=" + format_size(size_bytes_); }
  std::string_view isa() const override { return name_of(Isa::kScalar); }

 private:
  std::uint32_t size_bytes_;
};

}  // namespace

Result<std::unique_ptr<Chunker>> make_fixed(const Spec& spec, Isa) {
  DEDUPFS_TRY(allow_only(spec, {"size", "avg"}));
  if (spec.find("size") && spec.find("avg"))
    return Error{ErrorCode::kInvalidArgument, "chunker fixed: size and avg mean the same; give only one of them"};
  DEDUPFS_ASSIGN(const std::uint64_t size, number_from(spec, spec.find("avg") ? "avg" : "size", kDefaultAvgBytes,
                                                       kMinChunkBytesLimit, kMaxChunkBytesLimit));
  return std::unique_ptr<Chunker>(std::make_unique<FixedChunker>(static_cast<std::uint32_t>(size)));
}

}  // namespace dedupfs
