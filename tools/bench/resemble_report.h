// The results about resemblance detection as tables for people, JSON for programs, and figures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/plot.h"
#include "bench/resemble_accuracy.h"
#include "bench/resemble_dataset.h"
#include "bench/resemble_speed.h"

namespace dedupfs::bench {

struct ResembleRecords {
  std::vector<AccuracyRecord> accuracy;
  std::vector<ReductionRecord> reduction;
  std::vector<SpeedRecord> speed;
};

// The results of one input, without the kinds that were not measured.
std::string format_resemble(const ResembleRecords& records);

// The document of the records. Each has a "kind": "accuracy", "reduction" or "speed".
nlohmann::json resemble_json(const ResembleRecords& records);

// The figures of all inputs: the mean and the deviation of the estimating error for each input and size, by length and by rate of
// the modifications; SCR, DCE, DCR and speed for each size.
std::vector<Figure> resemble_figures(const ResembleRecords& records);

}  // namespace dedupfs::bench
