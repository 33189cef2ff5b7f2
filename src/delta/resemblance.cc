#include "delta/resemblance.h"

#ifndef __clang_analyzer__  // which finds fault with the header's own code
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "delta/reference/feature_definition.h"
#include "delta/simd/dispatch.h"

namespace dedupfs {
namespace {

using resemblance::Choice;
using resemblance::ExtractFeatures;
using resemblance::Kernels;

static_assert(kFeatures == resemblance::kFeatureCount);
inline constexpr std::size_t kFeaturesOfSuperFeature = kFeatures / kSuperFeatures;

using SuperFeatureInput = std::array<std::uint64_t, kFeaturesOfSuperFeature>;

std::uint64_t super_feature(std::size_t index, SuperFeatureInput features) {
  if constexpr (std::endian::native == std::endian::big)
    for (std::uint64_t& feature : features) feature = __builtin_bswap64(feature);
  return XXH64(features.data(), sizeof features, index);
}

Sketch sketch_by_order(const Features& features) {
  Sketch sketch;
  for (std::size_t s = 0; s < kSuperFeatures; ++s) {
    SuperFeatureInput input;
    std::copy_n(features.begin() + static_cast<std::ptrdiff_t>(s * input.size()), input.size(), input.begin());
    sketch.super_features[s] = super_feature(s, input);
  }
  return sketch;
}

Sketch sketch_by_rank(const Features& features) {
  Features ranked = features;
  for (auto group = ranked.begin(); group != ranked.end(); group += kSuperFeatures)
    std::sort(group, group + kSuperFeatures, std::greater<>());

  Sketch sketch;
  for (std::size_t s = 0; s < kSuperFeatures; ++s) {
    SuperFeatureInput input;
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = ranked[i * kSuperFeatures + s];
    sketch.super_features[s] = super_feature(s, input);
  }
  return sketch;
}

struct Method {
  ResemblanceMethodInfo info;
  ExtractFeatures* Kernels::*slot;
  std::size_t window_bytes;
  Sketch (*sketch)(const Features&);
};

constexpr std::size_t kWidestWindowBytes = resemblance::kRabinFeatureWindowBytes;

constexpr Method kMethods[] = {
    {{"odess+", "parallel rolling hash, content-defined sampling"},
     &Kernels::odess_plus,
     resemblance::kOdessPlusWindowBytes,
     sketch_by_order},
    {{"odess", "Gear hash, content-defined sampling"},
     &Kernels::odess,
     resemblance::kOdessWindowBytes,
     sketch_by_order},
    {{"finesse", "Rabin fingerprints, one feature a sub-chunk"},
     &Kernels::finesse,
     resemblance::kRabinFeatureWindowBytes,
     sketch_by_rank},
    {{"n-transform", "Rabin fingerprints, all of them transformed twelve times"},
     &Kernels::n_transform,
     resemblance::kRabinFeatureWindowBytes,
     sketch_by_order},
};

class KernelDetector final : public ResemblanceDetector {
 public:
  KernelDetector(const Method& method, Isa isa) : method_(method), kernel_(choose(method.slot, isa)) {}

  std::string_view name() const override { return method_.info.name; }
  Isa isa() const override { return kernel_.isa; }

  Features features(ByteSpan chunk) const override {
    Features features;
    if (chunk.size() >= method_.window_bytes) {
      kernel_.run(chunk.data(), chunk.size(), features.data());
    } else {
      std::array<std::uint8_t, kWidestWindowBytes> window{};
      std::copy(chunk.begin(), chunk.end(),
                window.begin() + static_cast<std::ptrdiff_t>(method_.window_bytes - chunk.size()));
      kernel_.run(window.data(), method_.window_bytes, features.data());
    }
    return features;
  }

  Sketch sketch(const Features& features) const override { return method_.sketch(features); }

 private:
  const Method& method_;
  Choice kernel_;
};

}  // namespace

const std::vector<ResemblanceMethodInfo>& resemblance_method_infos() {
  static const std::vector<ResemblanceMethodInfo> kInfos = [] {
    std::vector<ResemblanceMethodInfo> infos;
    for (const Method& method : kMethods) infos.push_back(method.info);
    return infos;
  }();
  return kInfos;
}

Result<std::unique_ptr<ResemblanceDetector>> make_resemblance_detector(std::string_view method, Isa isa) {
  std::string known;
  for (const Method& candidate : kMethods) {
    if (candidate.info.name == method) return std::make_unique<KernelDetector>(candidate, isa);
    known.append(known.empty() ? "" : ", ").append(candidate.info.name);
  }
  return Error{ErrorCode::kInvalidArgument,
               "unknown resemblance method '" + std::string(method) + "' (known: " + known + ")"};
}

}  // namespace dedupfs
