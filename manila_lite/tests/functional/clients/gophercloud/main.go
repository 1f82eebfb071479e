// SPDX-License-Identifier: Apache-2.0

// Makes every call of gophercloud's package for shared file systems, against the service at the URL that is given, as
// manila-csi and the Terraform provider do: a client of type "sharev2" with a microversion. Prints one line for each
// call: its name, and what was wrong. gophercloud itself checks the status codes, and whether the answers can be read.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/apiversions"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/availabilityzones"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/errors"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/shares"
)

var client *gophercloud.ServiceClient

const patience = 60 * time.Second

func tell(name string, err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	line, _ := json.Marshal(map[string]string{"call": name, "wrong": said})
	fmt.Println(string(line))
}

// at calls with a microversion, as the clients do that raise it for some calls.
func at(version string, call func() error) error {
	before := client.Microversion
	client.Microversion = version
	defer func() { client.Microversion = before }()
	return call()
}

func expect(holds bool, format string, values ...interface{}) error {
	if holds {
		return nil
	}
	return fmt.Errorf("not as it should be: "+format, values...)
}

// until polls as Terraform does: a status that is none of those on the way is an error.
func until(wanted string, onTheWay string, status func() (string, error)) error {
	end := time.Now().Add(patience)
	for {
		seen, err := status()
		if _, gone := err.(gophercloud.ErrDefault404); gone {
			seen, err = "gone", nil
		}
		if err != nil || seen == wanted {
			return err
		}
		if !strings.Contains(" "+onTheWay+" ", " "+seen+" ") || time.Now().After(end) {
			return fmt.Errorf("status %q on the way to %s", seen, wanted)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func shareStatus(id string) func() (string, error) {
	return func() (string, error) {
		found, err := shares.Get(client, id).Extract()
		if err != nil {
			return "", err
		}
		return found.Status, nil
	}
}

func versions() {
	for _, id := range []string{"v2", "v2/"} {
		found, err := apiversions.Get(client, id).Extract()
		if err == nil {
			err = expect(found.ID == "v2.0" && found.Status == "CURRENT" && !found.Updated.IsZero(), "%+v", found)
		}
		tell("apiversions.Get", err)
	}
	page, err := apiversions.List(client).AllPages()
	if err == nil {
		var all []apiversions.APIVersion
		all, err = apiversions.ExtractAPIVersions(page)
		if err == nil {
			err = expect(len(all) == 1, "%+v", all)
		}
	}
	tell("apiversions.List", err)
}

func zones() {
	tell("availabilityzones.List", at("2.6", func() error {
		page, err := availabilityzones.List(client).AllPages()
		if err != nil {
			return err
		}
		all, err := availabilityzones.ExtractAvailabilityZones(page)
		if err == nil {
			err = expect(len(all) > 0 && !all[0].CreatedAt.IsZero(), "%+v", all)
		}
		return err
	}))
}

// refusals are read with the package's own decoder.
func refusals() {
	for name, err := range map[string]error{
		"itemNotFound": shares.Get(client, "12345").Err,
		"badRequest":   shares.Create(client, shares.CreateOpts{ShareProto: "NFS", Size: -1}).Err,
	} {
		found := errors.ErrorDetails{}
		wrong := errors.ExtractErrorInto(err, &found)
		if wrong == nil {
			wrong = expect(found[name].Code >= 400 && found[name].Message != "", "%+v", found)
		}
		tell("errors.ExtractErrorInto", wrong)
	}
}

func main() {
	client = &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: os.Args[2]}, Endpoint: os.Args[1] + "/v2/",
		Type: "sharev2", Microversion: "2.14",
	}
	versions()
	zones()
	at("2.0", aType)
	id := aShare()
	access(id)
	metadata(id)
	sizes(id)
	snapshot(id)
	endings(id)
	securityService()
	refusals()
	complaints()
}
