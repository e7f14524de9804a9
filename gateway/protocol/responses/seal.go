package responses

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/callgate/callgate/gateway/internal/subkey"
	"github.com/callgate/callgate/gateway/wire"
)

// Sealer seals what a client keeps for the gateway and must not read or change: reasoning, and
// what providers have signed in it. What was sealed is opened for the same tenant and model
// only. It is safe for concurrent use.
type Sealer struct{ secret []byte }

// NewSealer makes a sealer with a secret of any length. Without one, what it seals is lost when
// the process ends, and another process cannot open it.
func NewSealer(secret []byte) *Sealer {
	if len(secret) == 0 {
		secret = make([]byte, subkey.Size)
		_, _ = rand.Read(secret) // it never fails
	}
	return &Sealer{secret}
}

// sealed begins what was sealed, with the version of its form.
const sealed = "cg1."

var errUnsealed = errors.New("not sealed by this gateway for this tenant and model")

func (s *Sealer) aead(tenant, model string) cipher.AEAD {
	key := subkey.Of(s.secret, "sealed content", tenant, model)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right size
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the right block
	}
	return aead
}

// seal is content in a form that a client can send back.
func (s *Sealer) seal(content []byte, tenant, model string) string {
	box := s.aead(tenant, model).Seal(nil, nil, content, []byte(sealed)) //nolint:gosec // the nonce is random, and a part of the box
	return sealed + base64.RawURLEncoding.EncodeToString(box)
}

// open is the content of what was sealed.
func (s *Sealer) open(text, tenant, model string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, sealed)
	if s == nil || !ok {
		return nil, errUnsealed
	}
	box, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errUnsealed
	}
	content, err := s.aead(tenant, model).Open(nil, nil, box, []byte(sealed))
	if err != nil {
		return nil, errUnsealed
	}
	return content, nil
}

// vault seals and opens what one client keeps of one model's.
type vault struct {
	sealer *Sealer // may be nil: nothing is sealed, and nothing opened
	tenant string
	model  []byte // its name, as JSON
}

func (v vault) seal(content []byte) string {
	return v.sealer.seal(content, v.tenant, wire.Unquote(v.model))
}

func (v vault) open(text string) ([]byte, error) {
	return v.sealer.open(text, v.tenant, wire.Unquote(v.model))
}

// SealCompaction is the encrypted_content of a compaction: a summary of earlier items, which
// only requests of this tenant for this model can bring back.
func (s *Sealer) SealCompaction(summary, tenant, model string) string {
	return s.seal(appendText([]byte(`{"text":`), summary), tenant, model)
}
