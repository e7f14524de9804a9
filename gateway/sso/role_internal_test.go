package sso

import (
	"encoding/json"
	"testing"
)

// TestRole: the claim's values decide, the highest role wins, and an address that the provider has
// not verified is nobody's.
func TestRole(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, claim, claims string
		want                Role
	}{
		{"a list", "groups", `{"groups":["a","ops"]}`, Operator},
		{"one text", "groups", `{"groups":"dev"}`, Viewer},
		{"both roles", "groups", `{"groups":["dev","ops"]}`, Operator},
		{"neither", "groups", `{"groups":["a"]}`, ""},
		{"missing", "groups", `{}`, ""},
		{"no texts", "groups", `{"groups":[1,null,{"ops":"ops"}]}`, ""},
		{"within another", "realm.roles", `{"realm":{"roles":["ops"]}}`, Operator},
		{"a dot in its name", "realm.roles", `{"realm.roles":["dev"],"realm":{"roles":["ops"]}}`, Viewer},
		{"an address", "email", `{"email":"ada@example.com","email_verified":true}`, Operator},
		{"an address of a provider that verifies all", "email", `{"email":"ada@example.com"}`, Operator},
		{"an address that is not verified", "email", `{"email":"ada@example.com","email_verified":false}`, ""},
		{"the same as a text, as some have it", "email", `{"email":"ada@example.com","email_verified":"false"}`, ""},
		{"not verified, but not asked for", "groups", `{"groups":["ops"],"email_verified":false}`, Operator},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := &Gate{o: Options{Claim: tt.claim, Viewers: []string{"dev"}, Operators: []string{"ops", "ada@example.com"}}}
			claims := map[string]any{}
			if err := json.Unmarshal([]byte(tt.claims), &claims); err != nil {
				t.Fatal(err)
			}
			if got := g.role(claims); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
