#!/usr/bin/env bash
# Programs that ask much of a filesystem: SQLite, git, GNU tar, PostgreSQL (where it is installed).
. "$(dirname "$0")/lib.sh"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org

new_volume

sqlite_works() { # sqlite_works JOURNAL_MODE: two writers at a time, then the counts and the integrity
  python3 - "$mnt/$1.db" "$1" <<'PY'
import os, sqlite3, sys
path, mode = sys.argv[1:]
db = sqlite3.connect(path, isolation_level=None)
assert db.execute(f"pragma journal_mode={mode}").fetchone()[0] == mode
db.execute("create table t(who int, n int, data blob, primary key(who, n))")
db.close()
children = []
for who in range(2):
    pid = os.fork()
    if pid == 0:
        db = sqlite3.connect(path, timeout=60, isolation_level=None)
        for n in range(300):
            db.execute("begin immediate")
            db.execute("insert into t values(?, ?, ?)", (who, n, os.urandom(3000)))
            db.execute("rollback" if n % 10 == 9 else "commit")
        os._exit(0)
    children.append(pid)
assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
db = sqlite3.connect(path)
assert db.execute("select count(*) from t").fetchone()[0] == 540
assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
PY
}
check "SQLite, write-ahead log" sqlite_works wal
check "SQLite, rollback journal" sqlite_works delete

git_works() {
  git init -q "$scratch/origin" && cp -r "$here" "$scratch/origin/files" || return
  local i
  for i in $(seq 20); do
    seq "$i" 5000 >"$scratch/origin/numbers$((i % 7))"
    git -C "$scratch/origin" add -A && git -C "$scratch/origin" commit -q -m "$i" || return
  done
  git clone -q --no-local "$scratch/origin" "$mnt/clone" &&
    git clone -q "$mnt/clone" "$mnt/linked" &&
    git -C "$mnt/linked" repack -q -a -d -f &&
    git -C "$mnt/linked" gc -q --prune=now &&
    git -C "$mnt/linked" fsck --full --strict &&
    git -C "$mnt/clone" fsck --full --strict &&
    [ -z "$(git -C "$mnt/clone" status --porcelain)" ]
}
check "git: clone, repack, gc, fsck --full --strict" git_works

# GNU tar takes a file of 0 blocks for one hole, whatever --hole-detection says: it would archive shared data as zeros.
mkdir "$mnt/shared"
noise 6 3000000 >"$mnt/shared/first"
noise 6 3000000 | dd of="$mnt/shared/duplicate" bs=64k iflag=fullblock status=none
printf tiny >"$mnt/shared/tiny"
cp "$mnt/shared/first" "$mnt/shared/copy"
cp "$mnt/shared/tiny" "$mnt/shared/tiny copy"
dedupfs-clone "$mnt/shared/first" "$mnt/shared/clone"
blocks() { (cd "$mnt/shared" && stat -c '%n %b' -- *); }
no_file_without_blocks() { blocks | awk '$NF == 0 {bad = 1} END {exit bad || NR != 6}'; }
check "shared data has blocks while it is new" no_file_without_blocks
commit
check "and when it is stored" no_file_without_blocks
remount
check "and after a remount ($(blocks | xargs))" no_file_without_blocks
for detection in seek raw; do
  mkdir "$scratch/$detection"
  check "tar --hole-detection=$detection keeps it" eval '
    tar -C "$mnt/shared" --hole-detection=$detection -S -cf - . | tar -C "$scratch/$detection" -xf - &&
    diff -r "$mnt/shared" "$scratch/$detection" && cmp "$scratch/$detection/clone" <(noise 6 3000000)'
done

postgres=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
pg() { (cd / && timeout 120 runuser -u postgres -- "$postgres/$1" "${@:2}"); }
sql() { pg psql -h "$scratch" -U postgres -At -c "$1" postgres; }
start_postgres() {
  pg pg_ctl -D "$mnt/pg" -w -l "$mnt/pg/log" -o "-k $scratch -c listen_addresses= -c shared_buffers=32MB" start
}
postgres_works() {
  chmod 777 "$scratch" && mkdir "$mnt/pg" && chown postgres: "$mnt/pg" &&
    pg initdb -D "$mnt/pg" --data-checksums -U postgres -A trust >/dev/null && start_postgres >/dev/null &&
    pg pgbench -q -h "$scratch" -U postgres -i -s 3 postgres && pg pgbench -h "$scratch" -U postgres -c 4 -T 5 -n postgres &&
    pg pg_ctl -D "$mnt/pg" -m immediate stop && start_postgres >/dev/null &&
    [ "$(sql 'select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)')" = t ] &&
    pg pg_ctl -D "$mnt/pg" -m fast stop && pg pg_checksums -D "$mnt/pg" --check
}
if ! is_root || [ -z "$postgres" ]; then
  skip "PostgreSQL" "needs root and the package postgresql"
else
  check "PostgreSQL: checksums, pgbench, immediate stop, recovery" postgres_works
fi

check "after a remount the repositories are sound" eval \
  'remount && git -C "$mnt/clone" fsck --full --strict && sqlite3 "$mnt/wal.db" "pragma integrity_check" | grep -qx ok'
check "the volume is sound" eval 'unmount_volume && fsck.dedupfs -n --verify-data "$volume"'
finish
