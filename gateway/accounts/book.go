package accounts

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/internal/plaintext"
)

// MaxRows is how many rows a [Book] has. One more, and the row that was not used for
// longest goes into the sum of the others.
const MaxRows = 1000

// maxName bounds a name in a row: a client's model may be as long as the client likes.
const maxName = 256 // bytes

// Book keeps the totals for each tenant, provider and model. It may be used by many
// goroutines. The gateway has one, from its start to its end.
type Book struct {
	since  time.Time
	prices atomic.Pointer[Prices]

	mu    sync.Mutex // guards what follows
	rows  *simplelru.LRU[rowKey, *Totals]
	other Totals
	moved uint64
}

type rowKey struct{ provider, model, tenant string }

// NewBook makes an empty book. Without prices it counts tokens and no money.
func NewBook(prices *Prices) *Book {
	b := &Book{since: time.Now()}
	b.prices.Store(prices)
	rows, err := simplelru.NewLRU(MaxRows, func(_ rowKey, t *Totals) {
		b.other.add(t)
		b.moved++
	})
	if err != nil {
		panic(err) // the size is not positive
	}
	b.rows = rows
	return b
}

// SetPrices has what is billed from now on billed with other prices.
func (b *Book) SetPrices(prices *Prices) { b.prices.Store(prices) }

// Price is [Prices.Price] by the prices of the moment; without any nothing is priced.
func (b *Book) Price(provider, model string, u usage.Usage) (nano int64, priced bool, version string) {
	prices := b.prices.Load()
	if prices == nil {
		return 0, false, ""
	}
	return prices.Price(provider, model, u)
}

// Record adds a request whose answer has ended, and returns its account. It is to be
// called once for a request, with the target that answered. It takes about a microsecond
// and waits for nothing but other calls of its own.
func (b *Book) Record(r Request) Account {
	a := b.Bill(r)
	b.Enter(r, &a)
	return a
}

// Enter is Record for a request whose account [Book.Bill] has made already, maybe before
// anybody knew what to expect of the target's cache: that is taken from r.
func (b *Book) Enter(r Request, a *Account) {
	a.expect(r.Expected)
	key := rowKey{plaintext.Head(r.Provider, maxName), plaintext.Head(r.Model, maxName), plaintext.Head(r.Tenant, maxName)}

	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.rows.Get(key)
	if !ok {
		t = &Totals{}
		b.rows.Add(rowKey{strings.Clone(key.provider), strings.Clone(key.model), strings.Clone(key.tenant)}, t)
	}
	t.count(a)
}

// Snapshot is the state of a Book, for the operator's GET /admin/prefix.
type Snapshot struct {
	// Since is when the book was opened. Nothing of it outlives the process.
	Since time.Time `json:"since"`
	// PricesDate is the day on which the prices were looked up, "" if it is not known.
	PricesDate string `json:"prices_date"`
	// Total sums up all requests.
	Total Totals `json:"total"`
	// Rows are the requests by target and tenant, in the order of their names.
	Rows []Row `json:"rows"`
	// Other sums up the rows that made room for newer ones, and OtherRows is how often one
	// did.
	Other     Totals `json:"other"`
	OtherRows uint64 `json:"other_rows"`
}

// Row is the requests of one tenant that one model of a provider answered.
type Row struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Tenant   string `json:"tenant"`
	Totals
}

// Snapshot returns the totals as they are now. It is the caller's own.
func (b *Book) Snapshot() Snapshot {
	b.mu.Lock()
	rows := make([]Row, 0, b.rows.Len())
	sum := Totals{}
	sum.add(&b.other)
	for _, key := range b.rows.Keys() {
		t, _ := b.rows.Peek(key)
		sum.add(t)
		rows = append(rows, Row{key.provider, key.model, key.tenant, t.shown()})
	}
	s := Snapshot{Since: b.since, Total: sum.shown(), Rows: rows, Other: b.other.shown(), OtherRows: b.moved}
	if prices := b.prices.Load(); prices != nil {
		s.PricesDate = prices.Date
	}
	b.mu.Unlock()

	slices.SortFunc(rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.Model, y.Model), cmp.Compare(x.Tenant, y.Tenant))
	})
	return s
}
