package ads

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Store keeps ads in memory, and each as a file of a directory. It is safe for concurrent
// use.
type Store struct {
	dir string

	mu   sync.Mutex
	list map[string]*Ad
}

// Open reads the ads of a directory, which is made if it is not there.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, list: map[string]*Ad{}}
	names, err := filepath.Glob(filepath.Join(dir, "ad_*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		a := &Ad{}
		if err := json.Unmarshal(text, a); err != nil || a.ID != strings.TrimSuffix(filepath.Base(name), ".json") {
			return nil, fmt.Errorf("%s is no ad: move it away", name)
		}
		s.list[a.ID] = a
	}
	return s, nil
}

// Get is the ad with an id.
func (s *Store) Get(id string) (*Ad, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.list[id]; a != nil {
		return a, nil
	}
	return nil, notFound(id)
}

func notFound(id string) error {
	return &Error{Type: "not_found", Message: fmt.Sprintf("There is no ad %q.", id), Hint: "The ad's id stands in front of the user's message."}
}

// All are the ads, the newest first.
func (s *Store) All() []*Ad {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.list), func(a, b *Ad) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// Add keeps a new ad.
func (s *Store) Add(a *Ad) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) >= MaxAds {
		return &Error{Type: "too_large", Message: fmt.Sprintf("There are %d ads already.", MaxAds), Hint: "Delete one first."}
	}
	return s.keep(a)
}

// Update changes an ad, if change does not fail.
func (s *Store) Update(id string, change func(*Ad) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.list[id]
	if old == nil {
		return notFound(id)
	}
	a := *old // others may be reading the old one
	a.Drafts, a.Turns, a.Active = slices.Clone(old.Drafts), slices.Clone(old.Turns), maps.Clone(old.Active)
	if err := change(&a); err != nil {
		return err
	}
	return s.keep(&a)
}

// Delete forgets an ad.
func (s *Store) Delete(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.list[id] == nil {
		return notFound(id)
	}
	delete(s.list, id)
	return os.Remove(s.file(id))
}

func (s *Store) file(id string) string { return filepath.Join(s.dir, id+".json") }

// keep writes an ad beside its file, and then in its place: a program that is killed leaves
// the old one or the new one.
func (s *Store) keep(a *Ad) error {
	text, err := json.MarshalIndent(a, "", "\t")
	if err != nil {
		return err
	}
	temporary := s.file(a.ID) + ".new"
	if err := errors.Join(os.WriteFile(temporary, text, 0o600), os.Rename(temporary, s.file(a.ID))); err != nil {
		return err
	}
	s.list[a.ID] = a
	return nil
}
