#!/bin/sh
# Where -o writes. Open files keep their contents, links that other users made are not followed, the owner stays, and a
# file that cannot be replaced is written to. Cases with several users or mounts need root; without it the test says
# that it skips them.
set -u
kvplan=$1
model=model.json
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$2/testdata/configs/llama-3.1-8b.json" "$work/$model" && cd "$work" && chmod 644 $model || exit 1
failed=0
fail() {
  echo "output_places_test: $*" >&2
  failed=1
}
# refused WORDS COMMAND...: one line with these words, exit code 2, and nothing on standard output.
refused() {
  words=$1
  shift
  "$@" >out 2>err
  code=$?
  [ "$code" = 2 ] || fail "exit $code of: $*"
  grep -q "$words" err || fail "no \"$words\" from: $*: $(cat err)"
  [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "more than one line from: $*"
}
"$kvplan" $model >report || exit 1

# Open files, by each of their names.
ln -s /dev/stdout link
for name in /dev/stdout /dev/fd/1 /proc/self/fd/1 /proc/thread-self/fd/1 link; do
  echo FIRST >file
  "$kvplan" $model -o $name >>file || fail "$name"
  (echo FIRST && cat report) | cmp -s - file || fail "$name does not append"
  (echo FIRST; "$kvplan" $model -o $name; echo LAST) >file
  (echo FIRST && cat report && echo LAST) | cmp -s - file || fail "$name loses what stands around it"
  "$kvplan" $model -o $name | cmp -s - report || fail "$name is no pipe"
done
exec 7>gone
rm gone
"$kvplan" $model -o /proc/self/fd/7 || fail "a file without a name"
cmp -s report /proc/self/fd/7 || fail "a file without a name is not written to"
exec 7>&-
set -- *deleted*
[ ! -e "$1" ] || fail "it made $1"
refused "Bad file descriptor" "$kvplan" $model -o /proc/self/fd/7
refused "Bad file descriptor" "$kvplan" $model -o /dev/fd/88
refused "Bad file descriptor" "$kvplan" $model -o /dev/stdin
sleep 60 >theirs &
other=$!
until [ -e theirs ]; do sleep 0.1; done
echo FIRST >theirs
"$kvplan" $model -o /proc/$other/fd/1 || fail "a file of another process"
(echo FIRST && cat report) | cmp -s - theirs || fail "a file of another process is not appended to"
kill $other

# Links.
ln -s b a
ln -s a b
refused "symbolic links" "$kvplan" $model -o a
[ -L a ] && [ -L b ] || fail "a loop of links is replaced"
ln -s folder/none dangling
refused "cannot be written" "$kvplan" $model -o dangling
mkdir folder
"$kvplan" $model -o dangling && cmp -s folder/none report && [ -L dangling ] || fail "a link to nothing"
refused "cannot be written" "$kvplan" $model -o report/
refused "cannot be written" "$kvplan" $model -o report/below
refused "cannot be written" "$kvplan" $model -o folder

# If kvplan is killed at any moment, it leaves the old file or the new one.
"$kvplan" $model --json >new
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  echo OLD >kept
  timeout -s KILL 0.00$i "$kvplan" $model --json -o kept 2>/dev/null
  [ "$(cat kept)" = OLD ] || cmp -s kept new || fail "half a file after a kill"
done
rm -f .kvplan-part-*
# If a file becomes too large for the limit, there is an error and no file.
refused "File too large" sh -c "ulimit -f 1; '$kvplan' $model --json -o folder/large"
[ ! -e folder/large ] && set -- folder/.kvplan-part-* && [ ! -e "$1" ] || fail "a part is left"

if [ "$(id -u)" != 0 ] || ! setpriv --reuid 2001 --regid 2001 --clear-groups true 2>err; then
  echo "output_places_test: strangers' files and mounts need root: left out"
  exit $failed
fi
cp "$kvplan" kvplan && chmod 755 kvplan || exit 1
as() {
  user=$1
  shift
  setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}
mkdir shared alice
chmod 1777 shared
chown 2001:2001 alice
echo ALICE >alice/file && chown 2001:2001 alice/file && chmod 644 alice/file
as 2002 ln -s "$work/alice/file" shared/link
as 2002 ln -s "$work/alice/none" shared/dangling
as 2002 mkfifo -m 666 shared/pipe
as 2002 sh -c 'echo theirs >shared/file && chmod 666 shared/file'
for name in link dangling pipe file; do
  refused "belongs to another user\|Permission denied" as 2001 ./kvplan $model -o shared/$name
  refused "belongs to another user\|Permission denied" ./kvplan $model -o shared/$name
done
[ "$(cat alice/file shared/file)" = "ALICE
theirs" ] && [ ! -e alice/none ] || fail "a stranger's name in a shared folder is written through"
as 2001 ln -s "$work/alice/file" shared/mine
as 2001 ./kvplan $model -o shared/mine && cmp -s alice/file report || fail "a link of one's own"
ln -s "$work/alice/file" shared/roots
as 2001 ./kvplan $model --json -o shared/roots && cmp -s alice/file new || fail "a link of the folder's owner"

# The owner and the mode stay.
chmod 640 alice/file
./kvplan $model -o alice/file && [ "$(stat -c %u:%g:%a alice/file)" = 2001:2001:640 ] || fail "root takes a file"
mkdir bob && chown 2002 bob && echo x >bob/alices && chown 2001:2001 bob/alices && chmod 666 bob/alices
as 2002 ./kvplan $model -o bob/alices && [ "$(stat -c %u bob/alices)" = 2001 ] && cmp -s bob/alices report ||
  fail "a file of another user in a folder of one's own"
# An own file in another user's folder is written to; a new one is not created there.
as 2001 ./kvplan $model --json -o bob/alices && cmp -s bob/alices new || fail "a folder of another user"
as 2001 ./kvplan $model -o bob/alices && cmp -s bob/alices report || fail "a shorter report leaves the longer one's end"
refused "Permission denied" as 2001 ./kvplan $model -o bob/new
chmod 444 alice/file
refused "Permission denied" ./kvplan $model -o alice/file

# A mounted file, as in containers, also in a read-only folder.
cat >mounts <<'S'
set -u
model=model.json
echo old >inside && mkdir ro && mount -t tmpfs none ro && touch ro/file && mount -o remount,ro ro || exit 9
mount --bind inside ro/file || exit 9
./kvplan $model -o ro/file && cmp -s inside report || exit 1
touch there && mount --bind inside there || exit 9
./kvplan $model --json -o there && cmp -s inside new || exit 1
./kvplan $model -o ro/none 2>err && exit 1
grep -q "Read-only file system" err
S
unshare -m sh mounts 2>err
case $? in
  0) ;;
  1) fail "a mounted file: $(cat err)" ;;
  *) echo "output_places_test: no mounts here: left out" ;;
esac
exit $failed
