// Package trust says which plugins an operator wants: those whose hash is pinned, or whose
// file somebody signed.
package trust

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"github.com/callgate/callgate/internal/digest"
)

// Require says what a plugin must have to be loaded.
type Require string

// What may be required.
const (
	Nothing   Require = "nothing"
	Pin       Require = "pin"
	Signature Require = "signature"
	Either    Require = "either" // a pin or a signature
)

// Policy is what the operator wants. A pin and a signature that are there have to be right,
// whatever is required.
type Policy struct {
	require Require
	pins    map[string]digest.Sum // by file name, without the directory
	keys    []minisign.PublicKey
}

// ParseKey reads a minisign public key: the line of the .pub file that begins with RW.
func ParseKey(text string) (minisign.PublicKey, error) {
	var key minisign.PublicKey
	if err := key.UnmarshalText([]byte(strings.TrimSpace(text))); err != nil {
		return key, errors.New("is not a minisign public key, the line of the .pub file that begins with RW")
	}
	return key, nil
}

// New makes a policy of pins by file name, "sha256:" and 64 hex digits, and of public keys.
func New(require Require, pins map[string]string, keys []string) (*Policy, error) {
	p := &Policy{require: require, pins: map[string]digest.Sum{}}
	for name, text := range pins {
		sum, ok := digest.Parse(text)
		if !ok {
			return nil, fmt.Errorf(`pin of %s: %q is not "sha256:" and 64 hex digits, as callgate plugin inspect prints them`, name, text)
		}
		p.pins[name] = sum
	}
	for _, text := range keys {
		key, err := ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("%q %w", text, err)
		}
		p.keys = append(p.keys, key)
	}
	return p, nil
}

// Check says why a file must not be loaded, or nil. signature is the text of its .minisig
// file, or nil if there is none.
func (p *Policy) Check(name string, wasm, signature []byte) error {
	pinned, err := p.pinned(filepath.Base(name), wasm)
	if err != nil {
		return err
	}
	signed, err := p.signed(wasm, signature)
	if err != nil {
		return err
	}
	switch {
	case p.require == Pin && !pinned:
		return fmt.Errorf("it has no pin (plugins.require is pin); if you know it, add it to plugins.pins: {%s: \"sha256:%x\"}", filepath.Base(name), sha256.Sum256(wasm))
	case p.require == Signature && !signed:
		return errors.New("it has no .minisig file beside it (plugins.require is signature)")
	case p.require == Either && !pinned && !signed:
		return errors.New("it has neither a pin nor a .minisig file beside it (plugins.require is either)")
	}
	return nil
}

func (p *Policy) pinned(file string, wasm []byte) (bool, error) {
	want, ok := p.pins[file]
	if !ok {
		return false, nil
	}
	if got := sha256.Sum256(wasm); subtle.ConstantTimeCompare(got[:], want[:]) == 0 {
		return false, fmt.Errorf("its sha256 is %x, and plugins.pins has %x", got, want)
	}
	return true, nil
}

func (p *Policy) signed(wasm, signature []byte) (bool, error) {
	if signature == nil || len(p.keys) == 0 {
		return false, nil
	}
	for _, key := range p.keys {
		if minisign.Verify(key, wasm, signature) {
			return true, nil
		}
	}
	return false, errors.New("its .minisig file is not a signature of it by any of plugins.minisign_keys")
}
