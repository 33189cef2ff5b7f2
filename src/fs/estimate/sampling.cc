#include "fs/estimate/sampling.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "chunkers/registry.h"
#include "fs/estimate/column_costs.h"
#include "fs/estimate/distinct_scan.h"
#include "fs/estimate/piece_reader.h"
#include "fs/format/recipe_format.h"

namespace dedupfs {
namespace {

using Clock = std::chrono::steady_clock;

// When each stage ends at the latest, as a share of the limit.
constexpr double kEndOfList = 0.3;
constexpr double kEndOfCopy = 0.6;
// From then on the rate says when a copy of everything would end.
constexpr double kWarmUp = 0.1;
constexpr std::size_t kMaxKnownChunks = 2 << 20;
// What waits when the time ends must not take long, however slow the codec is.
constexpr std::uint64_t kMaxScratchDirtyBytes = 32 << 20;
constexpr std::uint64_t kMaxWaitingRegionBytes = 16 << 20;
// Beside the containers: what an inode with its name, and a chunk, take in the index, as far as one is to the other.
constexpr double kFileWeight = 250;
constexpr double kChunkWeight = 60;
constexpr double kOverheadMargin = 0.25;
constexpr double kCutMargin = 0.01;      // chunks at the borders of parts that are cut another way
constexpr double kMethodMargin = 0.025;  // regions end with a part of a file, settling packs them anew, and the like
constexpr std::size_t kNameBytes = 200;

// From samples of a product: what the whole takes.
Extrapolation times(const Extrapolation& a, const Extrapolation& b) {
  const double value = a.value * b.value;
  return {.value = value, .margin = std::hypot(a.margin * b.value, b.margin * a.value)};
}

class Sampling {
 public:
  Sampling(const EstimateSettings& settings, const SampleSettings& sample, const EstimateGoesOn& goes_on)
      : settings_(settings), sample_(sample), goes_on_(goes_on), tree_({settings.roots, settings.one_filesystem}) {}

  Result<SampledEstimate> run() {
    DEDUPFS_TRY(make_volume());
    DEDUPFS_ASSIGN(chunker_, make_chunker(found_.superblock.chunker));
    DEDUPFS_TRY(list());
    DEDUPFS_ASSIGN(const bool is_copied, copy_all_if_that_is_the_sample());
    if (!is_copied) {
      DEDUPFS_TRY(copy());
      DEDUPFS_TRY(scan());
      conclude();
    }
    found_.seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    return std::move(found_);
  }

 private:
  class List;

  // Everything is compressed for good at once.
  ScratchVolumeSettings settings_of_volume() const {
    ScratchVolumeSettings scratch = settings_.scratch;
    scratch.volume.compression.landing = scratch.volume.compression.settled;
    scratch.filesystem.dirty_bytes = std::min(scratch.filesystem.dirty_bytes, kMaxScratchDirtyBytes);
    scratch.volume_options.waiting_region_bytes =
        std::min(scratch.volume_options.waiting_region_bytes, kMaxWaitingRegionBytes);
    return scratch;
  }

  Result<void> make_volume() {
    DEDUPFS_ASSIGN(volume_, ScratchVolume::make(settings_of_volume()));
    found_.superblock = volume_->filesystem().volume().superblock();
    DEDUPFS_ASSIGN(empty_, volume_->statistics_without_log());
    return {};
  }

  std::uint64_t wanted_bytes() const {
    return std::max(static_cast<std::uint64_t>(sample_.share * static_cast<double>(found_.totals.data_bytes)),
                    sample_.min_bytes);
  }

  // Until the end of a stage.
  double seconds_left(double end) const {
    return std::chrono::duration<double>(begun_ + end * sample_.limit - Clock::now()).count();
  }

  // An Error at the end of the stage, with time_is_over_, and if the estimate was told to end.
  Result<void> go_on(EstimateStage stage, double end, std::uint64_t bytes, std::uint64_t total = 0) {
    const double left = seconds_left(end);
    time_is_over_ = left < 0;
    if (goes_on_({.stage = stage, .read_bytes = bytes, .total_bytes = total, .seconds_left = left}) && !time_is_over_)
      return {};
    return Error{ErrorCode::kInterrupted, "the estimate was told to end"};
  }

  Result<void> list();
  Result<bool> copy_all_if_that_is_the_sample();
  void take_all(const Estimate& all);
  Result<void> copy();
  Result<void> copy_column(const Column& column, PieceReader& reader);
  Result<void> copy_piece(const SamplePiece& piece, PieceReader& reader, const ScratchVolume::Append& append);
  Result<void> scan();
  Result<void> scan_column(const Column& column, PieceReader& reader);
  void conclude();
  Extrapolation distinct() const;
  double overhead() const;

  const Clock::time_point begun_ = Clock::now();
  const EstimateSettings& settings_;
  const SampleSettings& sample_;
  const EstimateGoesOn& goes_on_;
  const SourceTree tree_;
  std::unique_ptr<ScratchVolume> volume_;
  std::unique_ptr<Chunker> chunker_;
  std::unique_ptr<SamplePlan> plan_;
  Statistics empty_;         // of the scratch volume
  Statistics sampled_;       // of the same with the sample
  std::uint64_t files_ = 0;  // in it
  std::vector<ColumnCost> costs_;
  std::unique_ptr<DistinctScan> scan_;
  std::size_t scanned_columns_ = 0;
  double end_of_copy_ = kEndOfCopy;  // later if some of the time is lost
  bool time_is_over_ = false;
  SampledEstimate found_;
};

// The plan, as long as there is time.
class Sampling::List final : public SourceVisitor {
 public:
  explicit List(Sampling& sampling) : sampling_(sampling) {}

  Result<void> visit(const SourceEntry& entry) override {
    DEDUPFS_TRY(go_on());
    return sampling_.plan_->visit(entry);
  }
  Result<void> go_on() override {
    return sampling_.go_on(EstimateStage::kList, kEndOfList, sampling_.plan_->totals().logical_bytes);
  }
  void note_unreadable(const Error& error) override { sampling_.plan_->note_unreadable(error); }

 private:
  Sampling& sampling_;
};

Result<void> Sampling::list() {
  plan_ = std::make_unique<SamplePlan>(tree_, SamplePlan::Settings{.seed = sample_.seed});
  List visitor(*this);
  auto walked = tree_.walk(visitor);
  if (!walked && !time_is_over_) return walked;
  found_.complete = walked.has_value();
  found_.totals = plan_->totals();
  found_.problems = plan_->problems();
  return {};
}

// False: it is not, or it would not end in time, or need too much memory.
Result<bool> Sampling::copy_all_if_that_is_the_sample() {
  const std::uint64_t total = found_.totals.data_bytes;
  const bool is_all = total <= wanted_bytes() || plan_->columns().size() <= sample_.min_columns;
  if (!found_.complete || !plan_->is_whole() || !is_all) return false;
  volume_.reset();  // both at once would take twice the memory
  const double limit = std::chrono::duration<double>(sample_.limit).count();
  const double time = seconds_left(kEndOfCopy);
  const auto ends_in_time = [&](std::uint64_t bytes) {
    const double passed = time - seconds_left(kEndOfCopy);
    return passed < kWarmUp * limit || static_cast<double>(bytes) * time >= static_cast<double>(total) * passed;
  };
  bool is_told_to_end = false;
  const auto goes_on = [&](const EstimateProgress& now) {
    is_told_to_end = !goes_on_({.stage = EstimateStage::kCopy,
                                .read_bytes = now.read_bytes,
                                .total_bytes = total,
                                .seconds_left = seconds_left(kEndOfCopy)});
    return !is_told_to_end && ends_in_time(now.read_bytes);
  };
  const auto all = estimate(
      {.roots = settings_.roots, .one_filesystem = settings_.one_filesystem, .scratch = settings_of_volume()}, goes_on);
  const bool is_too_slow = !all && all.error().code() == ErrorCode::kInterrupted && !is_told_to_end;
  if (!all && !is_too_slow && !is_lack_of_memory(all.error())) return all.error();
  if (!all || !all->complete || all->unsettled) {
    DEDUPFS_TRY(make_volume());
    const double gone = 1 - seconds_left(1) / limit;
    end_of_copy_ = std::max(kEndOfCopy, gone + kEndOfCopy * (1 - gone));
    return false;
  }
  take_all(*all);
  return true;
}

void Sampling::take_all(const Estimate& all) {
  const Statistics& volume = *all.settled;
  found_.problems = all.problems;
  found_.distinct_bytes = {.value = static_cast<double>(volume.unique_bytes)};
  found_.disk_bytes = {.value = static_cast<double>(volume.disk_bytes)};
  found_.delta_compression_ratio = volume.delta_compression_ratio();
  found_.local_compression_ratio = volume.local_compression_ratio();
  found_.sampled_bytes = found_.scanned_bytes = all.read_bytes;
  found_.columns = plan_->columns().size();
  found_.is_sample_all = true;
}

Result<void> Sampling::copy() {
  PieceReader reader(tree_, *chunker_);
  std::vector<InodeNumber> borders;
  Result<void> copied;
  std::uint64_t whole_columns_bytes = 0;
  for (const auto& [key, column] : plan_->columns()) {
    if (found_.sampled_bytes >= wanted_bytes() && found_.columns >= sample_.min_columns) break;
    DEDUPFS_ASSIGN(const InodeNumber border, volume_->make_file("column" + std::to_string(found_.columns),
                                                                [](const auto&) { return Result<void>(); }));
    borders.push_back(border);
    copied = copy_column(column, reader);
    if (!copied) break;
    whole_columns_bytes = found_.sampled_bytes;
    ++found_.columns;
  }
  if (!copied && !time_is_over_ && !is_lack_of_memory(copied.error())) return copied;
  found_.sampled_bytes = whole_columns_bytes;
  if (copied) borders.push_back(UINT64_MAX);
  DEDUPFS_ASSIGN(sampled_, volume_->statistics_without_log());
  DEDUPFS_ASSIGN(costs_, column_costs(volume_->filesystem().volume(), borders));
  return {};
}

Result<void> Sampling::copy_column(const Column& column, PieceReader& reader) {
  for (const SamplePiece& piece : column) {
    // A piece may have zeros only.
    DEDUPFS_TRY(go_on(EstimateStage::kCopy, end_of_copy_, found_.sampled_bytes,
                      std::min(wanted_bytes(), found_.totals.data_bytes)));
    const std::string name = std::to_string(files_++) + piece.relative.substr(piece.relative.rfind('/') + 1);
    const auto made =
        volume_->make_file(std::string_view(name).substr(0, kNameBytes),
                           [&](const ScratchVolume::Append& append) { return copy_piece(piece, reader, append); });
    if (!made) return made.error();
  }
  return {};
}

Result<void> Sampling::copy_piece(const SamplePiece& piece, PieceReader& reader, const ScratchVolume::Append& append) {
  std::optional<std::uint64_t> begin;
  DEDUPFS_ASSIGN(const auto read, reader.read(piece, [&](std::uint64_t offset, ByteSpan chunk) -> Result<void> {
    if (!begin) begin = offset;
    found_.sampled_bytes += chunk.size();
    return append(offset - *begin, chunk);
  }));
  return {};  // the scan tells what cannot be read
}

Result<void> Sampling::scan() {
  PieceReader reader(tree_, *chunker_);
  scan_ = std::make_unique<DistinctScan>(kMaxKnownChunks, costs_.size());
  Result<void> scanned;
  std::size_t done = 0;
  for (const auto& [key, column] : plan_->columns()) {
    scan_->begin_column();
    scanned = scan_column(column, reader);
    if (!scanned) break;
    ++done;
  }
  if (!scanned && !time_is_over_) return scanned;
  scanned_columns_ = done;
  found_.whole_scan = done == plan_->columns().size() && plan_->is_whole();
  return {};
}

Result<void> Sampling::scan_column(const Column& column, PieceReader& reader) {
  for (const SamplePiece& piece : column) {
    // A piece may have zeros only.
    DEDUPFS_TRY(go_on(EstimateStage::kScan, 1, found_.scanned_bytes, found_.totals.data_bytes));
    if (piece.part.count == 1 && piece.bytes <= kInlineBytes) continue;
    DEDUPFS_ASSIGN(const auto read, reader.read(piece, [&](std::uint64_t, ByteSpan chunk) -> Result<void> {
      scan_->add(XXH3_64bits(chunk.data(), chunk.size()), static_cast<std::uint32_t>(chunk.size()));
      found_.scanned_bytes += chunk.size();
      return {};
    }));
    if (piece.part.index != 0) continue;  // a file is told once
    if (read.unreadable) found_.problems.note(*read.unreadable);
    if (read.changed) ++found_.problems.changed;
  }
  return {};
}

// How many bytes are distinct.
Extrapolation Sampling::distinct() const {
  const std::span columns = std::span(scan_->columns()).first(scanned_columns_);
  double seen = 0;
  for (const ColumnCost& column : columns) seen += column.bytes;
  if (found_.whole_scan) return extrapolate(columns, seen);
  double planned = 0;
  std::size_t left = scanned_columns_;
  for (auto column = plan_->columns().begin(); left != 0; ++column, --left)
    for (const SamplePiece& piece : column->second) planned += static_cast<double>(piece.bytes);
  // Zeros and what lies in the index are no chunks.
  return extrapolate(columns, static_cast<double>(found_.totals.data_bytes) * (planned == 0 ? 1 : seen / planned));
}

// What the volume takes beside the chunks in its containers.
double Sampling::overhead() const {
  const auto beside = [](const Statistics& volume) {
    return static_cast<double>(volume.disk_bytes) - static_cast<double>(volume.stored_bytes);
  };
  const auto unique_bytes = static_cast<double>(std::max<std::uint64_t>(sampled_.unique_bytes, 1));
  const auto chunks = static_cast<double>(sampled_.unique_chunks);
  const SourceTotals& totals = found_.totals;
  const auto names = static_cast<double>(totals.files + totals.directories + totals.symlinks + totals.special_files);
  const double sample_weight = kFileWeight * static_cast<double>(sampled_.files) + kChunkWeight * chunks;
  const double weight = kFileWeight * names + kChunkWeight * chunks * found_.distinct_bytes.value / unique_bytes;
  const double grown = std::max(0.0, beside(sampled_) - beside(empty_));
  return beside(empty_) + (sample_weight == 0 ? 0 : grown * weight / sample_weight);
}

void Sampling::conclude() {
  found_.distinct_bytes = distinct();
  found_.distinct_bytes.margin += kCutMargin * found_.distinct_bytes.value;
  const std::vector<double> shares = scan_->shares();
  double weighted = 0;
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    costs_[i] = {costs_[i].bytes * shares[i], costs_[i].alone * shares[i], costs_[i].saved * shares[i]};
    weighted += costs_[i].bytes;
  }
  const double distinct_bytes = std::max(found_.distinct_bytes.value, weighted);
  Extrapolation a_byte = extrapolate(costs_, distinct_bytes);
  if (distinct_bytes != 0) a_byte = {a_byte.value / distinct_bytes, a_byte.margin / distinct_bytes};
  // Without a sample, a byte takes between nothing and a byte.
  const Extrapolation stored = costs_.empty()
                                   ? extrapolate({}, found_.distinct_bytes.value + found_.distinct_bytes.margin)
                                   : times(found_.distinct_bytes, a_byte);
  const double beside = overhead();
  found_.disk_bytes = {.value = stored.value + beside,
                       .margin = stored.margin + kMethodMargin * stored.value + kOverheadMargin * beside};
  found_.delta_compression_ratio = sampled_.delta_compression_ratio();
  found_.local_compression_ratio = sampled_.local_compression_ratio();
}

double quotient_of(std::uint64_t bytes, double to) {
  return to <= 0 ? 1 : static_cast<double>(bytes) / to;
}

}  // namespace

double SampledEstimate::total_ratio() const {
  return quotient_of(totals.logical_bytes, disk_bytes.value);
}

double SampledEstimate::dedup_ratio() const {
  return quotient_of(totals.data_bytes, distinct_bytes.value);
}

Result<SampledEstimate> estimate_by_sample(const EstimateSettings& settings, const SampleSettings& sample,
                                           const EstimateGoesOn& goes_on) {
  return Sampling(settings, sample, goes_on).run();
}

}  // namespace dedupfs
