package answers

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// An answer outside of the process is a frame: a version, the length of what is known of
// it, that as JSON, and the body. The frame is sealed with AES-256-GCM under a key of its
// own, so that the random nonces of one key stay few and nobody reads or changes it.

// frameVersion is the first byte of a frame. Another one is another gateway's.
const frameVersion = 1

// Bounds of a frame.
const (
	frameHead = 1 + 4    // bytes in front of the JSON
	maxAbout  = 16 << 10 // bytes of the JSON
	sealSize  = 12 + 16  // bytes that the seal adds: nonce and tag
)

var errFrame = errors.New("not an answer of this version")

// about is what a frame tells of an answer.
type about struct {
	*Answer
	// Expires is when the answer is none any more, whoever has kept it for longer.
	Expires time.Time `json:"expires"`
}

// encode writes an answer as a frame.
func encode(a *Answer, expires time.Time) ([]byte, error) {
	about, err := json.Marshal(about{a, expires})
	if err != nil {
		return nil, err
	}
	if len(about) > maxAbout {
		return nil, fmt.Errorf("there are %d bytes to say of an answer; the most is %d", len(about), maxAbout)
	}
	out := make([]byte, 0, frameHead+len(about)+len(a.Body)+sealSize)
	out = binary.BigEndian.AppendUint32(append(out, frameVersion), uint32(len(about)))
	return append(append(out, about...), a.Body...), nil
}

// decode reads a frame. The answer keeps its bytes.
func decode(frame []byte) (a *Answer, expires time.Time, err error) {
	if len(frame) < frameHead || frame[0] != frameVersion {
		return nil, expires, errFrame
	}
	n := binary.BigEndian.Uint32(frame[1:])
	rest := frame[frameHead:]
	if n > maxAbout || int(n) > len(rest) {
		return nil, expires, errFrame
	}
	known := about{Answer: &Answer{}}
	if err := json.Unmarshal(rest[:n], &known); err != nil {
		return nil, expires, errFrame
	}
	known.Body = rest[n:]
	return known.Answer, known.Expires, nil
}

// shut closes a frame, so that only the key opens it.
func (k Key) shut(frame []byte) ([]byte, error) {
	gcm, err := k.cipher()
	if err != nil {
		return nil, err
	}
	return gcm.Seal(nil, nil, frame, k.Name[:]), nil //nolint:gosec // this kind of cipher makes its own nonces, and wants none
}

// open is the frame that was sealed.
func (k Key) open(box []byte) ([]byte, error) {
	gcm, err := k.cipher()
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, nil, box, k.Name[:])
}

func (k Key) cipher() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.seal[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
