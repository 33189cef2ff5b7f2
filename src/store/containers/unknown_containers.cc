#include "store/containers/unknown_containers.h"

#include <algorithm>

namespace dedupfs {
namespace {

Result<std::uint64_t> first_id_behind(const ContainerStore& containers, std::uint32_t number) {
  std::uint64_t end = 0;
  const auto scanned =
      containers.scan(number, {}, [&](RegionPlace place, const RegionHeader& /*header*/) -> Result<void> {
        const auto entries = containers.read_directory(place);
        if (!entries) return entries.error().code() == ErrorCode::kCorruption ? Result<void>() : entries.error();
        for (const RegionEntry& entry : *entries) end = std::max(end, number_of(entry.id) + 1);
        return {};
      });
  if (!scanned && scanned.error().code() != ErrorCode::kCorruption) return scanned.error();
  return end;
}

}  // namespace

Result<std::uint64_t> first_id_behind_unknown(const ContainerStore& containers, std::uint32_t first_unknown) {
  DEDUPFS_ASSIGN(const auto numbers, containers.numbers_from(first_unknown == 0 ? 0 : first_unknown - 1));
  std::uint64_t end = 0;
  if (numbers.empty() || numbers.back() < first_unknown) return end;
  for (const std::uint32_t number : numbers) {
    DEDUPFS_ASSIGN(const std::uint64_t behind, first_id_behind(containers, number));
    end = std::max(end, behind);
  }
  return end;
}

}  // namespace dedupfs
