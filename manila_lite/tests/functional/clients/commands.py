# SPDX-License-Identifier: Apache-2.0
"""Arguments of every ``openstack share`` command, in an order in which all of them succeed.

``NAME = words`` keeps the id that the command shows, for ``$NAME`` in later lines. ``words ~ text`` is repeated until
the output has the text. ``words ! text`` must be refused, with the text in the output.
"""

LINES = r"""
# Services, pools and what is allowed.
share service list --binary manila-share ~ test@delta
share service set test@alpha manila-share --disable --disable-reason why
share service set test@alpha manila-share --enable
share service ensure shares test@alpha
share service list --host test@alpha --ensuring False ~ test@alpha
share pool list --detail ~ test@delta#pool1
share availability zone list
share quota set $PROJECT --shares 77 --force
share quota show $PROJECT --detail
share quota delete $PROJECT
share limits show --absolute

# Share types.
share type create first False --description d --snapshot-support True --create-share-from-snapshot-support True \
    --revert-to-snapshot-support True --mount-snapshot-support True --extra-specs vendor:a=b
share type create served True --snapshot-support True
share type create hidden False --public False
share type list --all --extra-specs
share type show first
share type set first --description e --extra-specs vendor:c=d
share type unset first vendor:a
share type access create hidden $PROJECT
share type access list hidden
share type access delete hidden $PROJECT
share type delete hidden
share qos type create gold --description d --spec peak_iops=300
share qos type list --name~ ol --sort-key name --limit 2 ~ peak_iops
share qos type set gold --description e --spec maxbps=1000
share qos type unset gold --spec peak_iops
share qos type show gold ~ maxbps
share qos type delete gold

# Shares.
ONE = share create NFS 1 --name one --share-type first --description d --property a=b \
    --scheduler-hint only_host=test@alpha#pool1 --wait
TWO = share create NFS 1 --name two --share-type first --public True
share list --all-projects --long --name~ w --limit 5
share list --name two ~ available
share show one
share set one --property c=d --description e --public True
share unset one --property c --description
share properties show one
share resize one 2 --wait
share set two --status error
share set two --status available
share export location list one
share export location list one -f json ~ "ID"
EXPORT = share export location list one
share export location show one $EXPORT
share export location set one $EXPORT --property zone=one
share export location unset one $EXPORT --property zone
share instance list --share one
INSTANCE = share instance list --share one
share instance show $INSTANCE
share instance export location list $INSTANCE
INSTANCE_EXPORT = share instance export location list $INSTANCE
share instance export location show $INSTANCE $INSTANCE_EXPORT
share instance set $INSTANCE --status available
OTHER = share instance list --share two
share instance delete $OTHER --wait

# Access.
RULE = share access create one ip 10.0.0.0/24 --access-level ro --properties a=b --wait
share access list one
share access show $RULE
share access set $RULE --property c=d --access-level rw
share access unset $RULE --property a
share access delete one $RULE --wait

# Locks.
LOCK = share lock create one share --resource_action delete --reason why
share lock list --resource_id $ONE --detailed
share lock show $LOCK
share lock set $LOCK --reason because
share lock unset $LOCK --reason
share delete one ! lock
share lock delete $LOCK

# Snapshots.
SNAPSHOT = share snapshot create one --name s --description d --property a=b --wait
share snapshot list --share one --detail --count
share snapshot show s
share snapshot set s --name t --status available --property c=d
share snapshot unset t --property c --description
share revert t --wait
share snapshot export location list t
SNAPSHOT_EXPORT = share snapshot export location list t
share snapshot export location show t $SNAPSHOT_EXPORT
READS = share snapshot access create t ip 10.0.0.9
share snapshot access list t ~ active
share snapshot access delete t $READS
share snapshot instance list --snapshot $SNAPSHOT --detailed
COPY = share snapshot instance list --snapshot $SNAPSHOT
share snapshot instance show $COPY
share snapshot instance set $COPY --status available
share snapshot instance export location list $COPY
share snapshot instance export location show $COPY $SNAPSHOT_EXPORT
share create NFS 2 --name clone --share-type first --snapshot-id $SNAPSHOT --wait
share delete clone --wait

# Share groups.
share group type create grouped first --group-specs consistent_snapshot_support=true --public True
share group type create closed first --public False
share group type list --all --group-specs consistent_snapshot_support=true ~ grouped
share group type show grouped
share group type set grouped --group-specs vendor:a=b
share group type unset grouped vendor:a
share group type access list closed
share group type access create closed $PROJECT
share group type access list closed
share group type access delete closed $PROJECT
share group type delete closed
GROUP = share group create --name pack --description d --share-group-type grouped --share-types first --wait
share group list --all-projects --name~ pac --share-group-type grouped ~ available
share group show pack
share group set pack --description e --status available
share group unset pack --description
MEMBER = share create NFS 1 --name member --share-type first --share-group pack --wait
PACKED = share group snapshot create pack --name packed --description d --wait
share group snapshot list --share-group pack --detailed ~ packed
share group snapshot show packed
share group snapshot members list packed ~ 1
share group snapshot set packed --description e --status available
share group snapshot unset packed --description
COPIES = share group create --name copies --source-share-group-snapshot packed --share-group-type grouped --wait
share group snapshot delete packed --wait
COPY_OF_MEMBER = share list --share-group copies
share delete $COPY_OF_MEMBER --share-group copies --wait
share delete member --share-group pack --wait
share group delete pack --wait
share group delete copies --force --wait
share group type delete grouped

# What the backend has and the service does not know, and the other way round.
PROVIDER:provider_location = share snapshot show t
share snapshot abandon t --wait
share snapshot adopt one $PROVIDER --name back --wait
share snapshot delete back --wait
PATH:path = share export location list one
share abandon one --wait
ONE = share adopt test@alpha#pool1 NFS $PATH --name one --share-type first --wait

# The recycle bin.
share delete one --soft
share list --soft-deleted ~ one
share restore $ONE

# To another project.
TRANSFER:id, KEY:auth_key = share transfer create one --name t
share transfer list --detailed
share transfer show $TRANSFER
share transfer accept $TRANSFER $KEY
GIVEN = share transfer create one
share transfer delete $GIVEN

# Moving a share.
share migration start one test@beta#pool1 --writable True --nondisruptive False \
    --preserve-snapshots True --preserve-metadata True
share migration show one ~ migration_driver_phase1_done
share migration cancel one
share migration show one ~ migration_cancelled
share migration start one test@beta#pool1 --writable True --nondisruptive False \
    --preserve-snapshots True --preserve-metadata True
share migration show one ~ migration_driver_phase1_done
share migration complete one
share show one ~ migration_success

# Networks.
share network create --name net --description d
share network list --detail
share network show net
share network set net --description e --name net
share network unset net --description
SUBNET = share network subnet create net --availability-zone nova --property a=b
share network subnet show net $SUBNET
share network subnet set net $SUBNET --property c=d
share network subnet unset net $SUBNET --property a
share security service create ldap --name people --dns-ip 10.0.0.2 --domain example.org
share security service list --detail
share security service show people
share security service set people --user joe
share security service unset people --user
share network set net --new-security-service people
share network unset net --security-service people
share security service delete people
share network subnet delete net $SUBNET
share network delete net --wait

# Share servers.
share create NFS 1 --name served --share-type served --share-network wired --scheduler-hint only_host=test@gamma#pool1 --wait
SERVER = share server list --share-network wired
share server show $SERVER
share server set $SERVER --status error
share server set $SERVER --status active
share server migration start $SERVER test@delta --writable True --nondisruptive False --preserve-snapshots True \
    --check-only ~ compatible
share server migration start $SERVER test@delta --writable True --nondisruptive False --preserve-snapshots True
share server migration show $SERVER ~ migration_driver_phase1_done
share server migration cancel $SERVER
share server show $SERVER ~ migration_cancelled
share server migration start $SERVER test@delta --writable True --nondisruptive False --preserve-snapshots True
share server migration show $SERVER ~ migration_driver_phase1_done
MOVED:destination_share_server_id = share server migration show $SERVER
share server migration complete $SERVER
share server migration show $SERVER ~ migration_success
share delete served --wait
share server abandon $MOVED --wait
MANAGED = share server adopt test@delta wired $MOVED --wait
share server delete $MANAGED --wait

# Replicas.
share type create safe False --snapshot-support True --extra-specs replication_type=readable
share create NFS 1 --name kept --share-type safe --scheduler-hint only_host=test@alpha#pool1 --wait
FIRST = share replica list --share kept
REPLICA = share replica create kept --scheduler-hint only_host=test@beta --property a=b --wait
share replica list --share kept --property a=b ~ in_sync
share replica show $REPLICA
PLACE = share replica export location list $REPLICA
share replica export location show $REPLICA $PLACE
share replica set $REPLICA --property c=d
share replica set $REPLICA --replica-state out_of_sync
share replica unset $REPLICA --property a
share replica resync $REPLICA
share replica show $REPLICA ~ in_sync
share delete kept ! replicas
share replica promote $REPLICA --quiesce-wait-time 1 --wait
share show kept ~ available
share replica delete $FIRST --wait
share delete kept --wait

# Backups.
share create NFS 1 --name saved --share-type first --wait
BACKUP = share backup create saved --name nightly --description d --backup-options backup_type=nightly
share backup show $BACKUP ~ available
share backup list --share saved --detail --name~ ight --sort-key name --sort-dir asc --limit 5 ~ nightly
share backup set $BACKUP --name daily --description e --status error
share backup set $BACKUP --status available
share backup unset $BACKUP --description
share delete saved ! backups
share backup restore $BACKUP --wait
share create NFS 1 --name other --share-type first --wait
share backup restore $BACKUP --target-share other --wait
share backup list --status available ~ daily
share backup delete $BACKUP --wait
share delete saved --wait
share delete other --wait

# What went wrong.
share create NFS 1 --name lost --share-type first --scheduler-hint only_host=test@nowhere#pool1
share show lost ~ error
MESSAGE = share message list
share message show $MESSAGE
share message delete $MESSAGE
share delete lost --wait
share delete one --wait
"""

#: Commands that are not served yet: by the beginning of the command, the API path that it needs.
NOT_SERVED: dict[str, str] = {}

#: Values for the lines that no command shows.

#: A member's commands, by name. Each changes what the next ones need. The client looks up every name with all_tenants.
OF_MEMBER = r"""
SHARE = share create NFS 1 --name mine --wait
share show mine
share show $SHARE
share list --name mine ~ available
share list --all-projects ~ mine
# The client also sends reset_task_state, which is for administrators, with each of these; what was asked for is done.
share set mine --description d --property a=b ! update share task state
share set $SHARE --name mine ! update share task state
share properties show mine ~ | a
share unset mine --property a
share resize mine 2 --wait
share resize $SHARE 3 --wait
share export location list mine
share export location list $SHARE
RULE = share access create mine ip 10.0.0.1 --wait
share access list mine
share access list $SHARE
share access delete mine $RULE --wait
SNAPSHOT = share snapshot create mine --name photo --wait
share snapshot show photo
share snapshot show $SNAPSHOT
share snapshot set photo --description d
share snapshot list --share mine ~ photo
share snapshot delete photo --wait
share snapshot create $SHARE --name photo --wait
LOCK = share lock create mine share --reason why
share lock delete $LOCK
NETWORK = share network create --name wires
share network show wires
share network show $NETWORK
SERVICE = share security service create ldap --name people
share security service show people
share security service show $SERVICE
share network set wires --new-security-service people
share network unset wires --security-service people
share security service delete people
share network delete wires
share show nobody ! No share with a name or ID
share delete 42 ! No share with a name or ID
"""

#: A reader's commands for what the member has left.
OF_READER = r"""
share list --all-projects ~ mine
SHARE = share show mine
share show $SHARE
share access list mine
share export location list $SHARE
share snapshot list --share mine ~ photo
share snapshot show photo
share delete mine ! HTTP 403
share resize $SHARE 4 ! HTTP 403
share snapshot create mine ! HTTP 403
share access create mine ip 10.0.0.2 ! HTTP 403
"""

KNOWN = {'PROJECT': '7e1b9b1e5d0c4b0e8f6f0f3a6f0c1d2e'}


def not_served(command: str) -> str | None:
    """Return the beginning in ``NOT_SERVED`` that a command has, or None."""
    return next((begin for begin in NOT_SERVED if f'{command} '.startswith(f'{begin} ')), None)
