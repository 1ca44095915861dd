#!/bin/busybox sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=dash
# /init of the guest: modules, the host's file system under an overlay, then start.sh in it.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
if grep -q guest.probe /proc/cmdline; then
    echo "guest: alive"
    poweroff -f
fi
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
ln -s /proc/self/fd /dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%:*}" "/dev/${n#*:}"; done

give_up() {
    echo "guest: $*"
    dmesg | tail -n 20
    poweroff -f
}

while read -r module; do
    insmod "/modules/$module" || give_up "module $module does not load"
done </modules/order

# The host does not change what the guest reads, so all of it may be cached.
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose host /host ||
    give_up "the host's file system cannot be mounted"
mount -t tmpfs -o size=75% upper /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/host,upperdir=/upper/files,workdir=/upper/work root /root ||
    give_up "no overlay over the host's file system"
for folder in proc sys dev; do mount --rbind "/$folder" "/root/$folder"; done
mount -t tmpfs -o mode=755 run /root/run
mkdir /root/run/guest /root/run/netns /root/run/lock
mount -t 9p -o trans=virtio,version=9p2000.L,rw,msize=512000 run /root/run/guest ||
    give_up "the folder of this run cannot be mounted"

chroot /root /bin/bash /run/guest/start
# Reached when start.sh could not end the machine itself.
poweroff -f
