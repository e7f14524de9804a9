package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestValidateListen checks an address that a flag put in place of the file's.
func TestValidateListen(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"127.0.0.1:0": true, "127.9.9.9:1": true, "[::1]:65535": true, "localhost:80": true,
		"[::ffff:127.0.0.1]:80": true,
		":8080":                 false, "0.0.0.0:80": false, "[::]:80": false, "example.com:80": false,
		"127.0.0.1": false, "127.0.0.1:http": false, "127.0.0.1:65536": false, "": false,
	}
	for listen, want := range tests {
		c := mustParse(t, "listen: localhost:1\n")
		c.Listen = listen
		err := c.Validate()
		if got := err == nil; got != want {
			t.Errorf("%q: got error %v, want valid %v", listen, err, want)
		}
		if err == nil {
			continue
		}
		// The place in the file would mislead.
		var problems *config.Error
		if !errors.As(err, &problems) || problems.Problems[0].Line != 0 {
			t.Errorf("%q: got %+v, want no line", listen, problems)
		}
	}
	c := mustParse(t, "keys: [{name: a, hash: \""+config.HashKey("k")+"\"}]\n")
	c.Listen = "0.0.0.0:80"
	if err := c.Validate(); err != nil {
		t.Errorf("got error %v with keys, want none", err)
	}
}

// TestValidateAdmin checks the admin listener beside that of clients.
func TestValidateAdmin(t *testing.T) {
	t.Parallel()
	hash := config.NewSecret(config.HashKey("operator"))
	tests := []struct {
		name, listen, admin string
		hash                config.Secret
		want                string // part of the error, "" for none
	}{
		{name: "another port", listen: "127.0.0.1:1", admin: "127.0.0.1:2"},
		{name: "any free ports", listen: "127.0.0.1:0", admin: "127.0.0.1:0"},
		{name: "another address", listen: "127.0.0.1:1", admin: "127.0.0.2:1"},
		{name: "off", listen: "127.0.0.1:1", admin: "off"},
		{name: "open with a key", listen: "127.0.0.1:1", admin: "0.0.0.0:2", hash: hash},
		{name: "open", listen: "127.0.0.1:1", admin: "0.0.0.0:2", want: "without key_hash"},
		{name: "a name", listen: "127.0.0.1:1", admin: "example.com:2", want: "without key_hash"},
		{name: "the same", listen: "127.0.0.1:1", admin: "127.0.0.1:1", want: "is taken by listen"},
		{name: "the same by name", listen: "localhost:1", admin: "127.0.0.1:1", want: "is taken by listen"},
		{name: "the same in IPv6", listen: "[::ffff:127.0.0.1]:1", admin: "127.0.0.1:1", want: "is taken by listen"},
		{name: "one of all", listen: "127.0.0.1:1", admin: ":1", hash: hash, want: "is taken by listen"},
		{name: "names", listen: "localhost:1", admin: "example.com:1", hash: hash},
		{name: "no port", listen: "127.0.0.1:1", admin: "127.0.0.1", want: "is not host:port"},
		{name: "nothing", listen: "127.0.0.1:1", admin: "", want: "is not host:port"},
		{name: "no hash", listen: "127.0.0.1:1", admin: "0.0.0.0:2", hash: config.NewSecret("operator"), want: "not the hash of a key"},
		{name: "a hash of nothing", listen: "127.0.0.1:1", admin: "127.0.0.1:2", hash: config.NewSecret(config.HashKey("")), want: "hash of an empty key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := mustParse(t, "admin: {listen: localhost:3}\n")
			c.Listen, c.Admin.Listen, c.Admin.KeyHash = test.listen, test.admin, test.hash
			err := c.Validate()
			if test.want == "" {
				if err != nil {
					t.Errorf("got error %v, want none", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got error %v, want one with %q", err, test.want)
			}
			// The place in the file would mislead.
			var problems *config.Error
			if !errors.As(err, &problems) || len(problems.Problems) != 1 ||
				problems.Problems[0].Path == "admin.listen" && problems.Problems[0].Line != 0 {
				t.Errorf("got %+v, want one problem without a line", problems)
			}
		})
	}
}

// TestAdminGiven checks that only an address that somebody chose counts as one.
func TestAdminGiven(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"":                                  false,
		"admin:\n":                          false,
		"admin: {}\n":                       false,
		"listen: 127.0.0.1:8081\n":          false, // the default gives way
		"admin: {listen: 127.0.0.1:8081}\n": true,
		"admin: {listen: off}\n":            true,
		"admin: {listen: \"127.0.0.1:${PORT:-8081}\"}\n":       true,
		"admin: {key_hash: \"" + config.HashKey("k") + "\"}\n": false,
	}
	for text, want := range tests {
		if got := mustParse(t, text).AdminGiven(); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	c := config.FromEnv(nil)
	if c.AdminGiven() {
		t.Error("got an address that was given without a file, want none")
	}
	c.Admin.Listen = "127.0.0.1:9090" // a flag
	if !c.AdminGiven() {
		t.Error("got an address of a flag that was not given, want it given")
	}
}
