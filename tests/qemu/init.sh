#!/bin/busybox sh
# shellcheck shell=dash
# The first program of the guest: mounts what a machine has and makes /tree its root.
set -e
b=/bin/busybox
$b mkdir -p /root
$b insmod /overlay.ko
$b mount -o bind /tree /root
cd /root
$b mount -t proc proc proc
$b mount -t sysfs sysfs sys
$b mount -t devtmpfs devtmpfs dev
$b mkdir -p dev/pts dev/shm
$b ln -s /proc/self/fd dev/fd
$b ln -s /proc/self/fd/0 dev/stdin
$b ln -s /proc/self/fd/1 dev/stdout
$b ln -s /proc/self/fd/2 dev/stderr
$b mount -t devpts devpts dev/pts
$b mount -t tmpfs -o mode=1777 tmpfs dev/shm
$b mount -t tmpfs -o mode=1777 tmpfs tmp
$b mount -t tmpfs -o mode=755 tmpfs run
$b mount -t cgroup2 cgroup2 sys/fs/cgroup
$b ifconfig lo up
# As switch_root does it, but without emptying the initramfs, which /tree is a part of.
$b mount -o move . /
exec $b chroot . /usr/bin/bash /etc/guest.sh
