#include "base/isa.h"

#include <fmt/format.h>
#include <sys/auxv.h>

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

namespace dedupfs {
namespace {

constexpr std::array<std::pair<Isa, std::string_view>, 7> kNames = {{
    {Isa::kScalar, "scalar"},
    {Isa::kSse41, "sse4.1"},
    {Isa::kAvx2, "avx2"},
    {Isa::kAvx512, "avx512"},
    {Isa::kAvx512Gather, "avx512-gather"},
    {Isa::kNeon, "neon"},
    {Isa::kVsx, "vsx"},
}};

bool cpu_has(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kSse41: return __builtin_cpu_supports("sse4.1");
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    case Isa::kAvx512:
    case Isa::kAvx512Gather:
      return cpu_has(Isa::kAvx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("gfni");
    default: return isa == Isa::kScalar;
  }
#elif defined(__aarch64__)
  return isa == Isa::kScalar || (isa == Isa::kNeon && (::getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0);
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
  return isa == Isa::kScalar || (isa == Isa::kVsx && (::getauxval(AT_HWCAP) & PPC_FEATURE_HAS_VSX) != 0 &&
                                 (::getauxval(AT_HWCAP2) & PPC_FEATURE2_ARCH_2_07) != 0);
#else
  return isa == Isa::kScalar;
#endif
}

}  // namespace

std::string_view name_of(Isa isa) {
  for (const auto& [value, name] : kNames)
    if (value == isa) return name;
  return "unknown";
}

Result<Isa> parse_isa(std::string_view name) {
  std::string known;
  for (const auto& [isa, isa_name] : kNames) {
    if (isa_name == name) return isa;
    known += (known.empty() ? "" : ", ") + std::string(isa_name);
  }
  return Error{ErrorCode::kInvalidArgument,
               "unknown instruction set '" + std::string(name) + "' (known: " + known + ")"};
}

std::vector<Isa> available_isas() {
  std::vector<Isa> available;
  for (const auto& [isa, name] : kNames)
    if (cpu_has(isa)) available.push_back(isa);
  return available;
}

Isa widest_isa() {
  const std::vector<Isa> available = available_isas();
  return available.back() == Isa::kAvx512Gather ? Isa::kAvx512 : available.back();
}

Result<Isa> default_isa() {
  const char* environment = std::getenv("DEDUPFS_ISA");
  if (environment == nullptr) return widest_isa();
  const auto parsed = parse_isa(environment);
  if (!parsed) return parsed.error().with("DEDUPFS_ISA");
  return if_available(*parsed);
}

Result<Isa> if_available(Isa isa) {
  std::string names;
  for (const Isa available : available_isas()) {
    if (available == isa) return isa;
    names.append(names.empty() ? "" : ", ").append(name_of(available));
  }
  return Error{ErrorCode::kUnsupported, fmt::format("this CPU has no {} (available: {})", name_of(isa), names)};
}

}  // namespace dedupfs
