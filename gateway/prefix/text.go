package prefix

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// Text writes the chain for a log: the half of each hash that an index keeps, four bytes
// in big-endian order, all of them in base64. It has 11 KB at most. Nothing of the prompt
// can be told from it without the key.
func (c Chain) Text() string {
	b := make([]byte, 0, 4*len(c))
	for _, hash := range c {
		b = binary.BigEndian.AppendUint32(b, uint32(short(hash)))
	}
	return base64.RawStdEncoding.EncodeToString(b)
}

// ParseText reads what Text has written.
func ParseText(text string) ([]uint32, error) {
	b, err := base64.RawStdEncoding.Strict().DecodeString(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("is not base64: %w", err)
	case len(b)%4 != 0:
		return nil, fmt.Errorf("has %d bytes, want a multiple of 4", len(b))
	case len(b)/4 > MaxBlocks:
		return nil, fmt.Errorf("has %d blocks, want at most %d", len(b)/4, MaxBlocks)
	}
	blocks := make([]uint32, 0, len(b)/4)
	for ; len(b) > 0; b = b[4:] {
		blocks = append(blocks, binary.BigEndian.Uint32(b))
	}
	return blocks, nil
}
