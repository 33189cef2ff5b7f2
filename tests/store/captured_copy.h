// A captured volume as a folder, made of nothing but the capture.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/volume/capture.h"

namespace dedupfs {

inline void write_captured(Capture& capture, const Path& to) {
  std::filesystem::remove_all(to);
  for (const std::string_view folder : {"", "index", "containers", "checkpoints"})
    std::filesystem::create_directories(to / folder);
  for (const CapturedFile& file : capture.files()) {
    ByteBuffer bytes(file.bytes);
    const auto length = capture.read(file, 0, bytes);
    ASSERT_TRUE(length) << length.error().message();
    ASSERT_EQ(*length, file.bytes) << file.path;
    std::ofstream(to / file.path, std::ios::binary) << text_of(bytes);
  }
}

}  // namespace dedupfs
