// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/apiversions"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/shares"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/snapshots"
)

// Names of volumes are those of Kubernetes; the parameters of the StorageClass are those of contrib/manila-csi.
const (
	claim, copied, taken = "pvc-5b3f0c0e", "pvc-77d2a41c", "snapshot-0d9e6a52"
	everyone             = "0.0.0.0/0"
)

type volume struct{ id, path string }

// serves is what the driver asks when it starts.
func serves() error {
	found, err := apiversions.Get(client, "v2").Extract()
	if err != nil {
		return err
	}
	return expect(strings.HasPrefix(found.Version, "2.") && found.MinVersion == "2.0", "%+v", found)
}

// createVolume finds the share by its name, or creates it; then the rule; then it waits for both.
func createVolume(name string, gib int, snapshot string) (volume, error) {
	all, err := named(name)
	if err != nil {
		return volume{}, err
	}
	if len(all) == 0 {
		made, err := shares.Create(client, shares.CreateOpts{Name: name, Size: gib, ShareProto: "NFS", ShareType: "default",
			SnapshotID: snapshot, Metadata: map[string]string{"manila.csi.openstack.org/cluster": "one"}}).Extract()
		if err != nil {
			return volume{}, err
		}
		all = []shares.Share{*made}
	}
	if err := expect(len(all) == 1 && all[0].Size == gib, "%+v", all); err != nil {
		return volume{}, err
	}
	id := all[0].ID
	if err := until("available", "creating creating_from_snapshot", shareStatus(id)); err != nil {
		return volume{}, err
	}
	if err := allow(id); err != nil {
		return volume{}, err
	}
	places, err := shares.ListExportLocations(client, id).Extract()
	if err != nil {
		return volume{}, err
	}
	for _, place := range places {
		if !place.IsAdminOnly {
			return volume{id, place.Path}, nil
		}
	}
	return volume{}, expect(false, "%+v", places)
}

func allow(id string) error {
	rules, err := shares.ListAccessRights(client, id).Extract()
	if err != nil {
		if _, none := err.(gophercloud.ErrDefault404); !none {
			return err
		}
	}
	for _, rule := range rules {
		if rule.AccessType == "ip" && rule.AccessTo == everyone && rule.AccessLevel == "rw" {
			return until("active", "new queued_to_apply applying", ruleState(id, rule.ID))
		}
	}
	rule, err := shares.GrantAccess(client, id, shares.GrantAccessOpts{AccessType: "ip", AccessTo: everyone, AccessLevel: "rw"}).Extract()
	if err != nil {
		return err
	}
	return until("active", "new queued_to_apply applying", ruleState(id, rule.ID))
}

func deleteVolume(id string) error {
	if err := shares.Delete(client, id).ExtractErr(); err != nil && !isGone(err) {
		return err
	}
	return nil
}

func expandVolume(id string, gib int) error {
	found, err := shares.Get(client, id).Extract()
	if err != nil {
		return err
	}
	if found.Size < gib {
		if err := shares.Extend(client, id, shares.ExtendOpts{NewSize: gib}).ExtractErr(); err != nil {
			return err
		}
	}
	return until("available", "extending", shareStatus(id))
}

func createSnapshot(name string, source string) (string, error) {
	page, err := snapshots.ListDetail(client, snapshots.ListOpts{Name: name}).AllPages()
	if err != nil {
		return "", err
	}
	all, err := snapshots.ExtractSnapshots(page)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		made, err := snapshots.Create(client, snapshots.CreateOpts{ShareID: source, Name: name}).Extract()
		if err != nil {
			return "", err
		}
		all = []snapshots.Snapshot{*made}
	}
	if err := expect(len(all) == 1 && all[0].ShareID == source, "%+v", all); err != nil {
		return "", err
	}
	return all[0].ID, until("available", "creating", snapshotStatus(all[0].ID))
}

func snapshotStatus(id string) func() (string, error) {
	return func() (string, error) {
		found, err := snapshots.Get(client, id).Extract()
		if err != nil {
			return "", err
		}
		return found.Status, nil
	}
}

func deleteSnapshot(id string) error {
	if err := snapshots.Delete(client, id).ExtractErr(); err != nil && !isGone(err) {
		return err
	}
	return nil
}

// twice calls again after a success, too: the result must be the same.
func twice(call func() (volume, error)) (volume, error) {
	var first, second volume
	err := again(func() (err error) { first, err = call(); return err })
	if err == nil {
		err = again(func() (err error) { second, err = call(); return err })
	}
	if err == nil {
		err = expect(first == second && first.path != "", "%+v, then %+v", first, second)
	}
	return first, err
}

func kubernetes() {
	tell("csi: serves", again(serves))
	one, err := twice(func() (volume, error) { return createVolume(claim, 1, "") })
	tell("csi: CreateVolume", err)
	rules, err := shares.ListAccessRights(client, one.id).Extract()
	if err == nil {
		err = expect(len(rules) == 1, "%+v", rules)
	}
	tell("csi: one rule", err)
	tell("csi: ControllerExpandVolume", again(func() error { return expandVolume(one.id, 2) }))
	tell("csi: ControllerExpandVolume again", again(func() error { return expandVolume(one.id, 2) }))
	snapshot, err := twice(func() (volume, error) { id, err := createSnapshot(taken, one.id); return volume{id, "-"}, err })
	tell("csi: CreateSnapshot", err)
	other, err := twice(func() (volume, error) { return createVolume(copied, 2, snapshot.id) })
	tell("csi: CreateVolume from a snapshot", err)
	tell("csi: DeleteSnapshot", again(func() error { return deleteSnapshot(snapshot.id) }))
	tell("csi: the snapshot goes", until("gone", "deleting", snapshotStatus(snapshot.id)))
	tell("csi: DeleteSnapshot again", deleteSnapshot(snapshot.id))
	for _, made := range []volume{one, other} {
		made := made
		tell("csi: DeleteVolume", again(func() error { return deleteVolume(made.id) }))
		tell("csi: the share goes", again(func() error { return until("gone", "deleting", shareStatus(made.id)) }))
		tell("csi: DeleteVolume again", deleteVolume(made.id))
	}
	for _, name := range []string{claim, copied} {
		left, err := named(name)
		if err == nil {
			err = expect(len(left) == 0, "%+v", left)
		}
		tell("csi: nothing is left", err)
	}
}
