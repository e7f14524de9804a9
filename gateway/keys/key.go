package keys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/internal/digest"
)

// Scope is what a key and a team have in common. Both apply, always.
type Scope struct {
	// Models are patterns of the models that may be asked for, by the names that clients use, with *
	// for any text. nil is all, an empty list none.
	Models []string `json:"models,omitzero"`
	// Tools are patterns of the tools of the gateway's servers, as server__tool. nil is all, an empty
	// list none.
	Tools []string `json:"tools,omitzero"`
	// MaxTokens is the most output tokens that a request may ask for; 0 is no limit.
	MaxTokens int `json:"max_tokens,omitzero"`
	// Labels stand in rows of usage. A key's win over its team's.
	Labels map[string]string `json:"labels,omitempty"`
	// Limits are a key's own, in the place of those that keys without have, and a team's of all its keys together.
	// nil is that nothing is said, an empty list none.
	Limits []limit.Spec `json:"limits,omitzero"`
}

// Key is a client's key.
type Key struct {
	Name string `json:"name"`
	// Team is the name of its team; "" for none.
	Team string `json:"team,omitempty"`
	Scope
	// CIDR are the networks that requests may come from, nil for all.
	CIDR []string `json:"cidr,omitzero"`
	// Arms are the arms of rollouts that it may choose, as rollout/arm with * for any text.
	Arms []string `json:"arms,omitzero"`
	// Expires is when it ends; the zero time is never.
	Expires time.Time `json:"expires,omitzero"`
	Blocked bool      `json:"blocked,omitempty"`
	Created time.Time `json:"created,omitzero"`
	// Secrets are what it is proved by: one, and while it is rotated the ones before.
	Secrets []Secret `json:"secrets"`
}

// Secret is one text that proves a key, as its SHA-256.
type Secret struct {
	// Public is the beginning of the text, which may be shown; "" where nobody knows it.
	Public string `json:"public,omitempty"`
	// Hash is "sha256:" and 64 hex digits.
	Hash string `json:"hash"`
	// Until is when it is not taken any more; the zero time is never.
	Until time.Time `json:"until,omitzero"`
}

// Team is a group of keys.
type Team struct {
	Name string `json:"name"`
	Scope
	Created time.Time `json:"created,omitzero"`
}

// What a new key is made of: "cg-", a part that may be shown, "-", and 32 random bytes as base64url.
const (
	prefix       = "cg-"
	publicLength = 12
	secretBytes  = 32
)

// NewSecret makes the text of a key. Nobody has it but the caller.
func NewSecret() (text string, s Secret) {
	var random [secretBytes]byte
	_, _ = rand.Read(random[:]) // it never fails
	public := prefix + strings.ToLower(rand.Text()[:publicLength])
	text = public + "-" + base64.RawURLEncoding.EncodeToString(random[:])
	return text, Secret{Public: public, Hash: digest.Of([]byte(text))}
}

// Hide is a text without the keys in it that the gateway has made, its own or another's: of each the part stays that may be
// shown. Clients put them into paths by mistake.
func Hide(text string) string {
	shown, secret := len(prefix)+publicLength, base64.RawURLEncoding.EncodedLen(secretBytes)
	for from := 0; ; {
		at := strings.Index(text[from:], prefix)
		if at < 0 {
			return text
		}
		at += from
		from = at + len(prefix)
		if len(text) < at+shown+1+secret || text[at+shown] != '-' || strings.ContainsFunc(text[at+shown+1:at+shown+1+secret], isNoKey) || strings.ContainsFunc(text[from:at+shown], isNoKey) {
			continue
		}
		from = at + shown + 1
		text = text[:from] + "…" + text[from+secret:]
	}
}

// isNoKey reports whether a letter is in no key.
func isNoKey(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// sumOf is what a key's text is found by.
func sumOf(text string) digest.Sum { return sha256.Sum256([]byte(text)) }

// ends is when the key or a secret of it ends, whichever comes first; the zero time is never.
func ends(k, s time.Time) time.Time {
	if k.IsZero() || !s.IsZero() && s.Before(k) {
		return s
	}
	return k
}

// over reports whether a time has come; the zero time never does.
func over(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }
