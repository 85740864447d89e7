#!/usr/bin/env bash
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$LIVE_DIR/hdfs_cluster.sh"
"$LIVE_DIR/fetch-jars.sh"
cluster_create
hdfs_create 2
# hdfs_create overwrote core-site of the cluster's conf: mapred-site anew
cluster_conf_hdfs() { cluster_conf "$1" "$2"; sed -i "s|file:///|hdfs://$NAMENODE|" "$2/core-site.xml"; cp "$CLUSTER/conf/hdfs-site.xml" "$2/" 2>/dev/null || true; sed -i "s|$CLUSTER/system|/mapred/system|; s|$CLUSTER/staging|/user|" "$2/mapred-site.xml"; }
cluster_conf_hdfs localhost "$CLUSTER/conf"
hdfs_start_namenode; hdfs_start_datanode 1; hdfs_start_datanode 2; hdfs_wait_datanodes 2
fs_shell hadoop -mkdir /user/alice; fs_shell hadoop -chown alice /user/alice; fs_shell hadoop -mkdir /mapred /tmp; fs_shell hadoop -chmod 777 /tmp
program=$(our_program)
{ cd "$CLUSTER" && bound_to_parent "$LIVE_DIR/isolated.sh" --user hadoop "$program" serve --conf "$CLUSTER/conf"; } >"$CLUSTER/jobtracker.log" 2>&1 </dev/null &
cluster_remember jobtracker $!
wait_until 60 rpc cluster_port_open jobtracker "$RPC_PORT"
home=$CLUSTER/worker-1; mkdir -p $home/local; cluster_conf_hdfs localhost "$home/conf"
{ cd "$home" && bound_to_parent "$LIVE_DIR/isolated.sh" --user hadoop "$program" tasktracker --conf "$home/conf" -D jobtracker.worker.run-as=self; } >>"$CLUSTER/worker-1.log" 2>&1 </dev/null &
cluster_remember worker-1 $!
echo "a b a
c a b" > $CLUSTER/words.txt
fs_shell alice -put $CLUSTER/words.txt in/words.txt
printf 'tr -s " " "\\n"\n' > $CLUSTER/map.sh
printf 'uniq -c\n' > $CLUSTER/red.sh
"$LIVE_DIR/isolated.sh" --user alice "$program" job submit --conf "$CLUSTER/conf" --jobtracker 127.0.0.1:$RPC_PORT --input in --output out --mapper "sh map.sh" --reducer "sh red.sh" --file $CLUSTER/map.sh --file $CLUSTER/red.sh --counters || echo "rc $?"
fs_shell hadoop -lsr /user /mapred
fs_shell alice -cat out/part-00000
grep -c . $CLUSTER/jobtracker.log; tail -20 $CLUSTER/jobtracker.log; tail -5 $CLUSTER/worker-1.log
