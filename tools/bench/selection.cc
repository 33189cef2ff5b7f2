#include "bench/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/size.h"
#include "chunkers/parameter_sets.h"
#include "chunkers/registry.h"

namespace dedupfs::bench {
namespace {

// Removes the key isa= from a spec, and gives its value.
std::optional<std::string> take_isa(std::string& spec) {
  const auto colon = spec.find(':');
  for (std::size_t begin = colon; begin != std::string::npos; begin = spec.find(',', begin + 1)) {
    if (spec.compare(begin + 1, 4, "isa=") != 0) continue;
    const auto end = std::min(spec.find(',', begin + 1), spec.size());
    const std::string value = spec.substr(begin + 5, end - begin - 5);
    const bool has_others_in_front = begin != colon;
    const bool has_others_behind = end != spec.size();
    if (has_others_in_front)
      spec.erase(begin, end - begin);
    else
      spec.erase(has_others_behind ? begin + 1 : begin, end - begin);
    return value;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<Isa>> parse_isas(std::string_view text) {
  if (text == "all") return available_isas();
  std::vector<Isa> isas;
  DEDUPFS_ASSIGN(const auto names, split_list("--isa", text));
  for (const std::string& name : names) {
    auto isa = name == "best" ? default_isa() : parse_isa(name);
    if (!isa && name != "best") return invalid_argument(isa.error().message() + "; also: all, best");
    if (!isa) return isa.error();
    if (std::find(isas.begin(), isas.end(), *isa) == isas.end()) isas.push_back(*isa);
  }
  std::sort(isas.begin(), isas.end());
  return isas;
}

Result<std::vector<std::string>> split_list(std::string_view option, std::string_view text) {
  std::vector<std::string> items;
  for (;;) {
    const auto comma = text.find(',');
    if (comma == 0 || text.empty()) return invalid_argument(fmt::format("{}: the list has an empty item", option));
    items.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::string>> split_algorithms(std::string_view text) {
  DEDUPFS_ASSIGN(const auto pieces, split_list("--algorithm", text));
  std::vector<std::string> items;
  for (const std::string& piece : pieces) {
    const bool goes_on = piece.find('=') != std::string::npos && piece.find(':') == std::string::npos;
    if (!goes_on) {
      items.push_back(piece);
    } else if (items.empty() || items.back().find(':') == std::string::npos) {
      return invalid_argument(
          fmt::format("--algorithm: there is no spec in front of '{}' (NAME:key=value,key=value)", piece));
    } else {
      items.back().append(",").append(piece);
    }
  }
  return items;
}

Result<std::vector<Selected>> select(std::string_view algorithms, std::string_view avgs, std::string_view isas,
                                     const std::function<void(const Error&)>& leave_out) {
  DEDUPFS_ASSIGN(const auto sizes, split_list("--avg", avgs));
  DEDUPFS_ASSIGN(const auto common_isas, parse_isas(isas));
  DEDUPFS_ASSIGN(auto items, split_algorithms(algorithms));
  std::vector<std::string> expanded;
  const bool skip_unsuited = std::find(items.begin(), items.end(), "all") != items.end();
  for (const std::string& item : items) {
    if (item != "all") {
      expanded.push_back(item);
      continue;
    }
    for (const ChunkerInfo& info : chunker_infos()) expanded.push_back(info.name);
  }

  std::vector<Selected> all;
  // An error shows here, before anything is measured.
  const auto add = [&](Selected selected) -> Result<void> {
    for (const Isa isa : selected.isas) {
      DEDUPFS_ASSIGN(const auto chunker, make_chunker(selected.spec, isa));
      if (selected.avg_bytes == 0) selected.avg_bytes = chunker->sizes().avg_bytes;
    }
    all.push_back(std::move(selected));
    return {};
  };
  for (const std::string& item : expanded) {
    if (const ParameterSet* set = find_parameter_set(item)) {
      DEDUPFS_TRY(add({item, std::string(set->spec), set->compared_at_bytes, common_isas}));
    } else if (item.find(':') != std::string::npos) {
      std::string spec = item;
      const auto own_isa = take_isa(spec);
      DEDUPFS_ASSIGN(auto own_isas, own_isa ? parse_isas(*own_isa) : Result<std::vector<Isa>>(common_isas));
      DEDUPFS_TRY(add({spec, spec, 0, std::move(own_isas)}));
    } else {
      for (const std::string& size : sizes) {
        const auto bytes = parse_size(size);
        if (!bytes) return bytes.error().with("--avg");
        const auto added = add({item, fmt::format("{}:avg={}", item, size), 0, common_isas});
        if (!added && added.error().message().starts_with("unknown chunker"))
          return invalid_argument(added.error().message() + "; also: all, and the parameter sets that --help lists");
        if (!added && !skip_unsuited) return added.error();
        if (!added && leave_out) leave_out(added.error());
      }
    }
  }
  if (all.empty()) return invalid_argument("no chunker accepts these sizes: see dedupfs-bench chunk --help");
  return all;
}

}  // namespace dedupfs::bench
