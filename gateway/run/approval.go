package run

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A call that needs the client's word has an id that is signed: with its tenant, tool, arguments
// and end. The client's answer to it is a tool message with {"approve":true}, or false.

// approvalMark begins such an id. With what follows it has 36 bytes: some upstreams take 40 at
// most.
const approvalMark = "apr_"

// An id has its end in seconds, a number of its own and the signature.
const (
	endBytes   = 4
	nonceBytes = 4
	macBytes   = 16
)

// sign makes the id of a call.
func (r *Runner) sign(tenant, alias string, args []byte, life time.Duration) string {
	var b [endBytes + nonceBytes + macBytes]byte
	binary.BigEndian.PutUint32(b[:], uint32(time.Now().Add(life).Unix())) // until 2106
	_, _ = rand.Read(b[endBytes : endBytes+nonceBytes])                   // it never fails
	copy(b[endBytes+nonceBytes:], r.mac(b[:endBytes+nonceBytes], tenant, alias, args))
	return approvalMark + base64.RawURLEncoding.EncodeToString(b[:])
}

func (r *Runner) mac(head []byte, tenant, alias string, args []byte) []byte {
	h := hmac.New(sha256.New, r.key[:])
	fmt.Fprintf(h, "callgate approval %x %q %q %q", head, tenant, alias, canonical(args))
	return h.Sum(nil)[:macBytes]
}

// signed says what is wrong with an id for a call, or "".
func (r *Runner) signed(id, tenant, alias string, args []byte) string {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, approvalMark))
	if err != nil || len(b) != endBytes+nonceBytes+macBytes {
		return "the id is not one of this gateway"
	}
	head := b[:endBytes+nonceBytes]
	if !hmac.Equal(b[len(head):], r.mac(head, tenant, alias, args)) {
		return "it was given for another call, or by another gateway"
	}
	if time.Now().After(time.Unix(int64(binary.BigEndian.Uint32(head)), 0)) {
		return "it came too late"
	}
	return ""
}

// word is a client's answer.
type word struct {
	Approve *bool  `json:"approve"`
	Reason  string `json:"reason"`
}

// readWord reads the content of a tool message; ok is false if it is no answer.
func readWord(content string) (w word, ok bool) {
	if json.Unmarshal([]byte(content), &w) != nil || w.Approve == nil {
		return w, false
	}
	return w, true
}
