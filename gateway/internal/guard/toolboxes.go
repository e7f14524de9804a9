package guard

import (
	"encoding/binary"
	"maps"
	"sync"
)

// toolboxes keep what the names of tools say: an app offers the same ones in every
// request. It is safe for concurrent use.
type toolboxes struct {
	mutex sync.Mutex
	known map[string]*toolbox
}

const (
	// maxToolboxes bounds how many lists of tools are kept. When there are more, all are
	// read anew.
	maxToolboxes = 128
	// maxKept is the size of a list of names that is kept, in bytes. A toolbox takes some
	// twenty times as much.
	maxKept = 4 << 10
)

// get returns the toolbox of a list of names. It is the caller's own.
func (t *toolboxes) get(l *lexicons, names []string) *toolbox {
	size := len(names)
	for _, name := range names {
		size += len(name)
	}
	if size > maxKept {
		return newToolbox(l, names)
	}
	var room [512]byte
	key := appendKey(room[:0], names)
	t.mutex.Lock()
	kept := t.known[string(key)]
	t.mutex.Unlock()
	if kept == nil {
		kept = newToolbox(l, names)
		t.keep(string(key), kept)
	}
	own := *kept
	own.shared = true
	return &own
}

// appendKey writes a list as one text. Each name stands behind its length: it may hold any
// character, and no client's list may be taken for another's.
func appendKey(key []byte, names []string) []byte {
	for _, name := range names {
		key = append(binary.AppendUvarint(key, uint64(len(name))), name...)
	}
	return key
}

func (t *toolboxes) keep(key string, b *toolbox) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.known == nil || len(t.known) >= maxToolboxes {
		t.known = map[string]*toolbox{}
	}
	t.known[key] = b
}

// own makes the words of a toolbox its own, before they are changed.
func (b *toolbox) own() {
	if !b.shared {
		return
	}
	words := *b.local
	words.words = maps.Clone(words.words)
	b.local, b.shared = &words, false
}
