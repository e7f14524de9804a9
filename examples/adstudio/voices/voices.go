// Package voices is the catalogue of voices that an ad may have, and how one is found in it.
// The catalogue is a file of the program; the voices are invented.
package voices

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Voice is a voice of the catalogue.
type Voice struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	Language       string   `json:"language"` // ISO 639
	Accent         string   `json:"accent"`
	Gender         string   `json:"gender"` // one of Genders
	Age            string   `json:"age"`    // one of Ages
	Tone           string   `json:"tone"`   // one of Tones
	Provider       string   `json:"provider"`
	Markets        []string `json:"markets"`     // ISO 3166
	PriceClass     string   `json:"price_class"` // one of PriceClasses
	WordsPerMinute int      `json:"words_per_minute"`
	BestFor        []string `json:"best_for"`
	Description    string   `json:"description"`
}

//go:embed voices.json
var file []byte

// Catalogue is all voices, in an order that never changes.
var Catalogue = sync.OnceValue(func() []Voice {
	var all []Voice
	if err := json.Unmarshal(file, &all); err != nil {
		panic("voices.json: " + err.Error()) // the file is part of the program
	}
	return all
})

// What some members of a voice may be.
var (
	Genders      = []string{"female", "male"}
	Ages         = []string{"young", "adult", "mature"}
	Tones        = []string{"warm", "energetic", "calm", "friendly", "authoritative", "playful", "elegant", "conversational"}
	PriceClasses = []string{"budget", "standard", "premium"}
)

// Find is the voice with an id.
func Find(id string) (Voice, bool) {
	for _, v := range Catalogue() {
		if v.ID == id {
			return v, true
		}
	}
	return Voice{}, false
}

// Near are up to three ids that somebody may have meant: those that hold the id's name, or
// are of its language.
func Near(id string) []string {
	language, name, _ := strings.Cut(strings.ToLower(id), "_")
	var near, same []string
	for _, v := range Catalogue() {
		switch {
		case name != "" && (strings.Contains(v.ID, name) || strings.EqualFold(v.Name, id)), name == "" && strings.EqualFold(v.Name, id):
			near = append(near, v.ID)
		case v.Language == language:
			same = append(same, v.ID)
		}
	}
	near = append(near, same...)
	return near[:min(len(near), 3)]
}

// Query is what a voice must be. What is empty does not matter.
type Query struct {
	Language, Gender, Age, Tone, Accent, Provider, Market, PriceClass string
	// Text holds words of which a voice must have all, anywhere in its entry.
	Text string
}

// conditions are those of a query, by their names.
func (q Query) conditions() []condition {
	eq := strings.EqualFold
	has := func(all, part string) bool { return strings.Contains(strings.ToLower(all), strings.ToLower(part)) }
	all := []condition{
		{"language", q.Language, func(v Voice, want string) bool { return eq(v.Language, want) }},
		{"gender", q.Gender, func(v Voice, want string) bool { return eq(v.Gender, want) }},
		{"age", q.Age, func(v Voice, want string) bool { return eq(v.Age, want) }},
		{"tone", q.Tone, func(v Voice, want string) bool { return eq(v.Tone, want) }},
		{"accent", q.Accent, func(v Voice, want string) bool { return has(v.Accent, want) }},
		{"provider", q.Provider, func(v Voice, want string) bool { return eq(v.Provider, want) }},
		{"market", q.Market, func(v Voice, want string) bool {
			return slices.ContainsFunc(v.Markets, func(m string) bool { return eq(m, want) })
		}},
		{"price_class", q.PriceClass, func(v Voice, want string) bool { return eq(v.PriceClass, want) }},
		{"query", q.Text, func(v Voice, want string) bool {
			entry := strings.Join(append([]string{v.Name, v.Accent, v.Tone, v.Description}, v.BestFor...), " ")
			return !slices.ContainsFunc(strings.Fields(want), func(w string) bool { return !has(entry, w) })
		}},
	}
	return slices.DeleteFunc(all, func(c condition) bool { return c.want == "" })
}

type condition struct {
	name, want string
	holds      func(v Voice, want string) bool
}

// Search returns all voices that fit, in the catalogue's order. If none does, the suggestion
// says which condition to leave out, or which languages there are.
func Search(q Query) (found []Voice, suggestion string) {
	conditions := q.conditions()
	if found = fitting(conditions, -1); len(found) > 0 {
		return found, ""
	}
	if q.Language != "" && len(fitting(Query{Language: q.Language}.conditions(), -1)) == 0 {
		return nil, fmt.Sprintf("There is no voice in %q. Languages are %s.", q.Language, strings.Join(Languages(), ", "))
	}
	var ways []string
	for i, c := range conditions {
		if n := len(fitting(conditions, i)); n > 0 && c.name != "language" {
			ways = append(ways, fmt.Sprintf("%d without %s", n, c.name))
		}
	}
	if len(ways) == 0 {
		return nil, "Search by language alone."
	}
	return nil, "There are " + strings.Join(ways, ", ") + "."
}

// fitting are the voices for which all conditions hold but one.
func fitting(conditions []condition, without int) []Voice {
	var found []Voice
	for _, v := range Catalogue() {
		fits := true
		for i, c := range conditions {
			fits = fits && (i == without || c.holds(v, c.want))
		}
		if fits {
			found = append(found, v)
		}
	}
	return found
}

// Languages are those of the catalogue, in its order.
func Languages() []string {
	var all []string
	for _, v := range Catalogue() {
		if !slices.Contains(all, v.Language) {
			all = append(all, v.Language)
		}
	}
	return all
}
