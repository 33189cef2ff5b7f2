#include "chunkers/parameter_sets.h"

#include <algorithm>
#include <array>

namespace dedupfs {
namespace {

constexpr auto kSets = std::to_array<ParameterSet>({
    {"fixed_4kb", "fixed:size=4096", 4 << 10},
    {"rabin_4kb", "rabin:min=1024,avg=4096,max=16384", 4 << 10},
    {"tttd_4kb", "tttd:min=1024,avg=4096,max=16384", 4 << 10},
    {"crc_4kb", "crc:min=512,avg=4096,max=16384", 4 << 10},
    {"seq_4kb", "seqcdc:mode=inc,length=5,trigger=55,skip=256,min=2048,avg=4096,max=8192", 4 << 10},
    {"seqdec_4kb", "seqcdc:mode=dec,length=5,trigger=55,skip=256,min=2048,avg=4096,max=8192", 4 << 10},
    {"aemax_4kb", "ae-max:avg=4352,max=16384", 4 << 10},
    {"aemin_4kb", "ae-min:avg=4352,max=16384", 4 << 10},
    {"ram_4kb", "ram:avg=4352,max=16384", 4 << 10},
    {"maxp_4kb", "maxp:window=512,avg=4096,max=16384", 4 << 10},
    {"fixed_8kb", "fixed:size=8192", 8 << 10},
    {"rabin_8kb", "rabin:min=2048,avg=8192,max=32768", 8 << 10},
    {"tttd_8kb", "tttd:min=2048,avg=8192,max=32768", 8 << 10},
    {"crc_8kb", "crc:min=1024,avg=8192,max=32768", 8 << 10},
    {"seq_8kb", "seqcdc:mode=inc,length=5,trigger=50,skip=256,min=4096,avg=8192,max=16384", 8 << 10},
    {"seqdec_8kb", "seqcdc:mode=dec,length=5,trigger=50,skip=256,min=4096,avg=8192,max=16384", 8 << 10},
    {"aemax_8kb", "ae-max:avg=8448,max=32768", 8 << 10},
    {"aemin_8kb", "ae-min:avg=8448,max=32768", 8 << 10},
    {"ram_8kb", "ram:avg=8448,max=32768", 8 << 10},
    {"maxp_8kb", "maxp:window=1024,avg=8192,max=32768", 8 << 10},
    {"fixed_16kb", "fixed:size=16384", 16 << 10},
    {"rabin_16kb", "rabin:min=8192,avg=16384,max=32768", 16 << 10},
    {"tttd_16kb", "tttd:min=8192,avg=16384,max=32768", 16 << 10},
    {"crc_16kb", "crc:min=2048,avg=16384,max=32768", 16 << 10},
    {"seq_16kb", "seqcdc:mode=inc,length=5,trigger=50,skip=512,min=8192,avg=16384,max=32768", 16 << 10},
    {"seqdec_16kb", "seqcdc:mode=dec,length=5,trigger=50,skip=512,min=8192,avg=16384,max=32768", 16 << 10},
    {"aemax_16kb", "ae-max:avg=16640,max=32768", 16 << 10},
    {"aemin_16kb", "ae-min:avg=16640,max=32768", 16 << 10},
    {"ram_16kb", "ram:avg=16640,max=32768", 16 << 10},
    {"maxp_16kb", "maxp:window=2048,avg=16384,max=32768", 16 << 10},
    {"maxpW960_8kb", "maxp:window=960,avg=8192,max=32768", 8 << 10},
    {"gear_sm64_4kb", "gear:min=1024,avg=4096,max=16384", 4 << 10},
    {"fastcdc_sm64_4kb", "fastcdc:min=1024,avg=4096,max=16384,norm=2", 4 << 10},
    {"gear_sm64_8kb", "gear:min=2048,avg=8192,max=32768", 8 << 10},
    {"fastcdc_sm64_8kb", "fastcdc:min=2048,avg=8192,max=32768,norm=2", 8 << 10},
    {"gear_sm64_16kb", "gear:min=8192,avg=16384,max=32768", 16 << 10},
    {"fastcdc_sm64_16kb", "fastcdc:min=8192,avg=16384,max=32768,norm=2", 16 << 10},
    {"gear16_4kb", "gear16:min=1024,avg=4096,max=16384,norm=2", 4 << 10},
    {"gear16_8kb", "gear16:min=2048,avg=8192,max=32768,norm=2", 8 << 10},
    {"gear16_16kb", "gear16:min=4096,avg=16384,max=65536,norm=2", 16 << 10},
    {"gear32_4kb", "gear32:min=1024,avg=4096,max=16384,norm=2", 4 << 10},
    {"toga_4kb", "toga:min=1024,avg=4096,max=16384,limit=21", 4 << 10},
    {"gear32_8kb", "gear32:min=2048,avg=8192,max=32768,norm=2", 8 << 10},
    {"toga_8kb", "toga:min=2048,avg=8192,max=32768,limit=24", 8 << 10},
    {"gear32_16kb", "gear32:min=4096,avg=16384,max=65536,norm=2", 16 << 10},
    {"toga_16kb", "toga:min=4096,avg=16384,max=65536,limit=27", 16 << 10},
});

}  // namespace

std::span<const ParameterSet> parameter_sets() {
  return kSets;
}

const ParameterSet* find_parameter_set(std::string_view name) {
  const auto found = std::find_if(kSets.begin(), kSets.end(), [&](const auto& set) { return set.name == name; });
  return found == kSets.end() ? nullptr : &*found;
}

}  // namespace dedupfs
