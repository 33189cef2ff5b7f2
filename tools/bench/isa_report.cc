#include "bench/isa_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "bench/report.h"
#include "chunkers/registry.h"
#include "chunkers/simd/dispatch.h"
#include "hash/kernel_choice.h"

namespace dedupfs::bench {
namespace {

using simd::Kernels;

constexpr std::tuple kSlots{
    std::pair{"max_byte", &Kernels::max_byte},
    std::pair{"min_byte", &Kernels::min_byte},
    std::pair{"first_above", &Kernels::first_above},
    std::pair{"first_at_least", &Kernels::first_at_least},
    std::pair{"first_below", &Kernels::first_below},
    std::pair{"first_at_most", &Kernels::first_at_most},
    std::pair{"first_equal", &Kernels::first_equal},
    std::pair{"ae_max", &Kernels::ae_max},
    std::pair{"ae_min", &Kernels::ae_min},
    std::pair{"ram", &Kernels::ram},
    std::pair{"maxp", &Kernels::maxp},
    std::pair{"seqcdc_increasing", &Kernels::seqcdc_increasing},
    std::pair{"seqcdc_decreasing", &Kernels::seqcdc_decreasing},
    std::pair{"gear", &Kernels::gear},
    std::pair{"gear32", &Kernels::gear32},
    std::pair{"gear16", &Kernels::gear16},
    std::pair{"gear_low", &Kernels::gear_low},
    std::pair{"crc", &Kernels::crc},
    std::pair{"rabin", &Kernels::rabin},
    std::pair{"toga", &Kernels::toga},
};
static_assert(std::tuple_size_v<decltype(kSlots)> == sizeof(Kernels) / sizeof(Kernels::max_byte),
              "every slot of simd::Kernels belongs in this list");

template <class Kernel>
SlotReport report_of(const char* name, Kernel* Kernels::*slot, const IsaReport& cpu) {
  SlotReport report{name, simd::choose(slot, cpu.widest).isa, {}};
  for (const Isa isa : cpu.available)
    if (simd::kernels_of(isa).*slot != nullptr)
      report.own.emplace_back(isa, isa == Isa::kScalar || simd::passes_self_test(slot, isa));
  return report;
}

SlotReport sha256_report(const IsaReport& cpu) {
  SlotReport report{"sha256", sha256::choose(cpu.widest).isa, {}};
  for (const Isa isa : cpu.available)
    if (sha256::kernels_of(isa).hash_messages != nullptr)
      report.own.emplace_back(isa, isa == Isa::kScalar || sha256::passes_self_test(isa));
  return report;
}

}  // namespace

Result<IsaReport> isa_report() {
  DEDUPFS_ASSIGN(const Isa widest, default_isa());
  const char* const forced = std::getenv("DEDUPFS_ISA");
  IsaReport report{.cpu = cpu_model(),
                   .available = available_isas(),
                   .forced = forced == nullptr ? std::nullopt : std::optional<std::string>(forced),
                   .widest = widest,
                   .slots = {}};
  std::apply([&](const auto&... slot) { (report.slots.push_back(report_of(slot.first, slot.second, report)), ...); },
             kSlots);
  report.slots.push_back(sha256_report(report));
  return report;
}

std::string format_isa_report(const IsaReport& report) {
  std::string names;
  std::vector<std::string> heading = {"kernel", "served by"};
  for (const Isa isa : report.available) {
    names.append(names.empty() ? "" : ", ").append(name_of(isa));
    heading.emplace_back(name_of(isa));
  }
  std::vector<std::vector<std::string>> rows = {heading};
  for (const SlotReport& slot : report.slots) {
    std::vector<std::string> row = {slot.slot, std::string(name_of(slot.served_by))};
    for (const Isa isa : report.available) {
      const auto own =
          std::find_if(slot.own.begin(), slot.own.end(), [&](const auto& kernel) { return kernel.first == isa; });
      if (own == slot.own.end())
        row.emplace_back("-");
      else
        row.emplace_back(isa == Isa::kScalar ? "defines" : own->second ? "passes" : "FAILS");
    }
    rows.push_back(std::move(row));
  }
  return fmt::format("CPU: {}\nInstruction sets: {}\nDEDUPFS_ISA: {}\n\n", report.cpu, names,
                     report.forced ? *report.forced + " (forced)" : "not set") +
         align(rows, rows.front().size());
}

nlohmann::json isa_report_json(const IsaReport& report) {
  auto available = nlohmann::json::array();
  for (const Isa isa : report.available) available.push_back(name_of(isa));
  auto kernels = nlohmann::json::array();
  for (const SlotReport& slot : report.slots) {
    auto own = nlohmann::json::object();
    for (const auto& [isa, passes] : slot.own) own[std::string(name_of(isa))] = passes;
    kernels.push_back({{"kernel", slot.slot}, {"served_by", name_of(slot.served_by)}, {"passes_self_test", own}});
  }
  return {{"cpu", report.cpu},
          {"available", available},
          {"forced", report.forced ? nlohmann::json(*report.forced) : nlohmann::json()},
          {"widest", name_of(report.widest)},
          {"kernels", kernels}};
}

}  // namespace dedupfs::bench
