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
# rdma_dev siw|siw-60s|siw-600s|rxe
rdma_dev() {
	[ -n "$(ls /sys/class/infiniband 2>/dev/null)" ] && return
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

# ---- NFS over RDMA ------------------------------------------------------------------------
# nfs_server DEVICE CLIENT: exports a tmpfs; what mountd would say is written to the caches it fills
nfs_server() {
	rdma_dev $1 || return 1
	modprobe nfsd; modprobe rpcrdma
	mkdir -p /srv; mount -t tmpfs -o size=64m srv /srv
	mount -t nfsd nfsd /proc/fs/nfsd
	forever=2147483647
	echo "nfsd $2 $forever lab" >/proc/net/rpc/auth.unix.ip/channel || die auth.unix.ip
	# fsid=0, no_subtree_check, async, insecure, no_root_squash
	echo "lab /srv $forever 9234 65534 65534 0" >/proc/net/rpc/nfsd.export/channel || die nfsd.export
	printf 'lab 1 \\x00000000 %s /srv\n' $forever >/proc/net/rpc/nfsd.fh/channel || die nfsd.fh
	echo "-2 -3 +4 +4.1 +4.2" >/proc/fs/nfsd/versions
	echo 10 >/proc/fs/nfsd/nfsv4leasetime; echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo 4 >/proc/fs/nfsd/threads || die nfsd
	echo rdma 20049 >/proc/fs/nfsd/portlist || die "nfsd over RDMA"
}
# nfs_mount DEVICE SERVER [OPTIONS]
nfs_mount() {
	rdma_dev $1 || return 1
	modprobe nfsv4; modprobe rpcrdma
	mkdir -p /mnt
	mount -t nfs4 -o vers=4.1,proto=rdma,port=20049,addr=$2,clientaddr=$LAB_ip,noac${3:+,$3} $2:/ /mnt || die "no mount"
}
# nfs_io: a process that asks for attributes, one that reads through the page cache, one that writes past it; without end
nfs_io() {
	(while :; do stat /mnt/written; sleep 0.2; done >/dev/null 2>&1 &)
	(while :; do echo 1 >/proc/sys/vm/drop_caches; cat /mnt/written; sleep 0.2; done >/dev/null 2>&1 &)
	(while dd if=/dev/zero of=/mnt/written bs=64k count=4 oflag=direct; do sleep 0.2; done >/dev/null 2>&1 &)
	# while the server's grace period lasts nothing is opened
	n=0; while [ ! -s /mnt/written ]; do n=$((n + 1)); [ $n -gt 60 ] && { die "nothing was written"; return; }; sleep 1; done
	sleep 2
}

# ---- SRP over RDMA/CM ---------------------------------------------------------------------
# scsi_lun: a disk in memory for the target, in $lun
scsi_lun() {
	modprobe target_core_mod
	grep -q /sys/kernel/config /proc/mounts || mount -t configfs c /sys/kernel/config
	lun=/sys/kernel/config/target/core/rd_mcp_0/lab
	[ -d $lun ] && return
	mkdir -p $lun; echo rd_pages=4096 >$lun/control; echo 1 >$lun/enable
}
# srp_target DEVICE GUID-OF-THE-INITIATOR
srp_target() {
	rdma_dev $1 || return 1
	scsi_lun; modprobe ib_srpt || die ib_srpt
	port=0x$(sed s/://g /sys/class/infiniband/*/ports/1/gids/0)
	tpg=/sys/kernel/config/target/srpt/$port/$port
	mkdir -p $tpg || die "no SRP port $port"
	mkdir $tpg/lun/lun_0; ln -s $lun $tpg/lun/lun_0/lab
	# a port named by its GID knows initiators by their port ids
	acl=$tpg/acls/0x0000000000000000$2
	mkdir $acl $acl/lun_0; ln -s $tpg/lun/lun_0 $acl/lun_0/lab
	echo 1 >$tpg/enable || die "SRP port"
	echo 5555 >/sys/kernel/config/target/srpt/discovery_auth/rdma_cm_port || die "SRP listener"
}
# srp_login DEVICE SERVER GUID [,OPTION=VALUE [MODULE-OPTION]]
# Soft RoCE takes the default tl_retry_count, 7, for "without end", and in 6.1 registers memory again when it retries,
# which fails without a word: never_register=1.
srp_login() {
	rdma_dev $1 || return 1
	modprobe sd_mod; modprobe ib_srp $5 || die ib_srp
	at=$(echo /sys/class/infiniband_srp/*/add_target)
	echo "id_ext=$3,ioc_guid=$3,dest=$2:5555$4" >$at || die "no SRP login"
	scsi_disk
}
scsi_disk() { n=0; while [ ! -b /dev/sd${1:-a} ]; do n=$((n + 1)); [ $n -gt 60 ] && { die "no disk"; return; }; sleep 0.5; done; }
scsi_io() {
	(while dd if=/dev/urandom of=/dev/sda bs=64k count=4 oflag=direct; do sleep 0.2; done >/dev/null 2>&1 &)
	sleep 2
}
# ---- iSER: LIO's target, and iscsistart for the initiator -------------------------------------
IQN=iqn.2026-01.lab
iser_target() {
	rdma_dev $1 || return 1
	scsi_lun; modprobe iscsi_target_mod; modprobe ib_isert || die ib_isert
	tpg=/sys/kernel/config/target/iscsi/$IQN:target/tpgt_1
	mkdir -p $tpg || die "no iSCSI target"
	mkdir $tpg/lun/lun_0; ln -s $lun $tpg/lun/lun_0/lab
	for a in authentication=0 generate_node_acls=1 demo_mode_write_protect=0 cache_dynamic_acls=1; do
		echo ${a#*=} >$tpg/attrib/${a%=*}
	done
	mkdir $tpg/np/$LAB_ip:3260; echo 1 >$tpg/np/$LAB_ip:3260/iser || die "no iSER portal"
	echo 1 >$tpg/enable
}
# iser_login DEVICE SERVER
iser_login() {
	rdma_dev $1 || return 1
	modprobe sd_mod; modprobe ib_iser || die ib_iser
	mkdir -p /run/lock/iscsi /etc/iscsi; : >/etc/iscsi/iscsid.conf
	timeout 100 iscsistart -i $IQN:client -t $IQN:target -g 1 -a $2 -P iface.transport_name=iser || die "no iSER login"
	scsi_disk
}

srp_state() { grep -q $1 /sys/class/srp_remote_ports/*/state; }

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
