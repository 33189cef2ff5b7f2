// What was found out about resemblance detection, as tables for people, as JSON for programs, and as figures.
#pragma once

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

// Of one input. What was not measured is left out.
std::string format_resemble(const ResembleRecords& records);

// An array, a record a line; each has a "kind": "accuracy", "reduction" or "speed".
std::string resemble_json(const ResembleRecords& records);

// Of all inputs: mean and deviation of the estimating error for each input and size, by the length and by the rate of
// modifications; SCR, DCE, DCR and speed for each size.
std::vector<Figure> resemble_figures(const ResembleRecords& records);

}  // namespace dedupfs::bench
