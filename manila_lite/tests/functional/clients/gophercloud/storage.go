// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/messages"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/shares"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/snapshots"
)

func create(name string) (*shares.Share, error) {
	made, err := shares.Create(client, shares.CreateOpts{
		ShareProto: "NFS", Size: 1, Name: name, ShareType: "default", Metadata: map[string]string{"key": "a b"},
	}).Extract()
	if err != nil {
		return &shares.Share{}, err
	}
	return made, until("available", "creating", shareStatus(made.ID))
}

func listed(options shares.ListOpts) ([]shares.Share, error) {
	page, err := shares.ListDetail(client, options).AllPages()
	if err != nil {
		return nil, err
	}
	return shares.ExtractShares(page)
}

func aShare() string {
	made, err := create("go")
	if err == nil {
		err = expect(!made.CreatedAt.IsZero() && made.ShareTypeName == "default" && made.SnapshotSupport, "%+v", made)
	}
	tell("shares.Create", err)
	found, err := shares.Get(client, made.ID).Extract()
	if err == nil {
		err = expect(found.ID == made.ID && found.Metadata["key"] == "a b" && found.Size == 1, "%+v", found)
	}
	tell("shares.Get", err)
	for _, options := range []shares.ListOpts{{Name: "go"}, {Metadata: map[string]string{"key": "a b"}}, {Limit: 1}} {
		all, err := listed(options)
		if err == nil {
			err = expect(len(all) == 1 && all[0].ID == made.ID, "%+v", all)
		}
		tell("shares.ListDetail", err)
	}
	name := "renamed"
	renamed, err := shares.Update(client, made.ID, shares.UpdateOpts{DisplayName: &name}).Extract()
	if err == nil {
		err = expect(renamed.Name == name, "%+v", renamed)
	}
	tell("shares.Update", err)
	locations(made.ID)
	return made.ID
}

func locations(id string) {
	all, err := shares.ListExportLocations(client, id).Extract()
	if err == nil {
		err = expect(len(all) > 0 && all[0].Path != "", "%+v", all)
	}
	tell("shares.ListExportLocations", err)
	if err == nil {
		_, err = shares.GetExportLocation(client, id, all[0].ID).Extract()
	}
	tell("shares.GetExportLocation", err)
}

func ruleState(id string, rule string) func() (string, error) {
	return func() (string, error) {
		all, err := shares.ListAccessRights(client, id).Extract()
		for _, one := range all {
			if one.ID == rule {
				return one.State, err
			}
		}
		return "gone", err
	}
}

// access has the states of Terraform's provider, which knows those before 2.28 and those after.
func access(id string) {
	for version, onTheWay := range map[string]string{"2.7": "new", "2.37": "new queued_to_apply applying"} {
		tell("shares.GrantAccess", at(version, func() error {
			rule, err := shares.GrantAccess(client, id, shares.GrantAccessOpts{
				AccessType: "ip", AccessTo: "10.0.0.0/24", AccessLevel: "rw"}).Extract()
			if err != nil {
				return err
			}
			err = until("active", onTheWay, ruleState(id, rule.ID))
			tell("shares.ListAccessRights", err)
			err = shares.RevokeAccess(client, id, shares.RevokeAccessOpts{AccessID: rule.ID}).ExtractErr()
			if err == nil {
				err = until("gone", onTheWay+" active queued_to_deny denying", ruleState(id, rule.ID))
			}
			tell("shares.RevokeAccess", err)
			return nil
		}))
	}
}

func metadata(id string) {
	set, err := shares.SetMetadata(client, id, shares.SetMetadataOpts{Metadata: map[string]string{"b": "c"}}).Extract()
	if err == nil {
		err = expect(set["key"] == "a b" && set["b"] == "c", "%+v", set)
	}
	tell("shares.SetMetadata", err)
	one, err := shares.GetMetadatum(client, id, "b").Extract()
	if err == nil {
		err = expect(one["b"] == "c", "%+v", one)
	}
	tell("shares.GetMetadatum", err)
	tell("shares.DeleteMetadatum", shares.DeleteMetadatum(client, id, "b").ExtractErr())
	set, err = shares.UpdateMetadata(client, id, shares.UpdateMetadataOpts{Metadata: map[string]string{"d": "e"}}).Extract()
	if err == nil {
		err = expect(set["d"] == "e", "%+v", set) // it is sent as SetMetadata is, and adds
	}
	tell("shares.UpdateMetadata", err)
	set, err = shares.GetMetadata(client, id).Extract()
	if err == nil {
		err = expect(len(set) == 2 && set["key"] == "a b", "%+v", set)
	}
	tell("shares.GetMetadata", err)
}

func sizes(id string) {
	err := shares.Extend(client, id, shares.ExtendOpts{NewSize: 2}).ExtractErr()
	if err == nil {
		err = until("available", "extending", shareStatus(id))
	}
	tell("shares.Extend", err)
	err = shares.Shrink(client, id, shares.ShrinkOpts{NewSize: 1}).ExtractErr()
	if err == nil {
		err = until("available", "shrinking", shareStatus(id))
	}
	tell("shares.Shrink", err)
}

func snapshot(id string) {
	made, err := snapshots.Create(client, snapshots.CreateOpts{ShareID: id, Name: "s"}).Extract()
	if err != nil {
		tell("snapshots.Create", err)
		return
	}
	status := func() (string, error) {
		found, err := snapshots.Get(client, made.ID).Extract()
		if err != nil {
			return "", err
		}
		return found.Status, nil
	}
	tell("snapshots.Create", expect(!made.CreatedAt.IsZero() && made.ShareSize == 1, "%+v", made))
	tell("snapshots.Get", until("available", "creating", status))
	page, err := snapshots.ListDetail(client, snapshots.ListOpts{Name: "s"}).AllPages()
	if err == nil {
		var all []snapshots.Snapshot
		all, err = snapshots.ExtractSnapshots(page)
		if err == nil {
			err = expect(len(all) == 1 && all[0].ID == made.ID, "%+v", all)
		}
	}
	tell("snapshots.ListDetail", err)
	name := "t"
	_, err = snapshots.Update(client, made.ID, snapshots.UpdateOpts{DisplayName: &name}).Extract()
	tell("snapshots.Update", err)
	tell("shares.Revert", at("2.27", func() error {
		err := shares.Revert(client, id, shares.RevertOpts{SnapshotID: made.ID}).ExtractErr()
		if err != nil {
			return err
		}
		return until("available", "reverting", shareStatus(id))
	}))
	err = snapshots.Delete(client, made.ID).ExtractErr()
	if err == nil {
		err = until("gone", "available deleting", status)
	}
	tell("snapshots.Delete", err)
}

func endings(id string) {
	tell("shares.ResetStatus", at("2.7", func() error {
		return shares.ResetStatus(client, id, shares.ResetStatusOpts{Status: "available"}).ExtractErr()
	}))
	err := shares.Delete(client, id).ExtractErr()
	if err == nil {
		err = until("gone", "deleting available", shareStatus(id))
	}
	tell("shares.Delete", err)
	ways := map[string]func(string) error{
		"shares.ForceDelete": func(id string) error { return shares.ForceDelete(client, id).ExtractErr() },
		"shares.Unmanage":    func(id string) error { return shares.Unmanage(client, id).ExtractErr() },
	}
	for name, way := range ways {
		made, err := create(name)
		if err == nil {
			err = way(made.ID)
		}
		if err == nil {
			err = until("gone", "available deleting unmanage_starting", shareStatus(made.ID))
		}
		tell(name, err)
	}
}

// complaints are what Terraform shows when a share could not be made.
func complaints() {
	err := at("2.37", func() error {
		lost, err := shares.Create(client, shares.CreateOpts{ShareProto: "NFS", Size: 900, Name: "lost"}).Extract()
		if err != nil {
			return err
		}
		if err = until("error", "creating", shareStatus(lost.ID)); err != nil {
			return err
		}
		page, err := messages.List(client, messages.ListOpts{ResourceID: lost.ID, SortKey: "created_at", Limit: 1}).AllPages()
		if err != nil {
			return err
		}
		all, err := messages.ExtractMessages(page)
		if err != nil {
			return err
		}
		if len(all) != 1 || all[0].UserMessage == "" || all[0].CreatedAt.IsZero() {
			return fmt.Errorf("messages: %+v", all)
		}
		_, err = messages.Get(client, all[0].ID).Extract()
		tell("messages.Get", err)
		tell("messages.Delete", messages.Delete(client, all[0].ID).ExtractErr())
		return nil
	})
	tell("messages.List", err)
}
