#include "console.h"

#include <algorithm>
#include <utility>

#include "base/inherited_files.h"
#include "command/command.h"
#include "json/document.h"

namespace dedupfs::tools {
namespace {

// Also if the parsing failed before it came there.
bool is_given(const Command& app, Arguments arguments, const std::string& flag) {
  if (!app.defines(flag)) return false;
  const auto end = std::ranges::find(arguments, "--");
  return std::find(arguments.begin(), end, flag) != end;
}

}  // namespace

std::vector<std::string> arguments_of(int argc, const char* const* argv) {
  open_standard_streams();
  return argc == 0 ? std::vector<std::string>() : std::vector<std::string>(argv + 1, argv + argc);
}

std::string program_of(int argc, const char* const* argv) {
  return argc == 0 ? std::string() : argv[0];
}

Option add_json_flag(Command& app, const std::string& meaning) {
  return app.add_flag("--json", meaning);
}

std::optional<int> Console::parse(Command& app, Arguments arguments) {
  as_json_ = is_given(app, arguments, "--json");
  has_json_progress_ = as_json_ && is_given(app, arguments, "--progress");
  const auto parsing_end = app.parse(arguments, out_, err_);
  if (!parsing_end) return std::nullopt;
  if (!parsing_end->error) return end(0);
  print_error(*parsing_end->error, contract_.usage_error);
  return contract_.usage_error;
}

void Console::print(std::string_view schema, nlohmann::json object) const {
  if (!has_json_progress_) {
    out_ << document_text(schema, std::move(object));
    return;
  }
  object["event"] = "result";
  print_line(schema, std::move(object));
}

void Console::print_line(std::string_view schema, nlohmann::json object) const {
  out_ << document_text(schema, std::move(object), JsonLayout::kLine) << std::flush;
}

void Console::print_error(std::string_view message, int exit_code) const {
  if (!as_json_) return;
  nlohmann::json document = error_document(message, exit_code);
  if (has_json_progress_) document["event"] = "error";
  print_line(kErrorSchema, std::move(document));
}

void Console::say(std::string_view line) const {
  err_ << contract_.name << ": " << line << '\n' << std::flush;
}

int Console::fail(const Error& error, int exit_code) const {
  say(error.message());
  print_error(error.message(), exit_code);
  return exit_code;
}

int Console::end(int exit_code) const {
  if (out_.flush()) return exit_code;
  say("cannot write the output: its reader has gone, or the disk is full");
  return contract_.failed;
}

}  // namespace dedupfs::tools
