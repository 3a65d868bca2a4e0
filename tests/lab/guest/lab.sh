# Functions of the lab guests; sourced by every command the host sends. Addresses: node 1 is
# 192.168.10.1, node 2 is 192.168.10.2.

die() { echo "LAB FAILED: $*"; return 1; }

# own FLAVOUR: a module of our own build instead of the distribution's; /tmp/own says so to the host
own() {
	for dep in $(modinfo -F depends /own/$1.ko | tr , ' '); do modprobe $dep; done
	insmod /own/$1.ko && echo $1 >>/tmp/own
}

# ---- RDS over soft RoCE -------------------------------------------------------------------
# rds_up [rds_rdma flavour]
rds_up() {
	modprobe crc32_generic 2>/dev/null
	modprobe ib_uverbs; modprobe rdma_cm; modprobe rdma_rxe; modprobe rds
	if [ -n "$1" ]; then own $1; else modprobe rds_rdma; fi || die rds_rdma
	rdma link add rxe0 type rxe netdev eth0 || die rxe
	own labfault || die labfault
}
rds_tcp_up() { modprobe rds && modprobe rds_tcp && own labfault || die rds_tcp; }

# rds_echo LADDR PORT [TOS] [tcp]      rds_ping LADDR FADDR PORT [TOS] [SIZE] [MS] [tcp]
rds_echo() { (rdsapp ${4:-ib} echo $1 $2 ${3:-0} >/var/log/rds-echo$2.log 2>&1 &); sleep 0.3; }
rds_ping() {
	(rdsapp ${7:-ib} ping $1 $(($3 + 1000)) $2 $3 ${4:-0} ${5:-4096} ${6:-20} >/var/log/rds-ping$3.log 2>&1 &)
}
rds_up_log() { dmesg | grep -qE "RDS/(IB|TCP).*(Active|Passive|Accepted).*conn" ; }
fault() { echo "$*" >/sys/module/labfault/parameters/do || die "labfault $*"; }

# ---- NVMe over soft iWARP or soft RoCE ----------------------------------------------------
NQN=nqn.2026-01.lab:sub
# rdma_dev siw|siw-60s|rxe
rdma_dev() {
	modprobe crc32c_generic 2>/dev/null; modprobe crc32_generic 2>/dev/null
	modprobe rdma_cm; modprobe ib_uverbs; modprobe rdma_ucm
	case $1 in
	rxe) modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0 ;;
	*) own $1 && rdma link add siw0 type siw netdev eth0 ;;
	esac || die "no RDMA device $1"
}
# target_up DEVICE SUBSYSTEMS [PORT]
target_up() {
	rdma_dev $1 || return 1
	modprobe brd rd_nr=$2 rd_size=16384; modprobe nvmet; modprobe nvmet_rdma
	mount -t configfs c /sys/kernel/config
	cd /sys/kernel/config/nvmet
	mkdir ports/1
	echo rdma >ports/1/addr_trtype; echo ipv4 >ports/1/addr_adrfam
	echo $LAB_ip >ports/1/addr_traddr; echo ${3:-4420} >ports/1/addr_trsvcid
	i=0
	while [ $i -lt $2 ]; do
		s=$PWD/subsystems/$NQN$i
		mkdir $s $s/namespaces/1
		echo 1 >$s/attr_allow_any_host
		echo -n /dev/ram$i >$s/namespaces/1/device_path
		echo 1 >$s/namespaces/1/enable
		ln -s $s ports/1/subsystems/
		i=$((i + 1))
	done
	cd /
}
target_refuse() { rm /sys/kernel/config/nvmet/ports/1/subsystems/*; }
# The target takes TCP connections and answers nothing: what a host sees of an iWARP peer gone deaf.
target_mute() { target_refuse; sleep 1; (tcpsink $LAB_ip 4420 >/tmp/sink.log 2>&1 &); sleep 1; grep -q listening /tmp/sink.log; }

# host_up DEVICE [nvme-rdma flavour] [nvme_core options]
host_up() {
	rdma_dev $1 || return 1
	mkdir -p /etc/nvme
	echo nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555 >/etc/nvme/hostnqn
	echo 11111111-2222-3333-4444-555555555555 >/etc/nvme/hostid
	modprobe nvme_core $3; modprobe nvme_fabrics
	if [ -n "$2" ] && [ "$2" != stock ]; then own $2; else modprobe nvme_rdma; fi || die nvme_rdma
	own labfault || die labfault
}
# host_connect CONTROLLERS QUEUES [RECONNECT-DELAY] [FIRST]   (soft iWARP under emulation loses one now and then)
host_connect() {
	i=0
	while [ $i -lt $1 ]; do
		for try in 1 2 3 4; do
			timeout 30 nvme connect -t rdma -a 192.168.10.2 -s 4420 -n $NQN$i -i $2 --reconnect-delay=${3:-2} --ctrl-loss-tmo=600 && break
			sleep 2
		done
		i=$((i + 1))
	done
	n=0
	while [ "$(cat /sys/class/nvme/nvme*/state | grep -c live)" != $1 ]; do
		n=$((n + 1)); [ $n -gt 30 ] && { die "not all controllers live"; return; }
		sleep 1
	done
	sleep 3
}
host_io() { for d in /dev/nvme*n1; do dd if=/dev/urandom of=$d bs=64k count=16 oflag=direct; dd if=$d of=/dev/null bs=64k count=16 iflag=direct; done 2>/dev/null; true; }

# ---- looking ------------------------------------------------------------------------------
# in_stack N FUNCTION: at least N tasks have it in their stack
in_stack() { [ $(cat /proc/[0-9]*/stack 2>/dev/null | grep -cE "\] $2(\.|\+)") -ge $1 ]; }
d_tasks() { [ $(cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") D ") -ge $1 ]; }
logged() { dmesg | grep -qE "$1"; }
states() { [ "$(cat /sys/class/nvme/nvme*/state | grep -c $2)" -ge $1 ]; }
stacks() {
	for p in /proc/[0-9]*; do
		case $(sed -n 's/^State:.//p' $p/status 2>/dev/null) in D*) echo "== ${p#/proc/} $(cat $p/comm)"; cat $p/stack ;; esac
	done
}
