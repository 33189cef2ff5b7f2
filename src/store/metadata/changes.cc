#include "store/metadata/changes.h"

#include <utility>

namespace dedupfs {

void merge(std::vector<KeyValue> stored, std::vector<KeyChange> changes, const std::optional<std::string>& behind,
           std::size_t limit, std::vector<KeyValue>& found) {
  auto row = stored.begin();
  auto change = changes.begin();
  const auto counts = [&](const std::string& key) { return !behind || key < *behind; };
  while (found.size() < limit) {
    const bool has_row = row != stored.end() && counts(row->first);
    const bool has_change = change != changes.end() && counts(change->key);
    if (!has_row && !has_change) return;
    if (has_row && (!has_change || row->first < change->key)) {
      found.push_back(std::move(*row++));
      continue;
    }
    if (has_row && row->first == change->key) ++row;
    if (change->value) found.emplace_back(std::move(change->key), std::move(*change->value));
    ++change;
  }
}

}  // namespace dedupfs
