#!/usr/bin/env bash
# Start a real Slurm on the loopback interface: two nodes with two CPUs and one simulated GPU each.
# Needs root. FOLDER holds the state. Does not use systemd, cgroups or accounting.
#
#     slurm_up.sh FOLDER
set -euo pipefail
base=$1
marker='# gvibench test cluster'

[ "$(id -u)" = 0 ] || { echo "slurm_up.sh: must be root" >&2; exit 1; }
if [ -e /etc/slurm/slurm.conf ] && ! grep -qxF "$marker" /etc/slurm/slurm.conf; then
    echo "slurm_up.sh: this machine already has a Slurm configuration" >&2
    exit 1
fi

if ! command -v slurmctld slurmd sbatch munged >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge >/dev/null
fi

mkdir -p "$base"/{log,run,state,spool/n1,spool/n2,dev}
start() { # NAME COMMAND...: start a daemon and save its pid
    local name=$1
    shift
    setsid nohup "$@" >"$base/log/$name.out" 2>&1 </dev/null &
    echo $! >"$base/run/$name.pid"
}

# Munge authenticates the daemons to each other. /run is empty in a fresh container.
install -d -o munge -g munge -m 0755 /run/munge
install -d -o munge -g munge -m 0700 /var/log/munge /var/lib/munge /etc/munge
[ -s /etc/munge/munge.key ] || dd if=/dev/urandom of=/etc/munge/munge.key bs=128 count=1 status=none
chown munge:munge /etc/munge/munge.key
chmod 0400 /etc/munge/munge.key
works() { munge -n </dev/null >/dev/null 2>&1; }
if ! works; then
    start munged setpriv --reuid=munge --regid=munge --clear-groups /usr/sbin/munged --foreground
    for _ in $(seq 100); do works && break; sleep 0.05; done
fi

# Use the default path, because the plugin removes SLURM_CONF from the environment of its job steps. Nodes
# are declared dead after 10 s, and finished jobs stay visible to squeue.
install -d -m 0755 /etc/slurm
cat >/etc/slurm/slurm.conf <<CONF
$marker
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$base/state
SlurmdSpoolDir=$base/spool/%n
SlurmctldPidFile=$base/run/slurmctld.own
SlurmdPidFile=$base/run/slurmd.%n.own
SlurmctldLogFile=$base/log/slurmctld.log
SlurmdLogFile=$base/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
MessageTimeout=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=10
MinJobAge=3600
SchedulerParameters=batch_sched_delay=0,bf_interval=2,sched_interval=2
GresTypes=gpu
NodeName=n[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=17101,17102 CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=8000 Gres=gpu:fake:1 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP DefMemPerCPU=500
CONF
# Each GPU needs a separate device file for CUDA_VISIBLE_DEVICES; use null devices.
: >/etc/slurm/gres.conf
for node in n1 n2; do
    device=$base/dev/${node}_gpu0
    [ -e "$device" ] || mknod -m 666 "$device" c 1 3
    echo "NodeName=$node Name=gpu Type=fake File=$device AutoDetect=off" >>/etc/slurm/gres.conf
done

start slurmctld slurmctld -D -i
for node in n1 n2; do start "slurmd.$node" slurmd -D -N "$node"; done
for _ in $(seq 200); do
    [ "$(timeout 3 sinfo -h -N -o %t 2>/dev/null | grep -cx idle)" = 2 ] && exit 0
    sleep 0.1
done
echo "slurm_up.sh: the nodes are not idle after 20 s" >&2
tail -n 5 "$base"/log/*.log >&2
exit 1
