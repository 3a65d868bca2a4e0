#!/bin/sh
# PID 1 of the crash kernel: /proc/vmcore through makedumpfile, one dump a form, onto the raw disk.
# The disk gets one tar archive after the other at whole megabytes: memory is too short for all dumps
# at once, and the host takes them apart without mounting anything.
for m in virtio_pci virtio_blk; do modprobe $m; done
mount -o remount,size=90% /tmp
level=${LAB_level:-31}
cd /tmp
at=0

keep() {
	ls -l "$@"
	tar cf - "$@" | dd of=/dev/vda bs=1M seek=$at 2>/dev/null
	at=$((at + $(du -cm "$@" | tail -n 1 | cut -f 1) + 2))
	rm -f "$@"
}

one() {
	name=$1
	shift
	echo "kdump: $name"
	makedumpfile "$@" -d $level /proc/vmcore vmcore.$name && keep vmcore.$name
}

one elf -E
one zlib -c
one lzo -l
one snappy -p
one zstd -z
echo "kdump: flat"
makedumpfile -F -c -d $level /proc/vmcore >vmcore.flat && keep vmcore.flat
echo "kdump: split"
makedumpfile -c -d $level --split /proc/vmcore vmcore.split1 vmcore.split2 && keep vmcore.split1 vmcore.split2
makedumpfile --dump-dmesg /proc/vmcore dmesg.log && keep dmesg.log
sync
echo KDUMP-DONE
poweroff -f
