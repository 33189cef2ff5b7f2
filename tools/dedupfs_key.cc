#include "dedupfs_key.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/size.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "key_slots_json.h"
#include "log_to.h"
#include "mount/system/mount_table.h"
#include "show.h"
#include "store/format/superblock.h"
#include "store/seal/key_rotation.h"
#include "store/seal/recovery_key.h"
#include "store/volume/ownership.h"
#include "store/volume/volume.h"
#include "volume_key.h"

namespace dedupfs::tools {
namespace {

struct KeyToolArguments {
  std::string action;
  std::string volume;
  KeyArguments key;
  KeyArguments new_key{.key_file = {}, .command = {}, .keyring = {}, .takes_credential = false};
  std::string kdf_memory;
  std::string name;
  std::uint32_t slot = 0;
  bool foreign = false;
};

// The key header of a volume. Nobody else has the volume while it is changed.
struct HeldHeader {
  Path volume;
  std::shared_ptr<BackingFolder> folder;
  std::shared_ptr<const void> lock;
  KeyHeader header;
};

// What was done, beside the slots that are there now.
struct Deed {
  std::optional<std::uint32_t> slot;
  std::vector<KeySlot> removed;  // by a rotation
  Secret recovery_key;           // empty: none was made
};

Result<HeldHeader> open_header(const KeyToolArguments& asked) {
  HeldHeader held;
  DEDUPFS_ASSIGN(held.volume, find_whole_volume(asked.volume));
  DEDUPFS_ASSIGN(held.folder, Volume::open_folder(held.volume));
  if (!asked.foreign) DEDUPFS_TRY(require_own(*held.folder));
  if (asked.action != "list") {
    DEDUPFS_ASSIGN(held.lock, Volume::lock(*held.folder, /*read_only=*/false));
  }
  DEDUPFS_ASSIGN(auto header, read_key_header(*held.folder));
  if (!header) DEDUPFS_TRY(read_superblock(*held.folder));  // or it has none that can be read
  if (!header) return invalid_argument(held.volume.string() + " is not encrypted: it has no keys");
  held.header = std::move(*header);
  return held;
}

Result<UnlockedKey> unlock_with_passphrase(const HeldHeader& held, const KeyToolArguments& asked) {
  DEDUPFS_ASSIGN(const Secret passphrase, read_passphrase(asked.key, "Passphrase of " + held.volume.string()));
  return unlock_here(held.header, passphrase.bytes());
}

Result<UnlockedKey> unlock_with_recovery_key(const HeldHeader& held, const KeyToolArguments& asked) {
  KeyArguments source = asked.key;
  source.takes_credential = false;  // that is the passphrase
  DEDUPFS_ASSIGN(const Secret typed, read_passphrase(source, "Recovery key of " + held.volume.string()));
  DEDUPFS_ASSIGN(const Secret key, tidy_recovery_key(typed.bytes()));
  return unlock_here(held.header, key.bytes());
}

// A passphrase is asked for only if it can be used.
Result<void> require_free_slot(const KeyHeader& header) {
  if (header.slots.size() < KeyHeader::kMaxSlots) return {};
  return Error{ErrorCode::kTooLarge, fmt::format("all {} key slots are used: remove one first", KeyHeader::kMaxSlots)};
}

Result<std::uint32_t> add_passphrase(HeldHeader& held, const KeyToolArguments& asked, const UnlockedKey& unlocked) {
  DEDUPFS_ASSIGN(const KdfSettings kdf, parse_kdf_memory(asked.kdf_memory));
  DEDUPFS_ASSIGN(const Secret passphrase, read_new_passphrase(asked.new_key, held.volume.string()));
  const std::string name = asked.name.empty() ? slot_name_for(asked.new_key) : asked.name;
  return add_slot(held.header, unlocked.key->master(), passphrase.bytes(), name, kdf);
}

Result<std::uint32_t> change_passphrase(HeldHeader& held, const KeyToolArguments& asked, const UnlockedKey& unlocked) {
  DEDUPFS_ASSIGN(const KdfSettings kdf, parse_kdf_memory(asked.kdf_memory));
  DEDUPFS_ASSIGN(const Secret passphrase, read_new_passphrase(asked.new_key, held.volume.string()));
  DEDUPFS_TRY(change_slot(held.header, unlocked.slot, unlocked.key->master(), passphrase.bytes(), kdf));
  return unlocked.slot;
}

Result<Deed> rotate(HeldHeader& held, const KeyToolArguments& asked) {
  DEDUPFS_ASSIGN(const UnlockedKey unlocked, unlock_with_passphrase(held, asked));
  DEDUPFS_ASSIGN(const KdfSettings kdf, parse_kdf_memory(asked.kdf_memory));
  DEDUPFS_ASSIGN(const Secret passphrase, read_new_passphrase(asked.new_key, held.volume.string()));
  const NewPassphrase anew{.bytes = passphrase.bytes(), .name = slot_name_for(asked.new_key), .kdf = kdf};
  DEDUPFS_ASSIGN(RotatedKey rotated,
                 rotate_master_key(*held.folder, held.header, unlocked, anew, most_kdf_memory() >> 10));
  return Deed{.slot = unlocked.slot, .removed = std::move(rotated.removed), .recovery_key = {}};
}

Result<Deed> act(HeldHeader& held, const KeyToolArguments& asked) {
  Deed deed;
  if (asked.action == "list") return deed;
  if (asked.action == "rotate") return rotate(held, asked);
  if (asked.action != "change" && asked.action != "remove") DEDUPFS_TRY(require_free_slot(held.header));
  DEDUPFS_ASSIGN(const UnlockedKey unlocked, asked.action == "recover" ? unlock_with_recovery_key(held, asked)
                                                                       : unlock_with_passphrase(held, asked));
  if (asked.action == "remove") {
    deed.slot = asked.slot;
    DEDUPFS_TRY(remove_slot(held.header, asked.slot));
  } else if (asked.action == "change") {
    DEDUPFS_ASSIGN(deed.slot, change_passphrase(held, asked, unlocked));
  } else if (asked.action == "export") {
    deed.recovery_key = make_recovery_key();
    DEDUPFS_ASSIGN(deed.slot, add_slot(held.header, unlocked.key->master(), deed.recovery_key.bytes(), "recovery key",
                                       KdfSettings()));
  } else {
    DEDUPFS_ASSIGN(deed.slot, add_passphrase(held, asked, unlocked));
  }
  DEDUPFS_TRY(write_key_header(*held.folder, held.header, unlocked.key->master()));
  return deed;
}

nlohmann::json removed_json(const std::vector<KeySlot>& removed) {
  nlohmann::json slots = nlohmann::json::array();
  for (const KeySlot& slot : removed) slots.push_back({{"number", slot.number}, {"name", slot.name}});
  return slots;
}

// The recovery key leaves locked memory here: it is to be printed.
nlohmann::json json_of(const HeldHeader& held, const Deed& deed) {
  const ByteSpan key = deed.recovery_key.bytes();
  return {
      {"volume", held.volume.string()},
      {"uuid", held.header.uuid},
      {"cipher", name_of(held.header.cipher)},
      {"key_number", held.header.key_number},
      {"former_keys", former_keys_json(held.header)},
      {"slots", key_slots_json(held.header)},
      {"removed_slots", removed_json(deed.removed)},
      {"slot", deed.slot ? nlohmann::json(*deed.slot) : nlohmann::json(nullptr)},
      {"recovery_key", key.empty() ? nlohmann::json(nullptr) : nlohmann::json(std::string(key.begin(), key.end()))}};
}

std::string slots_screen(const nlohmann::json& shown) {
  const nlohmann::json& slots = shown.at("slots");
  return fmt::format("{}: {}, {} of {} key slots used\n{}\n\n", printable(shown.at("volume").get<std::string>()),
                     shown.at("cipher").get<std::string>(), slots.size(), KeyHeader::kMaxSlots,
                     master_key_text(shown)) +
         key_slots_screen(slots);
}

std::string rotation_screen(const nlohmann::json& shown) {
  std::string text =
      fmt::format("Master key {} seals what is written from now on. Key slot {} has it, with the new passphrase.\n",
                  shown.at("key_number").get<std::uint32_t>(), shown.at("slot").get<std::uint32_t>());
  for (const nlohmann::json& slot : shown.at("removed_slots"))
    text += fmt::format("Key slot {} ({}) is removed.\n", slot.at("number").get<std::uint32_t>(),
                        printable(slot.at("name").get<std::string>()));
  if (!shown.at("removed_slots").empty())
    text += "Give the others new passphrases with dedupfs-key add, and make a recovery key with dedupfs-key export.\n";
  return text + "What is there stays under the former key until dedupfs-gc, or the mount by itself, has moved it.\n";
}

std::string deed_screen(const nlohmann::json& shown, const std::string& action) {
  const auto slot = shown.at("slot").get<std::uint32_t>();
  if (action == "rotate") return rotation_screen(shown);
  if (action == "remove") return fmt::format("Key slot {} is removed.\n", slot);
  if (action == "change") return fmt::format("Key slot {} opens with the new passphrase.\n", slot);
  if (action == "export")
    return fmt::format(
        "Recovery key of {} (key slot {}):\n\n    {}\n\nPrint it, and keep it in another place than the volume. It "
        "opens the volume like a passphrase.\n",
        printable(shown.at("volume").get<std::string>()), slot, shown.at("recovery_key").get<std::string>());
  return fmt::format("The new passphrase is in key slot {}.\n", slot);
}

Command& add_action(Command& app, KeyToolArguments& asked, const std::string& action, const std::string& meaning) {
  Command& command = app.add_subcommand(action, meaning);
  command.callback([&asked, action] { asked.action = action; });
  command.add_option("VOLUME", asked.volume, "the folder of the volume").required();
  command.add_flag("--foreign", asked.foreign, std::string(kForeignHelp));
  add_json_flag(command, "print one JSON object");
  return command;
}

void add_new_key_options(Command& command, KeyToolArguments& asked) {
  const Option file = command.add_option("--new-key-file", asked.new_key.key_file,
                                         "read the new passphrase from this file, not from the terminal");
  file.type_name("FILE");
  const Option printed = command.add_option("--new-passphrase-command", asked.new_key.command,
                                            "take what this command prints as the new passphrase");
  printed.type_name("COMMAND").excludes(file);
  command
      .add_option("--new-keyring", asked.new_key.keyring,
                  "take the new passphrase from this key in the keyring of the kernel")
      .type_name("NAME")
      .excludes(file)
      .excludes(printed);
  command
      .add_option("--kdf-memory", asked.kdf_memory,
                  "memory that each guess of the new passphrase takes, from 8m to 4g (default: 64m)")
      .type_name("SIZE");
}

void define_commands(Command& app, KeyToolArguments& asked) {
  define_common_options(app);
  app.require_subcommand();
  add_action(app, asked, "list", "list the key slots; this needs no key");
  Command& add = add_action(app, asked, "add", "add a passphrase or key file");
  Command& change = add_action(app, asked, "change", "change the passphrase that is given");
  Command& remove = add_action(app, asked, "remove", "remove a key slot");
  remove.add_option("SLOT", asked.slot, "the number of the slot, as list shows it").required();
  Command& make = add_action(app, asked, "export", "add a recovery key, and print it");
  Command& recover = add_action(app, asked, "recover", "add a passphrase with the recovery key");
  Command& rotate = add_action(app, asked, "rotate", "make a new master key, with a new passphrase");
  for (Command* const command : {&add, &change, &remove, &make, &recover, &rotate})
    define_key_options(*command, asked.key);
  for (Command* const command : {&add, &change, &recover, &rotate}) add_new_key_options(*command, asked);
  for (Command* const command : {&add, &recover})
    command->add_option("--name", asked.name, "a name of the new slot, for people; it is not secret").type_name("NAME");
}

Result<nlohmann::json> done(const KeyToolArguments& asked) {
  DEDUPFS_ASSIGN(HeldHeader held, open_header(asked));
  auto deed = act(held, asked);
  if (!deed) return deed.error().with(held.volume.string());
  return json_of(held, *deed);
}

}  // namespace

int run_key(Arguments arguments, std::ostream& out, std::ostream& err) {
  Console console({.name = "dedupfs-key", .usage_error = kUsageError, .failed = kFailed}, out, err);
  KeyToolArguments asked;
  Command app("Manages the passphrases and the recovery key of an encrypted dedupfs volume.", "dedupfs-key");
  app.example("dedupfs-key add /srv/volume");
  define_commands(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const LogTo log(err, "dedupfs-key", spdlog::level::warn);
  auto document = done(asked);
  if (!document) return console.fail(document.error());
  return show(console, "dedupfs-key", std::move(*document), kDone, [&asked](const nlohmann::json& shown) {
    return asked.action == "list" ? slots_screen(shown) : deed_screen(shown, asked.action);
  });
}

}  // namespace dedupfs::tools
