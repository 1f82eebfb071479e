// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/securityservices"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/sharenetworks"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/sharetypes"
)

// aType is of the versions that have the names that gophercloud knows.
func aType() error {
	yes := true
	made, err := sharetypes.Create(client, sharetypes.CreateOpts{Name: "go", IsPublic: false,
		ExtraSpecs: sharetypes.ExtraSpecsOpts{DriverHandlesShareServers: true, SnapshotSupport: &yes}}).Extract()
	tell("sharetypes.Create", err)
	if err != nil {
		return nil
	}
	page, err := sharetypes.List(client, sharetypes.ListOpts{IsPublic: "none"}).AllPages()
	if err == nil {
		var all []sharetypes.ShareType
		all, err = sharetypes.ExtractShareTypes(page)
		if err == nil {
			err = expect(len(all) == 2, "%+v", all)
		}
	}
	tell("sharetypes.List", err)
	normal, err := sharetypes.GetDefault(client).Extract()
	if err == nil {
		err = expect(normal.Name == "default" && normal.IsPublic, "%+v", normal)
	}
	tell("sharetypes.GetDefault", err)
	set, err := sharetypes.SetExtraSpecs(client, made.ID, sharetypes.SetExtraSpecsOpts{
		ExtraSpecs: map[string]interface{}{"key": "value"}}).Extract()
	if err == nil {
		err = expect(set["key"] == "value", "%+v", set)
	}
	tell("sharetypes.SetExtraSpecs", err)
	set, err = sharetypes.GetExtraSpecs(client, made.ID).Extract()
	if err == nil {
		err = expect(set["driver_handles_share_servers"] == "True" && set["key"] == "value", "%+v", set)
	}
	tell("sharetypes.GetExtraSpecs", err)
	tell("sharetypes.UnsetExtraSpecs", sharetypes.UnsetExtraSpecs(client, made.ID, "key").ExtractErr())
	whose := sharetypes.AccessOpts{Project: "someone"}
	tell("sharetypes.AddAccess", sharetypes.AddAccess(client, made.ID, whose).ExtractErr())
	tell("sharetypes.ShowAccess", at("2.7", func() error {
		all, err := sharetypes.ShowAccess(client, made.ID).Extract()
		if err == nil {
			err = expect(len(all) == 1 && all[0].ProjectID == "someone", "%+v", all)
		}
		return err
	}))
	tell("sharetypes.RemoveAccess", sharetypes.RemoveAccess(client, made.ID, whose).ExtractErr())
	tell("sharetypes.Delete", sharetypes.Delete(client, made.ID).ExtractErr())
	return nil
}

func securityService() {
	made, err := securityservices.Create(client, securityservices.CreateOpts{Type: "ldap", Name: "go", DNSIP: "10.0.0.2"}).Extract()
	tell("securityservices.Create", err)
	if err != nil {
		return
	}
	tell("securityservices.Get", securityservices.Get(client, made.ID).Err)
	page, err := securityservices.List(client, securityservices.ListOpts{Name: "go"}).AllPages()
	if err == nil {
		var all []securityservices.SecurityService
		all, err = securityservices.ExtractSecurityServices(page)
		if err == nil {
			err = expect(len(all) == 1 && !all[0].CreatedAt.IsZero(), "%+v", all)
		}
	}
	tell("securityservices.List", err)
	name, domain := "renamed", "example.org"
	changed, err := securityservices.Update(client, made.ID, securityservices.UpdateOpts{Name: &name, Domain: &domain}).Extract()
	if err == nil {
		err = expect(changed.Name == name && changed.Domain == domain, "%+v", changed)
	}
	tell("securityservices.Update", err)
	tell("securityservices.Create", at("2.44", func() error {
		unit, err := securityservices.Create(client, securityservices.CreateOpts{Type: "active_directory", OU: "unit"}).Extract()
		if err == nil {
			err = expect(unit.OU == "unit", "%+v", unit)
		}
		return err
	}))
	network(made.ID)
	tell("securityservices.Delete", securityservices.Delete(client, made.ID).ExtractErr())
}

func network(service string) {
	made, err := sharenetworks.Create(client, sharenetworks.CreateOpts{
		Name: "go", Description: "d", NeutronNetID: "blue", NeutronSubnetID: "blue-v4"}).Extract()
	tell("sharenetworks.Create", err)
	if err != nil {
		return
	}
	found, err := sharenetworks.Get(client, made.ID).Extract()
	if err == nil {
		err = expect(found.CIDR == "10.10.0.0/24" && found.IPVersion == int(gophercloud.IPv4) && found.SegmentationID == 100, "%+v", found)
	}
	tell("sharenetworks.Get", err)
	page, err := sharenetworks.ListDetail(client, sharenetworks.ListOpts{Name: "go"}).AllPages()
	if err == nil {
		var all []sharenetworks.ShareNetwork
		all, err = sharenetworks.ExtractShareNetworks(page)
		if err == nil {
			err = expect(len(all) == 1 && all[0].NeutronNetID == "blue", "%+v", all)
		}
	}
	tell("sharenetworks.ListDetail", err)
	name := "renamed"
	_, err = sharenetworks.Update(client, made.ID, sharenetworks.UpdateOpts{Name: &name}).Extract()
	tell("sharenetworks.Update", err)
	_, err = sharenetworks.AddSecurityService(client, made.ID, sharenetworks.AddSecurityServiceOpts{SecurityServiceID: service}).Extract()
	tell("sharenetworks.AddSecurityService", err)
	_, err = sharenetworks.RemoveSecurityService(client, made.ID, sharenetworks.RemoveSecurityServiceOpts{SecurityServiceID: service}).Extract()
	tell("sharenetworks.RemoveSecurityService", err)
	tell("sharenetworks.Delete", sharenetworks.Delete(client, made.ID).ExtractErr())
}
