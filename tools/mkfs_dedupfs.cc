#include "mkfs_dedupfs.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "attach_volume.h"
#include "base/printable.h"
#include "bucket_options.h"
#include "command/command.h"
#include "command/common_options.h"
#include "exit_codes.h"
#include "log_to.h"
#include "store/volume/encrypted_creation.h"
#include "volume_key.h"
#include "volume_settings.h"

namespace dedupfs::tools {
namespace {

struct MkfsArguments {
  std::string volume;
  VolumeSettingsArguments settings;
  std::string label;
  std::string ignored;
  bool foreign = false;
  bool encrypt = false;
  std::string cipher;
  std::string kdf_memory;
  KeyArguments key;
  RemoteAddress where;  // of its bucket, if it gets one
};

void define_options(Command& app, MkfsArguments& arguments) {
  define_common_options(app, volume_setting_words());
  app.add_option("VOLUME", arguments.volume, "a folder that is empty or does not exist yet").not_empty().required();
  define_volume_settings(app, arguments.settings);
  app.add_option("-L,--label", arguments.label, "a name for people").type_name("LABEL");
  app.add_flag("--foreign", arguments.foreign, std::string(kForeignHelp));
  const Option encrypt =
      app.add_flag("--encrypt", arguments.encrypt, "encrypt the volume; without its passphrase all is lost");
  for (const Option& option : define_key_options(app, arguments.key)) option.needs(encrypt);
  app.add_option("--cipher", arguments.cipher, "aes-256-gcm or chacha20-poly1305 (default: the faster one here)")
      .one_of({std::string(name_of(Cipher::kAes256Gcm)), std::string(name_of(Cipher::kChaCha20Poly1305))})
      .needs(encrypt);
  app.add_option("--kdf-memory", arguments.kdf_memory,
                 "memory that each guess of the passphrase takes, from 8m to 4g (default: 64m)")
      .type_name("SIZE")
      .needs(encrypt);
  app.add_option("--remote", arguments.where.address, "give it a bucket, s3://BUCKET/PREFIX, as dedupfs-remote attach")
      .type_name("ADDRESS");
  define_bucket_options(app, arguments.where, "--remote-region");
  add_json_flag(app, "print one JSON object with the properties of the volume");
  app.add_option("-t", arguments.ignored, "accepted for mkfs(8), no effect");
}

// It is read in one line, and the superblock holds it.
Result<void> check_label(const std::string& label) {
  constexpr std::size_t kMaxLabelBytes = 255;
  if (label.size() > kMaxLabelBytes)
    return invalid_argument(fmt::format("the label has {} bytes: give it {} at most", label.size(), kMaxLabelBytes));
  if (without_control_characters(label) == label) return {};
  return invalid_argument("the label has a line break or another control character: leave it out");
}

Result<EncryptionSettings> encryption_of(const MkfsArguments& asked) {
  EncryptionSettings settings;
  settings.cipher = cipher_named(asked.cipher);
  DEDUPFS_ASSIGN(settings.kdf, parse_kdf_memory(asked.kdf_memory));
  DEDUPFS_ASSIGN(settings.passphrase, read_new_passphrase(asked.key, asked.volume));
  settings.slot_name = slot_name_for(asked.key);
  return settings;
}

// Keys as those of dedupfs-stat.
nlohmann::json json_of(const std::string& volume, const Superblock& superblock, bool is_encrypted) {
  return {{"volume", volume},
          {"uuid", superblock.uuid},
          {"encrypted", is_encrypted},
          {"label", superblock.label},
          {"format_version", superblock.format_version},
          {"chunker", superblock.chunker},
          {"fingerprint", superblock.fingerprint},
          {"delta", format_delta_settings(superblock.delta)},
          {"compression", format_compression(superblock.compression.settled)},
          {"landing", format_compression(superblock.compression.landing)}};
}

std::string screen_of(const std::string& volume, const Superblock& superblock, bool is_encrypted) {
  return fmt::format(
      "Created a volume in {}: chunker {}, delta {}, compression {} ({} at first), {}uuid {}.\n"
      "Mount it with: dedupfs {} MOUNTPOINT\n",
      volume, superblock.chunker, format_delta_settings(superblock.delta),
      format_compression(superblock.compression.settled), format_compression(superblock.compression.landing),
      is_encrypted ? "encrypted, " : "", superblock.uuid, volume);
}

// Null: the volume gets no bucket. One that cannot be used is found before there is a volume.
Result<std::unique_ptr<Bucket>> bucket_for(const MkfsArguments& asked) {
  if (asked.where.address.empty()) {
    DEDUPFS_TRY(require_no_store(asked.where, asked.volume));
    return std::unique_ptr<Bucket>();
  }
  DEDUPFS_ASSIGN(auto bucket, open_bucket(asked.where, [] { return Result<void>(); }));
  DEDUPFS_TRY(probe(*bucket));
  return bucket;
}

Result<void> attach(const MkfsArguments& asked, const Superblock& superblock, Bucket& bucket) {
  DEDUPFS_ASSIGN(const auto folder, Volume::open_folder(asked.volume));
  const auto attached = attach_volume(*folder, superblock.uuid, asked.where, bucket);
  if (attached) return {};
  return attached.error().with("the volume is made, but has no bucket (dedupfs-remote attach tries again)");
}

}  // namespace

int run_mkfs(Arguments arguments, std::ostream& out, std::ostream& err) {
  Console console({.name = "mkfs.dedupfs", .usage_error = kMkfsUsageError, .failed = kMkfsOperationalError}, out, err);
  MkfsArguments asked;
  Command app("Creates a dedupfs volume in a new or empty folder.", "mkfs.dedupfs");
  app.example("mkfs.dedupfs /srv/volume");
  define_options(app, asked);
  if (const auto exit_code = console.parse(app, arguments)) return *exit_code;

  const LogTo log(err, "mkfs.dedupfs", spdlog::level::warn);
  auto settings = parse_volume_settings(asked.settings);
  if (!settings) return console.fail(settings.error(), kMkfsUsageError);
  if (const auto checked = check_label(asked.label); !checked) return console.fail(checked.error(), kMkfsUsageError);
  settings->label = asked.label;
  settings->foreign = asked.foreign;
  const auto bucket = bucket_for(asked);
  if (!bucket) return console.fail(bucket.error());
  Result<Superblock> superblock = Error{ErrorCode::kNotFound, asked.volume};
  if (asked.encrypt) {
    const auto encryption = encryption_of(asked);
    if (!encryption) return console.fail(encryption.error(), kMkfsUsageError);
    superblock = create_encrypted_volume(asked.volume, *settings, *encryption);
    warn_of_unlocked_secrets();
  } else {
    superblock = Volume::create(asked.volume, *settings);
  }
  if (!superblock) return console.fail(superblock.error());
  if (*bucket)
    if (const auto attached = attach(asked, *superblock, **bucket); !attached) return console.fail(attached.error());
  if (console.as_json())
    console.print("mkfs.dedupfs", json_of(asked.volume, *superblock, asked.encrypt));
  else
    out << screen_of(asked.volume, *superblock, asked.encrypt);
  return console.end(kDone);
}

}  // namespace dedupfs::tools
