package web

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callgate/callgate/examples/adstudio/ads"
)

// watcher is told of a turn while it goes on. Both may be nil. They are not called at once.
type watcher struct {
	text  func(string)
	draft func(ads.Draft)
}

// generate makes an ad and its first drafts. The ad is there even if the turn fails.
func (a *App) generate(ctx context.Context, ad *ads.Ad, made func(*ads.Ad), w watcher) (ads.Turn, error) {
	if title, cache, err := a.assistant.Title(ctx, ad.Brief); err == nil && title != "" {
		ad.Title, ad.TitleCache = title, cache
	} else if err != nil {
		a.log.Warn("the ad has no title", "error", err)
	}
	if err := a.store.Add(ad); err != nil {
		return ads.Turn{}, err
	}
	if made != nil {
		made(ad)
	}
	return a.turn(ctx, ad.ID, ad.Brief, w)
}

// turn says something to the assistant, one turn of an ad at a time, and keeps what came of
// it. A turn that fails is kept, too, with why; the error is for what cannot be kept.
func (a *App) turn(ctx context.Context, id, message string, w watcher) (ads.Turn, error) {
	message = strings.TrimSpace(message)
	switch {
	case message == "":
		return ads.Turn{}, &ads.Error{Type: "invalid_arguments", Message: "The message is empty.", Hint: "Say what to change."}
	case len(message) > ads.MaxText:
		return ads.Turn{}, &ads.Error{Type: "too_large", Message: fmt.Sprintf("The message is longer than %d bytes.", ads.MaxText), Hint: "Shorten it."}
	}
	ad, err := a.store.Get(id)
	if err != nil {
		return ads.Turn{}, err
	}
	turn := ads.Turn{User: message, At: time.Now().UTC().Truncate(time.Second)}
	now, err := a.begin(id, func(d ads.Draft) {
		turn.Made = append(turn.Made, fmt.Sprintf("%s %d", d.Kind, d.Version))
		if w.draft != nil {
			w.draft(d)
		}
	})
	if err != nil {
		return ads.Turn{}, err
	}
	defer a.end(id)
	answer, err := a.assistant.Turn(ctx, ad, message, w.text)
	turn.Text, turn.Cost = strings.TrimSpace(answer.Text), answer.Cost
	if err != nil {
		a.log.Warn("a turn failed", "ad", id, "error", err)
		turn.Failed = ads.AsError(err).Error()
	}
	now.quiet()
	slices.SortFunc(turn.Made, func(a, b string) int { return strings.Compare(order(a), order(b)) })
	return turn, a.store.Update(id, func(ad *ads.Ad) error {
		ad.Conversation = answer.Conversation
		ad.Add(turn)
		return nil
	})
}

// order sorts what was made as the page shows it; tools that run at once end as they like.
func order(made string) string {
	kind, _, _ := strings.Cut(made, " ")
	return fmt.Sprint(slices.Index(ads.Kinds(), ads.Kind(kind)))
}

// live is a turn that is under way.
type live struct {
	mu   sync.Mutex
	tell func(ads.Draft) // nil once it has its answer
}

func (l *live) drafted(d ads.Draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tell != nil {
		l.tell(d)
	}
}

// quiet ends what the turn is told.
func (l *live) quiet() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell = nil
}

// begin notes that an ad's turn is under way.
func (a *App) begin(id string, drafted func(ads.Draft)) (*live, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[id] != nil {
		return nil, &ads.Error{Type: "busy", Message: "The studio is still at work on this ad.", Hint: "Wait for its answer."}
	}
	l := &live{tell: drafted}
	a.running[id] = l
	return l, nil
}

func (a *App) end(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.running, id)
}

// put keeps a draft, and tells the turn that is under way.
func (a *App) put(id string, d ads.Draft) (made ads.Draft, err error) {
	isNew := false
	err = a.store.Update(id, func(ad *ads.Ad) error {
		before := len(ad.Drafts)
		made, err = ad.Put(d)
		isNew = len(ad.Drafts) > before
		return err
	})
	if err != nil || !isNew {
		return made, err
	}
	a.mu.Lock()
	l := a.running[id]
	a.mu.Unlock()
	if l != nil {
		l.drafted(made)
	}
	return made, nil
}
