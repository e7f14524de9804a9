package accounts_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/usage"
)

func TestSavedText(t *testing.T) {
	t.Parallel()
	book := accounts.NewBook(prices(t, `
prices:
  - {model: sonnet, input: 3, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6, output: 15}
  - {model: yuan, currency: CNY, input: 2, cache_read: 1}
  - {model: share, factors: {cache_read: 0.1, cache_write: 1.25}}
  - {model: free, input: 0}
`))
	for _, c := range []struct {
		name, model string
		usage       usage.Usage
		want        string
	}{
		{"share and money", "yuan", someUsage(3600, 3000, 100), "0.42;cny=0.003"},
		{"the share alone is known", "share", someUsage(3600, 3000, 100), "0.75"},
		{"a few tokens", "yuan", someUsage(4000, 1, 1), "0.00;cny=0.000001"},
		{"writing costs", "sonnet", usage.Usage{Reported: true, CacheReported: true, WriteReported: true, Input: 1000, WriteShort: 1000}, "-0.25;usd=-0.00075"},
		{"writing costs what reading saves", "share", usage.Usage{Reported: true, CacheReported: true, Input: 10_000, CacheRead: 25, WriteShort: 91}, "0.00"},
		{"all of it", "yuan", someUsage(1024, 1024, 1), "0.50;cny=0.001024"},
		{"nothing cached", "yuan", someUsage(3600, 0, 100), ""},
		{"not counted", "yuan", usage.Usage{Reported: true, Input: 3600}, ""},
		{"no usage", "yuan", usage.Usage{}, ""},
		{"unknown price", "unknown", someUsage(3600, 3000, 100), ""},
		{"free", "free", someUsage(3600, 3000, 100), ""},
	} {
		bill := book.Bill(accounts.Request{Provider: "p", Model: c.model, Usage: c.usage})
		if got := bill.SavedText(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := book.Snapshot().Total.Requests; got != 0 {
		t.Errorf("got %d requests in the book, want none of those that were only billed", got)
	}
}
