#!/bin/sh
# PID 1 of the crash kernel: /proc/vmcore through makedumpfile onto the second disk, one dump a form.
# The disk gets a tar archive, so that the host can take it apart without mounting anything.
for m in virtio_pci virtio_blk; do modprobe $m; done
level=${LAB_level:-31}
cd /tmp
one() {
	name=$1; shift
	echo "kdump: $name"
	"$@" || echo "kdump: $name failed"
}
one elf makedumpfile -E -d $level /proc/vmcore vmcore.elf
one zlib makedumpfile -c -d $level /proc/vmcore vmcore.zlib
one lzo makedumpfile -l -d $level /proc/vmcore vmcore.lzo
one snappy makedumpfile -p -d $level /proc/vmcore vmcore.snappy
one zstd makedumpfile -z -d $level /proc/vmcore vmcore.zstd
one split makedumpfile -c -d $level --split /proc/vmcore vmcore.split1 vmcore.split2
echo "kdump: flat"
makedumpfile -F -c -d $level /proc/vmcore >vmcore.flat
makedumpfile --dump-dmesg /proc/vmcore dmesg.log
ls -l
tar cf /dev/vda vmcore.* dmesg.log && sync && echo KDUMP-DONE
poweroff -f
