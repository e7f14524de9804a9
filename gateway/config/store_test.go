package config

import "testing"

// TestStoreBounds holds that one of several keys cannot take all of the store, unless the file
// says so.
func TestStoreBounds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name                 string
		store                Store
		keys                 int
		keyBytes, keyEntries int64
	}{
		{"no keys", Store{Kind: "memory"}, 0, 256 << 20, 100_000},
		{"one key", Store{Kind: "memory"}, 1, 256 << 20, 100_000},
		{"two", Store{Kind: "memory"}, 2, 64 << 20, 25_000},
		{"two, of a file", Store{Kind: "sqlite", MaxBytes: 8 << 20, MaxEntries: 3}, 2, 2 << 20, 1},
		{"as written", Store{Kind: "memory", KeyBytes: 200 << 20, KeyEntries: 7}, 9, 200 << 20, 7},
	} {
		if _, _, bytes, entries := row.store.Bounds(row.keys); bytes != row.keyBytes || entries != row.keyEntries {
			t.Errorf("%s: got %d bytes and %d entries for a key, want %d and %d", row.name, bytes, entries, row.keyBytes, row.keyEntries)
		}
	}
}
