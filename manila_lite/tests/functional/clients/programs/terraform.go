// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"

	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/shares"
)

// state is what the provider keeps of a share and its rule; a plan compares it with what is there.
type state struct {
	name, description, proto, kind, zone, network, snapshot string
	size                                                    int
	public                                                  bool
	metadata                                                map[string]string
	exports                                                 []string
	level, to, ruleState                                    string
}

func refresh(id string, rule string) (state, error) {
	share, err := shares.Get(client, id).Extract()
	if err != nil {
		return state{}, err
	}
	found := state{name: share.Name, description: share.Description, proto: share.ShareProto, kind: share.ShareTypeName,
		zone: share.AvailabilityZone, network: share.ShareNetworkID, snapshot: share.SnapshotID, size: share.Size,
		public: share.IsPublic, metadata: share.Metadata}
	places, err := shares.ListExportLocations(client, id).Extract()
	if err != nil {
		return state{}, err
	}
	for _, place := range places {
		found.exports = append(found.exports, place.Path)
	}
	rules, err := shares.ListAccessRights(client, id).Extract()
	if err != nil {
		return state{}, err
	}
	for _, one := range rules {
		if one.ID == rule {
			found.level, found.to, found.ruleState = one.AccessLevel, one.AccessTo, one.State
		}
	}
	return found, nil
}

// unchanged is a second plan.
func unchanged(name string, id string, rule string, wanted func(state) bool) {
	first, err := refresh(id, rule)
	if err == nil {
		err = expect(wanted(first) && len(first.exports) > 0 && first.ruleState == "active", "%+v", first)
	}
	tell("terraform: "+name, err)
	second, err := refresh(id, rule)
	if err == nil {
		err = expect(reflect.DeepEqual(first, second), "%+v, then %+v", first, second)
	}
	tell("terraform: no changes after "+name, err)
}

func terraform() {
	// The lowest version in which the provider creates shares.
	client.Microversion = "2.7"
	made, err := shares.Create(client, shares.CreateOpts{Name: "terraform", Description: "of a module", ShareProto: "NFS",
		Size: 1, ShareType: "default", Metadata: map[string]string{"team": "web"}}).Extract()
	if err == nil {
		err = until("available", "creating", shareStatus(made.ID))
	}
	tell("terraform: create share", err)
	client.Microversion = "2.37"
	rule, err := shares.GrantAccess(client, made.ID, shares.GrantAccessOpts{AccessType: "ip", AccessTo: "10.0.0.0/24",
		AccessLevel: "rw"}).Extract()
	if err == nil {
		err = until("active", "new queued_to_apply applying", ruleState(made.ID, rule.ID))
	}
	tell("terraform: create access", err)
	unchanged("apply", made.ID, rule.ID, func(seen state) bool {
		return seen.name == "terraform" && seen.description == "of a module" && seen.size == 1 && seen.kind == "default" &&
			seen.level == "rw" && seen.to == "10.0.0.0/24" && reflect.DeepEqual(seen.metadata, map[string]string{"team": "web"})
	})
	name := "renamed"
	_, err = shares.Update(client, made.ID, shares.UpdateOpts{DisplayName: &name}).Extract()
	if err == nil {
		err = shares.Extend(client, made.ID, shares.ExtendOpts{NewSize: 2}).ExtractErr()
	}
	if err == nil {
		err = until("available", "extending", shareStatus(made.ID))
	}
	if err == nil {
		_, err = shares.UpdateMetadata(client, made.ID, shares.UpdateMetadataOpts{Metadata: map[string]string{"team": "app"}}).Extract()
	}
	tell("terraform: update share", err)
	unchanged("update", made.ID, rule.ID, func(seen state) bool {
		return seen.name == name && seen.size == 2 && seen.metadata["team"] == "app"
	})
	err = shares.RevokeAccess(client, made.ID, shares.RevokeAccessOpts{AccessID: rule.ID}).ExtractErr()
	if err == nil {
		err = until("gone", "active queued_to_deny denying", ruleState(made.ID, rule.ID))
	}
	tell("terraform: destroy access", err)
	err = shares.Delete(client, made.ID).ExtractErr()
	if err == nil {
		err = until("gone", "available deleting", shareStatus(made.ID))
	}
	tell("terraform: destroy share", err)
	tell("terraform: destroy again", deleteVolume(made.ID))
}
