#include "estimate_comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/size.h"
#include "delta/settings.h"

namespace dedupfs::tools {
namespace {

// What takes so little more disk is as good, and fewer chunks decide.
constexpr double kAsGood = 1.02;

std::string options_of(const VolumeSettingsArguments& settings) {
  std::string options;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) options += fmt::format("{}--{} {}", options.empty() ? "" : " ", name, value);
  };
  add("chunker", settings.chunker);
  add("settled", settings.settled);
  add("landing", settings.landing);
  if (settings.delta != kDefaultDeltaSettings) add("delta", settings.delta);
  add("region", settings.region);
  return options;
}

}  // namespace

std::vector<Candidate> candidates_of(const VolumeSettingsArguments& asked) {
  std::vector<Candidate> candidates{{options_of(asked), asked}};
  const auto add = [&](VolumeSettingsArguments settings) {
    const std::string options = options_of(settings);
    if (std::ranges::find(candidates, options, &Candidate::options) == candidates.end())
      candidates.push_back({options, std::move(settings)});
  };
  for (const char* const chunker :
       {"fastcdc:avg=4k", "fastcdc:avg=16k", "fastcdc:avg=64k", "ram:avg=16k", "fixed:size=4k", "fixed:size=16k"}) {
    VolumeSettingsArguments settings = asked;
    settings.chunker = chunker;
    add(settings);
  }
  VolumeSettingsArguments settings = asked;
  settings.delta = "none";
  add(settings);
  return candidates;
}

Advice advise(const std::vector<Candidate>& candidates, const std::vector<Outlay>& outlays) {
  const auto least = std::ranges::min_element(outlays, {}, &Outlay::disk_bytes);
  const auto limit = kAsGood * static_cast<double>(least->disk_bytes);
  auto best = least;
  for (auto outlay = outlays.begin(); outlay != outlays.end(); ++outlay)
    if (static_cast<double>(outlay->disk_bytes) <= limit && outlay->chunks < best->chunks) best = outlay;
  const auto position = static_cast<std::size_t>(best - outlays.begin());
  const auto asked_bytes = static_cast<double>(outlays.front().disk_bytes);
  const bool saves = asked_bytes > kAsGood * static_cast<double>(best->disk_bytes);
  std::string reason;
  if (position == 0) {
    reason = "nothing that was tried takes clearly less disk space";
  } else if (saves) {
    reason = fmt::format("it takes {} less disk space", human_size(outlays.front().disk_bytes - best->disk_bytes));
  } else {
    reason = "it takes nearly the same disk space";
  }
  if (position != 0 && best->chunks < outlays.front().chunks)
    reason += fmt::format("{} with fewer chunks, so a smaller index", saves ? "," : "");
  if (best != least) {
    const std::string& options = candidates[static_cast<std::size_t>(least - outlays.begin())].options;
    reason += fmt::format("; {} takes even less, by less than 2 %, with more chunks",
                          options.empty() ? "(defaults)" : options);
  }
  return {position, reason};
}

}  // namespace dedupfs::tools
