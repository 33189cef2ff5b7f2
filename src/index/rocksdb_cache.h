// rocksdb::Cache as a whole: RocksDB 8 and newer declare it in another header than RocksDB 7.
#pragma once

#include <rocksdb/cache.h>

#if __has_include(<rocksdb/advanced_cache.h>)
#include <rocksdb/advanced_cache.h>
#endif
