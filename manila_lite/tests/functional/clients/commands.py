# SPDX-License-Identifier: Apache-2.0
"""Arguments of every ``openstack share`` command, in an order in which all of them succeed.

Each line begins with the lowest role that may run it (reader, member, admin); lower roles are refused with 403. ``name|$ID``:
the command takes a name or an id, and is tried with each. ``NAME = words`` keeps the id that the command shows, for ``$NAME``
in later lines. ``words ~ text`` is repeated until the output has the text. ``words ! text`` must be refused, with the text in
the output, and ``words ? text`` to lower roles, who do not see the resource.
"""

LINES = r"""
# Services, pools and what is allowed.
admin   share service list --binary manila-share ~ test@delta
admin   share service set test@alpha manila-share --disable --disable-reason why
admin   share service set test@alpha manila-share --enable
admin   share service ensure shares test@alpha
admin   share service list --host test@alpha --ensuring False ~ test@alpha
admin   share pool list --detail ~ test@delta#pool1
reader  share availability zone list
admin   share quota set $PROJECT --shares 77 --force
reader  share quota show $PROJECT --detail
admin   share quota delete $PROJECT
reader  share limits show --absolute

# Share types.
admin   FIRST = share type create first False --description d --snapshot-support True \
        --create-share-from-snapshot-support True --revert-to-snapshot-support True \
        --mount-snapshot-support True --extra-specs vendor:a=b
admin   SERVED = share type create served True --snapshot-support True
admin   HIDDEN = share type create hidden False --public False
reader  share type list --all --extra-specs
reader  share type show first|$FIRST
admin   share type set first|$FIRST --description e --extra-specs vendor:c=d
admin   share type unset first|$FIRST vendor:a
admin   share type access create hidden|$HIDDEN $PROJECT ? No sharetype
admin   share type access list hidden|$HIDDEN
admin   share type access delete hidden|$HIDDEN $PROJECT
admin   share type delete hidden|$HIDDEN ? No sharetype
admin   GOLD = share qos type create gold --description d --spec peak_iops=300
admin   share qos type list --name~ ol --sort-key name --limit 2 ~ peak_iops
admin   share qos type set gold|$GOLD --description e --spec maxbps=1000
admin   share qos type unset gold|$GOLD --spec peak_iops
admin   share qos type show gold|$GOLD ~ maxbps
admin   share qos type delete gold|$GOLD

# Shares.
admin   ONE = share create NFS 1 --name one --share-type first|$FIRST --description d --property a=b \
        --scheduler-hint only_host=test@alpha#pool1 --wait
member  TWO = share create NFS 1 --name two --share-type first|$FIRST --property a=b --wait
reader  share list --all-projects --long --name~ w --limit 5 ~ two
reader  share list --name two ~ available
reader  share list --share-type first|$FIRST ~ two
reader  share show one|$ONE
member  share set one|$ONE --property c=d --description e
admin   share set one|$ONE --public True
member  share unset one|$ONE --property c --description
reader  share properties show one|$ONE
member  share resize one|$ONE 2 --wait
admin   share set two|$TWO --status error
admin   share set two|$TWO --status available
reader  share export location list one|$ONE
reader  share export location list one|$ONE -f json ~ "ID"
reader  EXPORT = share export location list one|$ONE
reader  share export location show one|$ONE $EXPORT
member  share export location set one|$ONE $EXPORT --property zone=one
member  share export location unset one|$ONE $EXPORT --property zone
admin   share instance list --share one|$ONE
admin   INSTANCE = share instance list --share one|$ONE
admin   share instance show $INSTANCE
admin   share instance export location list $INSTANCE
admin   INSTANCE_EXPORT = share instance export location list $INSTANCE
admin   share instance export location show $INSTANCE $INSTANCE_EXPORT
admin   share instance set $INSTANCE --status available
admin   OTHER = share instance list --share two|$TWO
admin   share instance delete $OTHER --wait
reader  share show nobody ! No share with a name or ID
reader  share show 42 ! No share with a name or ID

# Access.
member  RULE = share access create one|$ONE ip 10.0.0.0/24 --access-level ro --properties a=b --wait
reader  share access list one|$ONE
reader  share access show $RULE
member  share access set $RULE --property c=d --access-level rw
member  share access unset $RULE --property a
member  share access delete one|$ONE $RULE --wait

# Locks.
member  LOCK = share lock create one|$ONE share --resource_action delete --reason why
reader  share lock list --resource_id $ONE --detailed
reader  share lock show $LOCK
member  share lock set $LOCK --reason because
member  share lock unset $LOCK --reason
member  share delete one|$ONE ! lock
member  share lock delete $LOCK

# Snapshots.
member  SNAPSHOT = share snapshot create one|$ONE --name s --description d --property a=b --wait
reader  share snapshot list --share one|$ONE --detail --count
reader  share snapshot show s|$SNAPSHOT
member  share snapshot set s|$SNAPSHOT --name t --property c=d
admin   share snapshot set t|$SNAPSHOT --status available
member  share snapshot unset t|$SNAPSHOT --property c --description
member  share revert t|$SNAPSHOT --wait
reader  share snapshot export location list t|$SNAPSHOT
reader  SNAPSHOT_EXPORT = share snapshot export location list t|$SNAPSHOT
reader  share snapshot export location show t|$SNAPSHOT $SNAPSHOT_EXPORT
member  READS = share snapshot access create t|$SNAPSHOT ip 10.0.0.9
reader  share snapshot access list t|$SNAPSHOT ~ active
member  share snapshot access delete t|$SNAPSHOT $READS
admin   share snapshot instance list --snapshot $SNAPSHOT --detailed
admin   COPY = share snapshot instance list --snapshot $SNAPSHOT
admin   share snapshot instance show $COPY
admin   share snapshot instance set $COPY --status available
admin   share snapshot instance export location list $COPY
admin   share snapshot instance export location show $COPY $SNAPSHOT_EXPORT
member  CLONE = share create NFS 2 --name clone --share-type first|$FIRST --snapshot-id t|$SNAPSHOT --wait
reader  share list --snapshot t|$SNAPSHOT ~ clone
member  share delete clone|$CLONE --wait

# Share groups.
admin   GROUPED = share group type create grouped first|$FIRST --group-specs consistent_snapshot_support=true --public True
admin   CLOSED = share group type create closed first|$FIRST --public False
reader  share group type list --all --group-specs consistent_snapshot_support=true ~ grouped
reader  share group type show grouped|$GROUPED
admin   share group type set grouped|$GROUPED --group-specs vendor:a=b
admin   share group type unset grouped|$GROUPED vendor:a
admin   share group type access list closed|$CLOSED ? No sharegrouptype
admin   share group type access create closed|$CLOSED $PROJECT ? No sharegrouptype
admin   share group type access list closed|$CLOSED
admin   share group type access delete closed|$CLOSED $PROJECT
admin   share group type delete closed|$CLOSED ? No sharegrouptype
member  PACK = share group create --name pack --description d --share-group-type grouped|$GROUPED \
        --share-types first|$FIRST --wait
reader  share group list --all-projects --name~ pac --share-group-type grouped|$GROUPED ~ available
reader  share group show pack|$PACK
member  share group set pack|$PACK --description e
admin   share group set pack|$PACK --status available
member  share group unset pack|$PACK --description
member  MEMBER = share create NFS 1 --name member --share-type first|$FIRST --share-group pack|$PACK --wait
member  PACKED = share group snapshot create pack|$PACK --name packed --description d --wait
reader  share group snapshot list --share-group pack|$PACK --detailed ~ packed
reader  share group snapshot show packed|$PACKED
reader  share group snapshot members list packed|$PACKED ~ 1
member  share group snapshot set packed|$PACKED --description e
admin   share group snapshot set packed|$PACKED --status available
member  share group snapshot unset packed|$PACKED --description
member  COPIES = share group create --name copies --source-share-group-snapshot packed|$PACKED \
        --share-group-type grouped|$GROUPED --wait
member  share group snapshot delete packed|$PACKED --wait
reader  COPY_OF_MEMBER = share list --share-group copies|$COPIES
member  share delete $COPY_OF_MEMBER --share-group copies|$COPIES --wait
member  share delete member|$MEMBER --share-group pack|$PACK --wait
member  share group delete pack|$PACK --wait
admin   share group delete copies|$COPIES --force --wait
admin   share group type delete grouped|$GROUPED

# What the backend has and the service does not know, and the other way round.
reader  PROVIDER:provider_location = share snapshot show t|$SNAPSHOT
admin   share snapshot abandon t|$SNAPSHOT --wait
admin   BACK = share snapshot adopt one|$ONE $PROVIDER --name back --wait
member  share snapshot delete back|$BACK --wait
reader  PATH:path = share export location list one|$ONE
admin   share abandon one|$ONE --wait
admin   ONE = share adopt test@alpha#pool1 NFS $PATH --name one --share-type first|$FIRST --wait

# The recycle bin.
member  share delete one|$ONE --soft
reader  share list --soft-deleted ~ one
member  share restore $ONE

# To another project.
member  TRANSFER:id, KEY:auth_key = share transfer create one|$ONE --name t
reader  share transfer list --detailed
reader  share transfer show t|$TRANSFER
member  share transfer accept $TRANSFER $KEY
member  GIVEN = share transfer create one|$ONE --name given
member  share transfer delete given|$GIVEN

# Moving a share.
admin   share migration start one|$ONE test@beta#pool1 --writable True --nondisruptive False \
        --preserve-snapshots True --preserve-metadata True
admin   share migration show one|$ONE ~ migration_driver_phase1_done
admin   share migration cancel one|$ONE
admin   share migration show one|$ONE ~ migration_cancelled
admin   share migration start one|$ONE test@beta#pool1 --writable True --nondisruptive False \
        --preserve-snapshots True --preserve-metadata True
admin   share migration show one|$ONE ~ migration_driver_phase1_done
admin   share migration complete one|$ONE
reader  share show one|$ONE ~ migration_success

# Networks.
member  NET = share network create --name net --description d
reader  share network list --detail
reader  share network show net|$NET
member  share network set net|$NET --description e --name net
member  share network unset net|$NET --description
member  SUBNET = share network subnet create net|$NET --availability-zone nova --property a=b
reader  share network subnet show net|$NET $SUBNET
member  share network subnet set net|$NET $SUBNET --property c=d
member  share network subnet unset net|$NET $SUBNET --property a
member  PEOPLE = share security service create ldap --name people --dns-ip 10.0.0.2 --domain example.org
reader  share security service list --detail
reader  share security service show people|$PEOPLE
member  share security service set people|$PEOPLE --user joe
member  share security service unset people|$PEOPLE --user
member  share network set net|$NET --new-security-service people|$PEOPLE
reader  share security service list --share-network net|$NET ~ people
member  share network unset net|$NET --security-service people|$PEOPLE
member  share security service delete people|$PEOPLE
member  share network subnet delete net|$NET $SUBNET
member  share network delete net|$NET --wait

# Share servers.
admin   ONBOARD = share create NFS 1 --name onboard --share-type served|$SERVED --share-network wired|$WIRED \
        --scheduler-hint only_host=test@gamma#pool1 --wait
reader  share list --share-network wired|$WIRED ~ onboard
admin   SERVER = share server list --share-network wired|$WIRED
admin   share server show $SERVER
admin   share server set $SERVER --status error
admin   share server set $SERVER --status active
admin   share server migration start $SERVER test@delta --writable True --nondisruptive False --preserve-snapshots True \
        --check-only ~ compatible
admin   share server migration start $SERVER test@delta --writable True --nondisruptive False --preserve-snapshots True
admin   share server migration show $SERVER ~ migration_driver_phase1_done
admin   share server migration cancel $SERVER
admin   share server show $SERVER ~ migration_cancelled
admin   share server migration start $SERVER test@delta --writable True --nondisruptive False --preserve-snapshots True
admin   share server migration show $SERVER ~ migration_driver_phase1_done
admin   MOVED:destination_share_server_id = share server migration show $SERVER
admin   share server migration complete $SERVER
admin   share server migration show $SERVER ~ migration_success
member  share delete onboard|$ONBOARD --wait
admin   share server abandon $MOVED --wait
admin   MANAGED = share server adopt test@delta wired|$WIRED $MOVED --wait
admin   share server delete $MANAGED --wait

# Replicas.
admin   SAFE = share type create safe False --snapshot-support True --extra-specs replication_type=readable
admin   KEPT = share create NFS 1 --name kept --share-type safe|$SAFE --scheduler-hint only_host=test@alpha#pool1 --wait
reader  ACTIVE = share replica list --share kept|$KEPT
member  REPLICA = share replica create kept|$KEPT --property a=b --wait
reader  share replica list --share kept|$KEPT --property a=b ~ in_sync
reader  share replica show $REPLICA
reader  PLACE = share replica export location list $REPLICA
reader  share replica export location show $REPLICA $PLACE
member  share replica set $REPLICA --property c=d
admin   share replica set $REPLICA --replica-state out_of_sync
member  share replica unset $REPLICA --property a
admin   share replica resync $REPLICA
reader  share replica show $REPLICA ~ in_sync
member  share delete kept|$KEPT ! replica
member  share replica promote $REPLICA --quiesce-wait-time 1 --wait
reader  share show kept|$KEPT ~ available
member  share replica delete $ACTIVE --wait
member  share delete kept|$KEPT --wait

# Backups.
member  SAVED = share create NFS 1 --name saved --share-type first|$FIRST --wait
member  BACKUP = share backup create saved|$SAVED --name nightly --description d --backup-options backup_type=nightly
reader  share backup show nightly|$BACKUP ~ available
reader  share backup list --share saved|$SAVED --detail --name~ ight --sort-key name --sort-dir asc --limit 5 ~ nightly
member  share backup set nightly|$BACKUP --name daily --description e
admin   share backup set daily|$BACKUP --status error
admin   share backup set daily|$BACKUP --status available
member  share backup unset daily|$BACKUP --description
member  share delete saved|$SAVED ! backup
member  share backup restore daily|$BACKUP --wait
member  OTHER = share create NFS 1 --name other --share-type first|$FIRST --wait
member  share backup restore daily|$BACKUP --target-share other|$OTHER --wait
reader  share backup list --status available ~ daily
member  share backup delete daily|$BACKUP --wait
member  share delete saved|$SAVED --wait
member  share delete other|$OTHER --wait

# What went wrong.
admin   LOST = share create NFS 1 --name lost --share-type first|$FIRST --scheduler-hint only_host=test@nowhere#pool1
reader  share show lost|$LOST ~ error
reader  MESSAGE = share message list
reader  share message show $MESSAGE
member  share message delete $MESSAGE
member  share delete lost|$LOST --wait
member  share delete one|$ONE --wait
member  share network delete wired|$WIRED --wait
admin   share type delete first|$FIRST served|$SERVED safe|$SAFE
"""

#: Commands that are not served yet: by the beginning of the command, the API path that it needs.
NOT_SERVED: dict[str, str] = {}

#: Commands that print a refusal and end with status 0 all the same.
NO_STATUS = ('share backup unset',)


def not_served(command: str) -> str | None:
    """Return the beginning in ``NOT_SERVED`` that a command has, or None."""
    return next((begin for begin in NOT_SERVED if f'{command} '.startswith(f'{begin} ')), None)
