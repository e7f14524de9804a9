package cli

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/store"
)

// newKeyBook makes the book of keys, with those that are in the store. run keeps it up to date.
func newKeyBook(ctx context.Context, cfg *config.Config, s store.Store, log *slog.Logger) (*keys.Book, error) {
	o := keys.Options{Log: log}
	if lasting, ok := s.(interface{ Keys() keys.Keeper }); ok {
		o.Keeper = lasting.Keys()
	}
	b := keys.NewBook(o)
	configureKeys(b, cfg)
	return b, b.Load(ctx)
}

// configureKeys puts the keys of a configuration in the place of those of the one before.
func configureKeys(b *keys.Book, cfg *config.Config) {
	var list []keys.Key
	for _, k := range cfg.Keys {
		key := keys.Key{Name: k.Name, Team: k.Team, Scope: keys.Scope{Models: k.Models, Tools: k.Tools, MaxTokens: k.MaxTokens, Labels: k.Labels, Limits: specs(k.Limits)},
			CIDR: k.CIDR, Arms: k.Arms, Expires: k.ExpiresAt(), Blocked: k.Blocked, Secrets: []keys.Secret{{Hash: k.Hash.Reveal()}}}
		for _, old := range k.Previous {
			key.Secrets = append(key.Secrets, keys.Secret{Hash: old.Hash.Reveal(), Until: old.UntilAt()})
		}
		list = append(list, key)
	}
	var teams []keys.Team
	for _, name := range slices.Sorted(maps.Keys(cfg.Teams)) {
		t := cfg.Teams[name]
		teams = append(teams, keys.Team{Name: name, Scope: keys.Scope{Models: t.Models, Tools: t.Tools, MaxTokens: t.MaxTokens, Labels: t.Labels, Limits: specs(t.Limits)}})
	}
	b.Configure(list, teams, cfg.RequireKeys)
}

// specs are limits as they are made at run time; nil stays nil.
func specs(list []config.Limit) []limit.Spec {
	if list == nil {
		return nil
	}
	out := make([]limit.Spec, len(list))
	for i := range list {
		out[i] = *list[i].Spec()
	}
	return out
}

// followKeys keeps a book up to date until stop is called, which waits for its end.
func followKeys(ctx context.Context, b *keys.Book) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // running requests still need it when ctx has ended
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
