// Where the tools get the passphrase of an encrypted volume from: a key file, a command, the kernel's keyring, a credential of systemd,
// the terminal; the first of these that is there. Who reads one writes no core file from then on.
//
// Threads:   free functions, safe from any thread; the Backing as backing.h says.
// Ownership: passphrases are in locked memory (store/seal/secret.h), and nowhere else.
// Failure:   kNotPermitted if there is none, or it opens nothing; kBusy if another process has the volume, before anybody is asked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/seal/sealed_backing.h"

namespace dedupfs::tools {

class Command;
class Console;
class Option;

struct KeyArguments {
  std::string key_file;
  std::string command;           // for /bin/sh; it prints the passphrase
  std::string keyring;           // the name of a key
  bool takes_credential = true;  // of systemd
};

std::vector<Option> define_key_options(Command& app, KeyArguments& arguments);

// The passphrase of a volume; `prompt` is for the terminal.
Result<Secret> read_passphrase(const KeyArguments& arguments, const std::string& prompt);
// One for a new slot: the terminal asks twice.
Result<Secret> read_new_passphrase(const KeyArguments& arguments, const std::string& what);
// What the slot is called, for people.
std::string slot_name_for(const KeyArguments& arguments);
// Whether there is one, or somebody to ask.
bool can_get_passphrase(const KeyArguments& arguments);
// Opens a slot within what a guess may take of this machine.
Result<UnlockedKey> unlock_here(const KeyHeader& header, ByteSpan passphrase);
// Says in the log that keys could be swapped out, if they could.
void warn_of_unlocked_secrets();
// What a guess may take of this machine.
std::uint64_t most_kdf_memory();
// The costs of a guess, from what --kdf-memory says; empty: the default. Refuses more than `most` bytes.
Result<KdfSettings> parse_kdf_memory(const std::string& memory, std::uint64_t most = most_kdf_memory());

// The key header of a volume; none if there is no encrypted volume that can be read.
std::optional<KeyHeader> find_key_header(const Path& volume, const std::shared_ptr<Backing>& disk = Backing::posix());

// Opens volumes, encrypted ones with the passphrase. `foreign`: as root, others who can write to the volume are trusted. `disk` has them;
// null: the disks of this machine (volume_disk.h).
std::shared_ptr<SealedBacking> keyed_backing(KeyArguments arguments, bool foreign,
                                             SealedTree::Judge judge = SealedTree::refuse,
                                             const std::shared_ptr<Backing>& given_disk = nullptr);

// The same for a tool that only reads: it says which files are not as the last unmount left them, and goes on.
std::shared_ptr<SealedBacking> reading_backing(KeyArguments arguments, bool foreign, const Console& console);

}  // namespace dedupfs::tools
