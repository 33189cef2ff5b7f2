# apt-get for scripts that may run while another program installs packages; to be sourced after common.sh.
# shellcheck shell=bash

# apt_get ARGUMENT...: apt-get, as root. While another program holds a lock of apt, as unattended upgrades do for some minutes on every
# new cloud machine, it waits, says so, and tries again; after APT_LOCK_SECONDS (600) it gives up.
# apt's own DPkg::Lock::Timeout covers the lock of dpkg only: not that of the package lists, nor that of the downloads.
apt_get() {
  local give_up=$((SECONDS + ${APT_LOCK_SECONDS:-600})) said='' errors status
  errors=$(mktemp)
  while status=0; do
    run_as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null 2>"$errors" || status=$?
    [ "$status" -ne 0 ] && is_locked_out "$errors" && [ "$SECONDS" -lt "$give_up" ] || break
    [ -n "$said" ] || say "another program holds a lock of apt: waiting up to $((give_up - SECONDS)) s ($(grep -m 1 -i 'lock' "$errors"))"
    said=yes
    sleep 2
  done
  cat "$errors" >&2
  rm -f "$errors"
  return "$status"
}

is_locked_out() { grep -Eq 'Could not get lock|Unable to (acquire|lock)' "$1"; }
