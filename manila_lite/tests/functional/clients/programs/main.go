// SPDX-License-Identifier: Apache-2.0

// Sends the requests of manila-csi and of the Terraform provider, in their order and with their conditions, by the library
// that both of them use. Each program begins anew after an error, as Kubernetes repeats a call of a driver. A network that
// loses answers gives enough of them. Prints one line for each step: its name, and what was wrong.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud"
	"github.com/gophercloud/gophercloud/openstack/sharedfilesystems/v2/shares"
)

const patience = 200 * time.Second
const most = 12

var client *gophercloud.ServiceClient

// lossy loses the answer to each change, and to the first reading of each path, when it is sent for the first time.
type lossy struct {
	seen map[string]bool
	lost int
}

func (l *lossy) RoundTrip(request *http.Request) (*http.Response, error) {
	body := []byte{}
	if request.Body != nil {
		body, _ = io.ReadAll(request.Body)
		request.Body = io.NopCloser(strings.NewReader(string(body)))
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	key := request.Method + request.URL.Path + string(body)
	if err != nil || l.seen[key] {
		return answer, err
	}
	l.seen[key] = true
	l.lost++
	answer.Body.Close()
	return nil, errors.New("the answer was lost")
}

func tell(name string, err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	line, _ := json.Marshal(map[string]string{"step": name, "wrong": said})
	fmt.Println(string(line))
	if err != nil {
		os.Exit(1)
	}
}

func expect(holds bool, format string, values ...interface{}) error {
	if holds {
		return nil
	}
	return fmt.Errorf("not as it should be: "+format, values...)
}

// again does something until it succeeds.
func again(what func() error) error {
	var err error
	for try := 0; try < most; try++ {
		if err = what(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("after %d tries: %w", most, err)
}

func isGone(err error) bool {
	_, gone := err.(gophercloud.ErrDefault404)
	return gone
}

// until polls; a status that is none of those on the way is an error.
func until(wanted string, onTheWay string, status func() (string, error)) error {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		seen, err := status()
		if isGone(err) {
			seen, err = "gone", nil
		}
		if err != nil || seen == wanted {
			return err
		}
		if !strings.Contains(" "+onTheWay+" ", " "+seen+" ") || time.Now().After(end) {
			return fmt.Errorf("status %q on the way to %s", seen, wanted)
		}
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

func named(name string) ([]shares.Share, error) {
	page, err := shares.ListDetail(client, shares.ListOpts{Name: name}).AllPages()
	if err != nil {
		return nil, err
	}
	return shares.ExtractShares(page)
}

func main() {
	network := &lossy{seen: map[string]bool{}}
	client = &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: os.Args[2], HTTPClient: http.Client{Transport: network}},
		Endpoint:       os.Args[1] + "/v2/", Type: "sharev2", Microversion: "2.37",
	}
	kubernetes()
	tell("answers were lost", expect(network.lost > 8, "%d", network.lost))
	client.HTTPClient = http.Client{}
	terraform()
}
