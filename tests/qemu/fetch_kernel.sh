#!/usr/bin/env bash
# Gets Debian's cloud kernel and its overlay module into build/deps/qemu, if they are not there:
# vmlinuz, overlay.ko and the file `version`. The package is unpacked, not installed, so that
# nothing of the machine's own boot changes; apt verifies it as always.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."

readonly target=build/deps/qemu
[[ -f $target/vmlinuz && -f $target/overlay.ko ]] && exit 0

mkdir -p "$target"
work=$(mktemp -d "$PWD/$target/new.XXXXXX")
trap 'rm -rf "$work"' EXIT

package=$(apt-cache depends linux-image-cloud-amd64 |
  sed -n 's/^ *Depends: \(linux-image-.*\)$/\1/p' | head -n 1)
[[ -n $package ]] || {
  echo "apt knows no linux-image-cloud-amd64" >&2
  exit 1
}
echo "fetching $package" >&2
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "$package" < /dev/null)
dpkg -x "$work"/*.deb "$work/x"
cp "$work"/x/lib/modules/*/kernel/fs/overlayfs/overlay.ko "$target/overlay.ko"
basename "$work"/x/lib/modules/* > "$target/version"
mv "$work"/x/boot/vmlinuz-* "$target/vmlinuz"
