#include "command/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace dedupfs::tools {

Option Option::description(const std::string& meaning) const {
  return Option(option_->description(meaning));
}

Option Option::default_str(const std::string& text) const {
  return Option(option_->default_str(text));
}

Option Option::type_name(const std::string& placeholder) const {
  return Option(option_->type_name(placeholder));
}

Option Option::capture_default_str() const {
  return Option(option_->capture_default_str());
}

Option Option::hide() const {
  return Option(option_->group(""));
}

Option Option::required() const {
  return Option(option_->required());
}

Option Option::expected(int least, int most) const {
  return Option(option_->expected(least, most));
}

Option Option::one_value_each_time() const {
  return Option(option_->allow_extra_args(false));
}

Option Option::take_all() const {
  return Option(option_->take_all());
}

Option Option::excludes(const Option& other) const {
  return Option(option_->excludes(other.option_));
}

Option Option::excludes(const std::string& other) const {
  return Option(option_->excludes(other));
}

Option Option::needs(const Option& other) const {
  return Option(option_->needs(other.option_));
}

Option Option::in_range(std::uint64_t least, std::uint64_t most) const {
  return Option(option_->check(CLI::Range(least, most)));
}

Option Option::in_range(double least, double most) const {
  return Option(option_->check(CLI::Range(least, most)));
}

Option Option::not_negative() const {
  const auto check = [](const std::string& text) {
    const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? std::string() : "'" + text + "' is not a whole number, 0 or more";
  };
  return Option(option_->check(check));
}

Option Option::not_empty() const {
  return Option(option_->check([](const std::string& text) { return text.empty() ? "it is empty" : std::string(); }));
}

Option Option::one_of(const std::vector<std::string>& words) const {
  return Option(option_->check(CLI::IsMember(words)));
}

bool Option::empty() const {
  return option_->empty();
}

Command::Command(const std::string& meaning, const std::string& name)
    : own_(std::make_unique<CLI::App>(meaning, name)), app_(*own_) {}

Command::Command(CLI::App& part) : app_(part) {}

Command::~Command() = default;

Option Command::add_option(const std::string& names, std::string& value, const std::string& meaning) {
  return Option(app_.add_option(names, value, meaning));
}

Option Command::add_option(const std::string& names, std::vector<std::string>& values, const std::string& meaning) {
  return Option(app_.add_option(names, values, meaning));
}

Option Command::add_option(const std::string& names, unsigned& value, const std::string& meaning) {
  return Option(app_.add_option(names, value, meaning)).not_negative();
}

Option Command::add_option(const std::string& names, std::uint64_t& value, const std::string& meaning) {
  return Option(app_.add_option(names, value, meaning)).not_negative();
}

Option Command::add_option(const std::string& names, double& value, const std::string& meaning) {
  return Option(app_.add_option(names, value, meaning));
}

Option Command::add_option(const std::string& names, std::optional<int>& value, const std::string& meaning) {
  return Option(app_.add_option(names, value, meaning));
}

Option Command::add_option(const std::string& names, std::optional<std::uint64_t>& value, const std::string& meaning) {
  return Option(app_.add_option(names, value, meaning)).not_negative();
}

Option Command::add_option_function(const std::string& names, const std::function<void(const std::string&)>& take,
                                    const std::string& meaning) {
  return Option(app_.add_option_function<std::string>(names, take, meaning));
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& meaning) {
  return Option(app_.add_flag(names, value, meaning));
}

Option Command::add_flag(const std::string& names, const std::string& meaning) {
  return Option(app_.add_flag(names, meaning));
}

Option Command::add_flag_callback(const std::string& names, const std::function<void()>& take,
                                  const std::string& meaning) {
  return Option(app_.add_flag_callback(names, take, meaning));
}

Command& Command::add_subcommand(const std::string& name, const std::string& meaning) {
  return add_part(*app_.add_subcommand(name, meaning));
}

Command& Command::add_option_group(const std::string& name, const std::string& meaning) {
  return add_part(*app_.add_option_group(name, meaning));
}

Command& Command::add_part(CLI::App& part) {
  return *parts_.emplace_back(new Command(part));
}

void Command::require_subcommand() {
  app_.require_subcommand(1);
}

void Command::require_option(std::size_t least, std::size_t most) {
  app_.require_option(least, most);
}

void Command::excludes(const Option& other) {
  app_.excludes(other.option_);
}

void Command::callback(const std::function<void()>& check) {
  app_.callback(check);
}

void Command::example(const std::string& line) {
  app_.description(app_.get_description() + "\nExample: " + line);
}

void Command::footer(const std::string& text) {
  app_.footer(text);
}

const std::string& Command::name() const {
  return app_.get_name();
}

Option Command::get_option(const std::string& name) {
  return Option(app_.get_option(name));
}

bool Command::defines(const std::string& option) const {
  return app_.get_option_no_throw(option) != nullptr ||
         std::ranges::any_of(parts_, [&](const auto& part) { return part->defines(option); });
}

bool Command::parsed() const {
  return app_.parsed();
}

std::optional<Command::End> Command::parse(std::span<const std::string> arguments, std::ostream& out,
                                           std::ostream& err) {
  const auto end = [&](const CLI::ParseError& why) {
    if (why.get_exit_code() == 0) {  // help, version
      app_.exit(why, out, err);
      return End{};
    }
    err << app_.get_name() << ": " << why.what() << "\nRun with --help for more information.\n";
    return End{.error = why.what()};
  };
  try {
    app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // the library takes the last one first
  } catch (const UsageError& error) {
    return end(CLI::ValidationError(error.what()));
  } catch (const Answer& answer) {
    return end(CLI::CallForVersion(answer.what(), 0));
  } catch (const CLI::ParseError& why) {
    return end(why);
  }
  return std::nullopt;
}

}  // namespace dedupfs::tools
