#!/usr/bin/env bash
# mount 2.38.1-5+deb12u3 (Debian 12), `mount from util-linux 2.38.1`.
#
# The option X-mount.idmap= came with util-linux 2.39. An older mount takes it for a comment, as it does with all options that begin with
# X-, so it makes a bind mount without a map, prints nothing, and gives exit status 0. Users then see other owners than they asked for.
. "$(dirname "$0")/lib.sh"

[ "$(id -u)" -eq 0 ] || cannot "mount needs root"
unpack mount=2.38.1-5+deb12u3 libmount1=2.38.1-5+deb12u3
mount=$(find "$root" -name mount -path '*bin/mount')
expect version "mount from util-linux 2.38.1" "$("$mount" --version | sed 's/ (.*//')"
mkdir "$work/source" "$work/target"
touch "$work/source/file"
# In a mount namespace of its own, which takes the mount along at its end.
cat >"$work/try" <<'END'
"$1" --bind -o X-mount.idmap=u:0:5000:1 "$2/source" "$2/target" 2>&1
echo "status $?, owner $(stat -c %u "$2/target/file")"
END
seen=$(unshare --mount --propagation private sh "$work/try" "$mount" "$work")
expect "output, status and owner" "status 0, owner 0" "$seen"
