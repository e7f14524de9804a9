package ads_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/examples/adstudio/ads"
)

func newAd(t *testing.T, s *ads.Store) *ads.Ad {
	t.Helper()
	a, err := ads.New("A spot for Baan Coffee", "th", "TH", "standard")
	if err == nil {
		err = s.Add(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func open(t *testing.T, dir string) *ads.Store {
	t.Helper()
	s, err := ads.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRestart holds that all of an ad is there for a program that is started again.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	a := newAd(t, s)
	if err := s.Update(a.ID, func(a *ads.Ad) error {
		a.Conversation = "conv_1"
		a.Add(ads.Turn{User: "hi", Text: "there"})
		if _, err := a.Put(ads.Draft{Kind: ads.Music, Title: "Upbeat pop"}); err != nil {
			return err
		}
		return a.Activate(ads.Music, 1)
	}); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, dir).Get(a.ID)
	if err != nil || got.Conversation != "conv_1" || len(got.Turns) != 1 || got.Current(ads.Music).Title != "Upbeat pop" || got.Active[ads.Music] != 1 {
		t.Errorf("got %+v and %v, want all that was kept", got, err)
	}
	if len(a.Drafts) != 0 {
		t.Error("an ad that was given away has changed")
	}
}

// TestVersions holds that a draft that is made twice is one, and that there are bounds.
func TestVersions(t *testing.T) {
	t.Parallel()
	a, err := ads.New("x", "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		d, err := a.Put(ads.Draft{Kind: ads.Voice, Title: "Malee"})
		if err != nil || d.Version != 1 {
			t.Errorf("try %d: got version %d and %v, want 1", i, d.Version, err)
		}
	}
	for i := 2; i <= ads.MaxVersions; i++ {
		if d, err := a.Put(ads.Draft{Kind: ads.Voice, Title: fmt.Sprint(i)}); err != nil || d.Version != i {
			t.Fatalf("got version %d and %v, want %d", d.Version, err, i)
		}
	}
	for name, err := range map[string]error{
		"too many":   put(a, ads.Draft{Kind: ads.Voice, Title: "more"}),
		"too long":   put(a, ads.Draft{Kind: ads.SFX, Description: strings.Repeat("x", ads.MaxText+1)}),
		"no kind":    put(a, ads.Draft{Kind: "film"}),
		"no version": a.Activate(ads.Voice, 51),
		"none yet":   a.Activate(ads.Music, 1),
	} {
		if e := ads.AsError(err); err == nil || e.Hint == "" {
			t.Errorf("%s: got %+v, want an error that says what to do", name, e)
		}
	}
	if a.Current(ads.Voice).Version != ads.MaxVersions {
		t.Errorf("got %+v, want the last one while none is active", a.Current(ads.Voice))
	}
}

func put(a *ads.Ad, d ads.Draft) error {
	_, err := a.Put(d)
	return err
}

// TestBounds holds that ads and turns are bounded, and that a bad file is named.
func TestBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	first := newAd(t, s)
	for range ads.MaxAds - 1 {
		newAd(t, s)
	}
	a, _ := ads.New("one more", "", "", "")
	if err := s.Add(a); err == nil || len(s.All()) != ads.MaxAds {
		t.Errorf("got %v and %d ads, want an error and %d", err, len(s.All()), ads.MaxAds)
	}
	if err := s.Update(first.ID, func(a *ads.Ad) error {
		for range ads.MaxTurns + 5 {
			a.Add(ads.Turn{})
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Get(first.ID); len(got.Turns) != ads.MaxTurns {
		t.Errorf("got %d turns, want %d", len(got.Turns), ads.MaxTurns)
	}
	if err := errors.Join(s.Delete(first.ID), s.Add(a)); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ad_x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ads.Open(dir); err == nil || !strings.Contains(err.Error(), "ad_x.json") {
		t.Errorf("got %v, want the file's name", err)
	}
}

// TestTogether holds that tools which draft at once lose nothing.
func TestTogether(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	a := newAd(t, s)
	var all sync.WaitGroup
	for i := range 10 {
		for _, k := range ads.Kinds() {
			all.Go(func() {
				if err := s.Update(a.ID, func(a *ads.Ad) error { return put(a, ads.Draft{Kind: k, Title: fmt.Sprint(i)}) }); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	got, err := s.Get(a.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range ads.Kinds() {
		if n := len(got.Versions(k)); n != 10 {
			t.Errorf("got %d versions of %s, want 10", n, k)
		}
	}
}
