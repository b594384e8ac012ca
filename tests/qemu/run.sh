#!/usr/bin/env bash
# Runs programs on a kernel of its own, with nothing but cgroup v2:
#
#   tests/qemu/run.sh OUTDIR PROGRAM-DIR SCRIPT
#
# Boots Debian's cloud kernel under qemu (software emulation, so it needs no /dev/kvm and no root)
# with an initramfs that holds PROGRAM-DIR as /usr/lib/proofhouse, the shared libraries that its
# programs need, and of this machine bash, sh, coreutils and a few tools more. There SCRIPT is run
# by bash as root, in /tmp, with /usr/lib/proofhouse in PATH. /proc, /sys, /dev, /tmp, /run and
# /sys/fs/cgroup (cgroup2) are mounted; there is no network and no disk.
#
# What SCRIPT writes comes to standard output and to OUTDIR/output.log; the kernel's messages are
# in OUTDIR/console.log. Exit status: that of SCRIPT; 124 when the guest took longer than
# QEMU_TIMEOUT seconds (default 560); 125 when it did not come to an end as it should.
set -euo pipefail

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
cache=$here/../../build/deps/qemu
readonly here cache

(($# == 3)) || {
  sed -n '4p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
mkdir -p "$1"
out=$(readlink -f "$1")
programs=$(readlink -f "$2")
script=$(readlink -f "$3")
readonly out programs script

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Tools of this machine that the guest gets at the same place. For those that are missing here
# busybox stands in.
guest_tools() {
  dpkg -L coreutils | grep -E '^(/usr)?/s?bin/'
  local name
  for name in bash dash grep sed find xargs mawk mount umount setsid unshare nsenter dmesg ps \
    pgrep jq git; do
    command -v "$name" || true
  done
}

# add_files TREE FILE…: copies each file to its place below TREE, where /bin and the like are links
# into /usr, as they are here. One cp for all: starting programs is what takes the time.
add_files() {
  local tree=$1 file
  local -A files=()
  shift
  for file in "$@"; do
    case $file in
      /bin/* | /sbin/* | /lib/* | /lib64/*) file=/usr$file ;;
    esac
    files[$file]=1
  done
  cp -L --parents -t "$tree" "${!files[@]}"
}

# The shared libraries that dynamic programs among the given files need, the loader included.
libraries_of() {
  ldd "$@" 2> /dev/null | grep -oE '(=> )?/[^ :]+ \(0x' | sed 's/^=> //; s/ (0x$//' | sort -u
}

# pack DIR: the contents of DIR as a cpio archive, owned by root.
pack() { (cd "$1" && find . -print0 | sort -z | cpio --null --quiet -o -H newc -R 0:0); }

# The part of the initramfs that does not depend on what is run, made once. The guest's root lies
# in /tree and not in the initramfs' own root, because pivot_root(2) and user namespaces refuse to
# work there (man 2 pivot_root, NOTES on rootfs).
make_base() {
  local root=$work/base tree=$work/base/tree name tools libraries
  mkdir -p "$root/bin" "$tree"/usr/{bin,sbin,lib,lib64} \
    "$tree"/{proc,sys,dev,tmp,run,root,home,etc/alternatives,etc/ssl/certs,var/tmp,etc/ld.so.conf.d}
  ln -s usr/bin usr/sbin usr/lib usr/lib64 "$tree"
  cp -L "$(command -v busybox)" "$root/bin/busybox"
  cp "$cache/overlay.ko" "$root/overlay.ko"
  install -m 755 "$here/init.sh" "$root/init"
  install -m 755 "$here/guest.sh" "$tree/etc/guest.sh"

  mapfile -t tools < <(guest_tools)
  mapfile -t libraries < <(libraries_of "${tools[@]}")
  add_files "$tree" "${tools[@]}" "${libraries[@]}"
  ln -s dash "$tree/usr/bin/sh"
  cp "$root/bin/busybox" "$tree/usr/bin/busybox"

  printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n' > "$tree/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' > "$tree/etc/group"
  printf '127.0.0.1 localhost\n' > "$tree/etc/hosts"
  printf 'hosts: files\n' > "$tree/etc/nsswitch.conf"
  touch "$tree/etc/ld.so.conf" "$tree/etc/ld.so.cache" "$tree/etc/ca-certificates.conf"
  pack "$root" > "$work/base.cpio"
  mv "$work/base.cpio" "$cache/base.cpio"
}

make_programs() {
  local root=$work/programs tree=$work/programs/tree files libraries
  mkdir -p "$tree/usr/lib/proofhouse" "$tree/etc"
  cp -RL "$programs/." "$tree/usr/lib/proofhouse/"
  cp "$script" "$tree/etc/script.sh"
  mapfile -t files < <(find "$tree/usr/lib/proofhouse" -type f -perm -u+x)
  mapfile -t libraries < <(libraries_of "${files[@]}" | grep -v "^$work" || true)
  # Symbols are most of a program's size, and the guest reads all of it into memory.
  strip --strip-debug "${files[@]}" 2> /dev/null || true
  ((${#libraries[@]} == 0)) || add_files "$tree" "${libraries[@]}"
  pack "$root" > "$work/programs.cpio"
}

[[ -f $cache/vmlinuz ]] || "$here/fetch_kernel.sh"
for file in "$here"/run.sh "$here"/init.sh "$here"/guest.sh "$cache/overlay.ko"; do
  if [[ ! -f $cache/base.cpio || $file -nt $cache/base.cpio ]]; then
    make_base
    break
  fi
done
make_programs
# The kernel reads one archive after the other (Documentation/filesystems/ramfs-rootfs-initramfs).
cat "$cache/base.cpio" "$work/programs.cpio" > "$work/initramfs"

rm -f "$out"/{console,output}.log
limit=0
timeout --kill-after=5 "${QEMU_TIMEOUT:-560}" qemu-system-x86_64 \
  -machine q35,accel=tcg -cpu max -smp 1 -m "${QEMU_MEMORY:-1536}" -nic none -display none \
  -no-reboot -kernel "$cache/vmlinuz" -initrd "$work/initramfs" \
  -append 'console=ttyS0 quiet panic=-1 cgroup_no_v1=all' \
  -serial "file:$out/console.log" -serial "file:$out/output.log" -serial "file:$work/status" \
  < /dev/null || limit=$?

[[ ! -f $out/output.log ]] || cat "$out/output.log"
status=$(tr -cd '0-9' < "$work/status" 2> /dev/null || true)
if ((limit == 124 || limit == 137)); then exit 124; fi
if [[ -z $status ]]; then
  echo "the guest ended without a status; its console:" >&2
  tail -n 30 "$out/console.log" >&2
  exit 125
fi
exit "$status"
