# A cluster of Ceph on this machine: one monitor, one OSD that keeps its objects in memory, and an RGW, which speaks S3.
# shellcheck shell=bash
#
# To be sourced, after common.sh. Debian has what it needs:
#   apt-get install --no-install-recommends ceph-mon ceph-osd ceph-common radosgw

has_ceph() {
  local program
  for program in ceph ceph-mon ceph-osd radosgw radosgw-admin; do command -v "$program" >/dev/null || return 1; done
}

ceph_settings() { # FOLDER ADDRESSES-OF-THE-MONITOR
  cat <<EOF
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon host = $2
mon data = $1/mon
osd data = $1/osd
osd objectstore = memstore
memstore device bytes = 4294967296
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd crush chooseleaf type = 0
mon allow pool size one = true
run dir = $1
admin socket = $1/\$name-\$pid.asok
log file = $1/\$name.log
pid file = $1/\$name.pid
keyring = $1/keyring
EOF
}

# start_ceph FOLDER PORT PORT PORT: makes and starts a cluster in the folder. The first port is that of the RGW, the others are for the
# monitor. The keys are those of the environment. The RGW writes rgw.log, and answers soon after.
start_ceph() {
  local folder=$1 rgw_port=$2 addresses="[v2:127.0.0.1:$3,v1:127.0.0.1:$4]" osd name
  local conf=$folder/ceph.conf keyring=$folder/keyring
  mkdir -p "$folder/mon" "$folder/osd" "$folder/rgw"
  ceph_settings "$folder" "$addresses" >"$conf"
  touch "$keyring"
  for name in mon. client.admin client.rgw osd.0; do
    ceph-authtool "$keyring" --gen-key --name "$name" --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' >/dev/null
  done
  monmaptool --create --addv a "$addresses" --fsid "$(sed -n 's/^fsid = //p' "$conf")" "$folder/monmap" >/dev/null
  ceph-mon --conf "$conf" --id a --mkfs --monmap "$folder/monmap" --keyring "$keyring"
  ceph-mon --conf "$conf" --id a
  osd=$(cat /proc/sys/kernel/random/uuid)
  local ask=(timeout 60 ceph --conf "$conf")
  "${ask[@]}" osd new "$osd" && "${ask[@]}" auth import --in-file "$keyring" || return
  ceph-osd --conf "$conf" --id 0 --mkfs --osd-uuid "$osd" && ceph-osd --conf "$conf" --id 0 || return
  "${ask[@]}" osd crush add osd.0 1 host=here root=default || return
  radosgw --conf "$conf" --name client.rgw --rgw-frontends "beast endpoint=127.0.0.1:$rgw_port" --rgw-data "$folder/rgw" \
    --foreground >"$folder/rgw.log" 2>&1 &
  echo $! >"$folder/client.rgw.pid"
  timeout 60 radosgw-admin --conf "$conf" --name client.rgw user create --uid test --display-name test \
    --access-key "$AWS_ACCESS_KEY_ID" --secret-key "$AWS_SECRET_ACCESS_KEY" >/dev/null
}

stop_ceph() { # FOLDER
  local file
  for file in "$1"/{client.rgw,osd.0,mon.a}.pid; do
    [ ! -s "$file" ] || { kill -9 "$(cat "$file")"; wait "$(cat "$file")"; } 2>/dev/null || true
  done
}
