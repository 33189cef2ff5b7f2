// The name, the type and the help of each metric that dedupfs-stat writes.
//
// Two builds on one machine write files for one node_exporter. It refuses a metric whose type or help differs from that in another
// file, so that the metric of one volume vanishes without a word. So a line here never changes and never goes; a new metric adds one.
#pragma once

#include <string_view>

namespace dedupfs {

inline constexpr std::string_view kGoldenMetrics =
    R"(dedupfs_after_delta_bytes gauge Bytes that delta encoding leaves.
dedupfs_available_bytes gauge Disk space for new data, as df shows it.
dedupfs_base_only_bytes gauge Bytes in containers that only deltas need.
dedupfs_cache_hits_total counter Look-ups in a cache that found something.
dedupfs_cache_misses_total counter Look-ups in a cache that found nothing.
dedupfs_chunks gauge References of files to chunks.
dedupfs_damaged_chunks gauge Chunks that are known to be damaged.
dedupfs_delta_chunks gauge Distinct chunks that are stored as deltas.
dedupfs_directories gauge Directories.
dedupfs_disk_bytes gauge Disk space of the whole volume.
dedupfs_files gauge Regular files.
dedupfs_freed_bytes_total counter Disk space that reclaims have freed since the mount.
dedupfs_garbage_bytes gauge Bytes in containers that nothing needs: a reclaim frees them.
dedupfs_healed_chunks_total counter Damaged chunks that were stored again since the mount, because their content came again.
dedupfs_hole_bytes gauge The part of the logical bytes in holes, which take no space.
dedupfs_index_bytes gauge Disk space of the index.
dedupfs_index_memory_wanted_bytes gauge Memory that the index needs if its filters do not fit, otherwise 0.
dedupfs_info gauge Settings of the volume, as labels.
dedupfs_ingest_stage_batches_total counter Batches that went through a stage of ingest.
dedupfs_ingest_stage_bytes_total counter Bytes that went through a stage of ingest.
dedupfs_ingest_stage_seconds_total counter Times of a stage of ingest, those of all threads together.
dedupfs_ingest_wait_seconds_total counter Times that new data waited for room in memory.
dedupfs_landed_bytes gauge Bytes of containers that are to be settled.
dedupfs_last_scrub_complete gauge Whether the last scrub read everything.
dedupfs_last_scrub_damaged_chunks gauge Damaged chunks that the last scrub found.
dedupfs_last_scrub_other_damage gauge Other damage that the last scrub found.
dedupfs_last_scrub_timestamp_seconds gauge When the last scrub ended.
dedupfs_last_snapshot_timestamp_seconds gauge The date of the newest snapshot.
dedupfs_logical_bytes gauge Sizes of all files.
dedupfs_mounted gauge Whether the volume is mounted.
dedupfs_operation_bytes_total counter Bytes of content that operations read, wrote or copied.
dedupfs_operation_errors_total counter Operations that failed, but for those that found nothing of a name.
dedupfs_operation_seconds histogram Times of the operations of the mount, from the request of the kernel to the answer.
dedupfs_quota_files gauge Files and directories in a tree with a quota.
dedupfs_quota_files_limit gauge The limit of files and directories of a tree.
dedupfs_quota_logical_bytes gauge Data in a tree with a quota, without holes.
dedupfs_quota_logical_limit_bytes gauge The limit of logical bytes of a tree.
dedupfs_quota_stored_bytes gauge Stored bytes that a tree needed when they were measured last.
dedupfs_quota_stored_limit_bytes gauge The limit of stored bytes of a tree.
dedupfs_quota_unmeasured_bytes gauge Bytes written into a tree since they were measured.
dedupfs_read_only gauge Whether the mount is read-only.
dedupfs_reclaim_running gauge Whether a reclaim or settling runs.
dedupfs_remote_evicted_containers gauge Containers of which most is in the bucket only.
dedupfs_remote_fenced gauge Whether another machine writes to the bucket.
dedupfs_remote_fetched_bytes_total counter Bytes of these blocks.
dedupfs_remote_fetches_total counter Blocks that readers needed from the bucket since the mount.
dedupfs_remote_lacking_bytes gauge Bytes of containers that the bucket has not got.
dedupfs_remote_most_lacking_bytes gauge How many of them there may be before writers wait.
dedupfs_remote_requests_total counter Requests to the store of objects since the mount, each try.
dedupfs_remote_shipped_timestamp_seconds gauge Of when the state is that the bucket has.
dedupfs_remote_waiting_writers gauge Writers that wait until the bucket has more of them.
dedupfs_remote_writers_refused gauge Whether new data is refused until the bucket has more.
dedupfs_running_operations gauge Operations that have no answer yet.
dedupfs_scrub_running gauge Whether a scrub runs.
dedupfs_snapshot_only_bytes gauge Bytes in containers that only snapshots need.
dedupfs_snapshots gauge Snapshots.
dedupfs_stored_bytes gauge Bytes that compression leaves: those in containers.
dedupfs_unique_bytes gauge Bytes that deduplication leaves.
dedupfs_unique_chunks gauge Distinct chunks.
dedupfs_unstored_bytes gauge Memory for new data that is not stored yet.
dedupfs_waiting_chunk_batches gauge Batches of chunks and read-ahead that no thread has begun.
dedupfs_waiting_prefetches gauge Read-ahead that is under way.
dedupfs_waiting_region_bytes gauge Packed chunks that are not in a container yet.
)";

}  // namespace dedupfs
