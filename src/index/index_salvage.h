// Salvages records from a damaged index. If RocksDB does not open it, its files are read one by one. The damaged index itself is
// never written to.
//
// Threads: free function, one at a time on an index.
// Failure: an Error means that the scratch folder could not be made; a damaged index is no failure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/backing.h"
#include "base/result.h"
#include "index/database.h"
#include "index/record_source.h"
#include "index/table_check.h"

namespace dedupfs {

struct IndexSurvey {
  std::unique_ptr<RecordSource> records;      // null: nothing can be read
  std::array<bool, kFamilyCount> is_whole{};  // every record of the family can be read, and is the newest
  std::vector<std::string> damage;            // the faults, one a line
  std::optional<std::string> volume_uuid;     // whose index it is, if that can be read

  bool namespace_is_whole() const;
};

// `index` and `scratch` are names of folders in the volume. The folder `scratch` is made again, and may exist for as long as
// `records` lives. Tables in `harmful` are left out.
Result<IndexSurvey> survey_index(const std::shared_ptr<BackingFolder>& volume, std::string_view index,
                                 std::string_view scratch, const std::vector<HarmfulTable>& harmful);

}  // namespace dedupfs
