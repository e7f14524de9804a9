package voices_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/examples/adstudio/voices"
)

// TestCatalogue holds that each voice is whole, and its own.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	all := voices.Catalogue()
	for _, v := range all {
		if seen[v.ID] || !strings.HasPrefix(v.ID, v.Language+"_") {
			t.Errorf("%s: got an id that is another's, or of another language", v.ID)
		}
		seen[v.ID] = true
		if v.Name == "" || v.Accent == "" || v.Provider == "" || v.Description == "" || len(v.Markets) == 0 || len(v.BestFor) == 0 || v.WordsPerMinute < 100 {
			t.Errorf("%s: got %+v, want all of it", v.ID, v)
		}
		for _, m := range []struct {
			of   []string
			what string
		}{{voices.Genders, v.Gender}, {voices.Ages, v.Age}, {voices.Tones, v.Tone}, {voices.PriceClasses, v.PriceClass}} {
			if !slices.Contains(m.of, m.what) {
				t.Errorf("%s: got %q, want one of %q", v.ID, m.what, m.of)
			}
		}
	}
	if thai, _ := voices.Search(voices.Query{Language: "th"}); len(all) < 200 || len(thai) < 20 {
		t.Errorf("got %d voices, %d of them Thai, want 200 and 20", len(all), len(thai))
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		query voices.Query
		first string // of what is found, "" for nothing
		hint  string
	}{
		{"language", voices.Query{Language: "th"}, "th_malee", ""},
		{"upper case", voices.Query{Language: "TH", Gender: "Male", Market: "th"}, "th_anan", ""},
		{"words", voices.Query{Language: "en", Text: "scottish podcast"}, "en_ellis", ""},
		{"part of an accent", voices.Query{Accent: "mexic", Tone: "calm"}, "es_noa", ""},
		{"no such language", voices.Query{Language: "xx"}, "", "Languages are th, en, id"},
		{"too much", voices.Query{Language: "sv", Accent: "Skåne", Gender: "male"}, "", "2 without accent"},
		{"far too much", voices.Query{Language: "sv", Accent: "Skåne", Market: "JP"}, "", "language alone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			found, hint := voices.Search(tt.query)
			first := ""
			if len(found) > 0 {
				first = found[0].ID
			}
			if first != tt.first || !strings.Contains(hint, tt.hint) || (hint == "") != (tt.hint == "") {
				t.Errorf("got %q and %q, want %q and %q", first, hint, tt.first, tt.hint)
			}
		})
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"th_male": "th_malee", "Malee": "th_malee", "th": "th_malee", "en_malee": "th_malee"} {
		if near := voices.Near(id); len(near) == 0 || near[0] != want {
			t.Errorf("%s: got %q, want %s first", id, near, want)
		}
	}
}
