// Package ads keeps the ads that are in the making: their drafts with versions, which of them
// are active, and what was said. It is bounded, and each ad is a file, so that a program that
// is started again goes on where it was.
package ads

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds. What is beyond them is refused, with what to do.
const (
	MaxAds      = 200
	MaxVersions = 50 // of each kind, in an ad
	MaxTurns    = 100
	MaxText     = 4000 // bytes of a brief, a message, a script
)

// Kind is a part of an ad.
type Kind string

// Kinds, in the order in which they are shown.
const (
	Voice Kind = "voice"
	Music Kind = "music"
	SFX   Kind = "sfx"
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{Voice, Music, SFX} }

// Draft is a version of a part. The members behind Note are those of its kind.
type Draft struct {
	Kind    Kind      `json:"kind"`
	Version int       `json:"version"` // from 1 on
	Title   string    `json:"title"`
	Note    string    `json:"note,omitempty"`
	Made    time.Time `json:"made,omitzero"`

	VoiceID   string `json:"voice_id,omitempty"`
	VoiceName string `json:"voice_name,omitempty"`
	Script    string `json:"script,omitempty"`

	Mood     string `json:"mood,omitempty"`
	Genre    string `json:"genre,omitempty"`
	TempoBPM int    `json:"tempo_bpm,omitempty"`

	Description     string  `json:"description,omitempty"`
	AtSeconds       float64 `json:"at_seconds,omitempty"`
	DurationSeconds float64 `json:"duration_seconds,omitempty"`
}

// same says whether two drafts ask for the same.
func (d Draft) same(other Draft) bool {
	d.Version, d.Made, other.Version, other.Made = 0, time.Time{}, 0, time.Time{}
	return d == other
}

// Turn is one exchange with the assistant.
type Turn struct {
	User string    `json:"user"`
	Text string    `json:"text"` // the assistant's answer
	At   time.Time `json:"at"`
	Made []string  `json:"made,omitempty"` // drafts of the turn: music 2
	Cost Cost      `json:"cost"`
	// Failed is why there is no answer, or only a part of one.
	Failed string `json:"failed,omitempty"`
}

// Cost is what the gateway said of a turn.
type Cost struct {
	Took         time.Duration `json:"took"`
	InputTokens  int64         `json:"input_tokens"` // of all rounds
	CachedTokens int64         `json:"cached_tokens"`
	OutputTokens int64         `json:"output_tokens"`
	USD          float64       `json:"usd"`       // 0 where the model has no price
	SavedUSD     float64       `json:"saved_usd"` // by the prompt's cache
	Priced       bool          `json:"priced"`
	Model        string        `json:"model"`
	Route        string        `json:"route"`         // the rule of the gateway's configuration
	Arm          string        `json:"arm,omitempty"` // of a rollout: standard/next
	Rounds       string        `json:"rounds"`        // of the model, and calls of tools: rounds=4;calls=5;stop=answer
	Notes        string        `json:"notes,omitempty"`
}

// Ad is an ad in the making. One that a [Store] gives is not changed.
type Ad struct {
	ID           string       `json:"id"`
	Title        string       `json:"title"`
	Brief        string       `json:"brief"`
	Language     string       `json:"language"` // ISO 639-1, or "" for that of the brief
	Market       string       `json:"market"`   // ISO 3166
	Budget       string       `json:"budget"`
	Created      time.Time    `json:"created"`
	Conversation string       `json:"conversation"` // its id at the gateway
	Drafts       []Draft      `json:"drafts"`
	Active       map[Kind]int `json:"active"` // versions
	Turns        []Turn       `json:"turns"`
	TitleCache   string       `json:"title_cache,omitempty"` // what the gateway's answer cache said of the title
}

// New returns an ad with an id that nobody guesses: who knows it may draft.
func New(brief, language, market, budget string) (*Ad, error) {
	brief = strings.TrimSpace(brief)
	switch {
	case brief == "":
		return nil, &Error{Type: "invalid_arguments", Message: "The brief is empty.", Hint: "Say what the ad is for, and how it should sound."}
	case len(brief) > MaxText:
		return nil, tooLong("brief")
	}
	return &Ad{
		ID: "ad_" + strings.ToLower(rand.Text()[:20]), Title: "New ad", Brief: brief, Language: language, Market: market, Budget: budget,
		Created: time.Now().UTC().Truncate(time.Second), Active: map[Kind]int{},
	}, nil
}

// Versions are the drafts of a kind, the oldest first.
func (a *Ad) Versions(k Kind) []Draft {
	var of []Draft
	for _, d := range a.Drafts {
		if d.Kind == k {
			of = append(of, d)
		}
	}
	return of
}

// Current is the active version of a kind, or the last one; nil if there is none.
func (a *Ad) Current(k Kind) *Draft {
	all := a.Versions(k)
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		if all[i].Version == a.Active[k] {
			return &all[i]
		}
	}
	return &all[len(all)-1]
}

// Put adds a draft as the next version of its kind. One that is the same as the last version
// is that version, so that a call that is made twice makes one draft.
func (a *Ad) Put(d Draft) (Draft, error) {
	if !slices.Contains(Kinds(), d.Kind) {
		return Draft{}, &Error{Type: "invalid_arguments", Message: fmt.Sprintf("There is no kind %q.", d.Kind), Hint: "Kinds are voice, music and sfx."}
	}
	if len(d.Script) > MaxText || len(d.Title)+len(d.Note)+len(d.Mood)+len(d.Genre)+len(d.Description) > MaxText {
		return Draft{}, tooLong("draft")
	}
	all := a.Versions(d.Kind)
	if n := len(all); n > 0 && all[n-1].same(d) {
		return all[n-1], nil
	}
	if len(all) >= MaxVersions {
		return Draft{}, &Error{Type: "too_large", Message: fmt.Sprintf("The ad has %d versions of its %s already.", MaxVersions, d.Kind), Hint: "Ask the user which one to activate, and make no more."}
	}
	d.Version, d.Made = len(all)+1, time.Now().UTC().Truncate(time.Second)
	a.Drafts = append(a.Drafts, d)
	return d, nil
}

// Activate makes a version the one that the ad has.
func (a *Ad) Activate(k Kind, version int) error {
	if n := len(a.Versions(k)); version < 1 || version > n {
		return &Error{Type: "invalid_arguments", Message: fmt.Sprintf("The ad has no version %d of its %s.", version, k), Hint: fmt.Sprintf("It has %d.", n)}
	}
	if a.Active == nil {
		a.Active = map[Kind]int{}
	}
	a.Active[k] = version
	return nil
}

// Add notes a turn; of very many the oldest is forgotten here, the gateway has them all.
func (a *Ad) Add(t Turn) {
	a.Turns = append(a.Turns, t)
	if n := len(a.Turns) - MaxTurns; n > 0 {
		a.Turns = slices.Delete(a.Turns, 0, n)
	}
}

// Error is why something cannot be done, for a model and a person.
type Error struct {
	Type    string `json:"type"` // invalid_arguments, not_found, too_large, busy or unavailable
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (e *Error) Error() string { return strings.TrimSpace(e.Message + " " + e.Hint) }

func tooLong(what string) error {
	return &Error{Type: "too_large", Message: fmt.Sprintf("The %s is longer than %d bytes.", what, MaxText), Hint: "Shorten it."}
}

// AsError is the error's own form, or one that says nothing of what is inside.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Type: "unavailable", Message: "The studio could not do that now."}
}
