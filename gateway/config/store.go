package config

import (
	"cmp"
	"net/url"
)

// Store is where responses and conversations are kept that clients name again: by
// previous_response_id, conversation and item_reference.
type Store struct {
	// Kind is "memory" (default), "sqlite", "postgres" or "off". What is in memory ends with
	// the gateway, and only this gateway has it.
	Kind string `yaml:"kind" default:"memory" enum:"memory,sqlite,postgres,off" doc:"Where responses and conversations are kept. memory: until the gateway ends; sqlite: in a file, for gateways on one machine; postgres: for gateways on many; off: not at all, and clients are told so."`
	// Path is the file of SQLite; its folder must be there. It holds what users wrote.
	Path string `yaml:"path" eg:"./callgate.db" doc:"File of kind sqlite, made with mode 0600. It holds what users wrote."`
	// URL is postgres://user:password@host/database for Postgres.
	URL Secret `yaml:"url" eg:"${DATABASE_URL}" doc:"postgres://user:password@host/database of kind postgres. Its tables begin with callgate_."`
	// TTL is how long a response is kept after it was last used; a conversation is kept
	// until it is deleted. Default 720h, 1m to 8760h.
	TTL Duration `yaml:"ttl" default:"720h" min:"1m" max:"8760h" doc:"How long a response is kept after it was last used. Conversations are kept until they are deleted."`
	// MaxBytes is for all clients together. Default: 256MiB in memory, else 16GiB.
	MaxBytes Size `yaml:"max_bytes" eg:"256MiB" min:"1MiB" max:"1024GiB" doc:"Room for all clients together. Then the responses that were not used for the longest time make room, those of the client with the most first. Default: 256MiB in memory, else 16GiB."`
	// MaxEntries is the number of responses and conversations. Default: 100000 in memory,
	// else 10000000.
	MaxEntries int `yaml:"max_entries" eg:"100000" min:"1" max:"1000000000" doc:"Largest number of responses and conversations. Default: 100000 in memory, else 10000000."`
	// KeyBytes is for each of Keys. Default: MaxBytes with one key or none, else a quarter of it,
	// so that no key can take all.
	KeyBytes Size `yaml:"key_bytes" eg:"64MiB" min:"1MiB" max:"1024GiB" doc:"Room for each of keys. Default: max_bytes with one key or none, else a quarter of it."`
	// KeyEntries is for each of Keys. Default: MaxEntries, or a quarter of it, likewise.
	KeyEntries int `yaml:"key_entries" eg:"10000" min:"1" max:"1000000000" doc:"Largest number of responses and conversations of each of keys. Default: max_entries with one key or none, else a quarter of it."`
	// MaxChain is how many responses there may be behind previous_response_id. Default
	// 1000, 1 to 10000.
	MaxChain int `yaml:"max_chain" default:"1000" min:"1" max:"10000" doc:"Largest number of responses in a chain by previous_response_id."`
	// CompactTokens is about how many tokens of earlier items there may be before the model
	// summarizes the older ones. Default 0: 80 % of its context, where the configuration or an
	// upstream has said how large that is, and when the upstream says that the prompt is too long.
	CompactTokens int `yaml:"compact_tokens" eg:"100000" default:"0" min:"0" max:"100000000" doc:"About how many tokens of earlier items there may be before the model summarizes the older ones. 0: 80 % of its context, where context_tokens of a target says how large that is or an upstream has said so, and when the upstream says that the prompt is too long."`
	// CompactTurns is how many turns of the user there may be before the model summarizes the older ones.
	// Default 0: only tokens count.
	CompactTurns int `yaml:"compact_turns" eg:"20" omit:"true" min:"4" max:"100000" doc:"How many turns of the user there may be before the model summarizes the older ones; the last two stay. Default: only tokens count."`
}

// Bounds are the store's, with the defaults of its kind, for so many keys of clients.
func (s Store) Bounds(keys int) (bytes, entries, keyBytes, keyEntries int64) {
	bytes, entries = 16<<30, 10_000_000
	if s.Kind == "memory" {
		bytes, entries = 256<<20, 100_000
	}
	bytes, entries = cmp.Or(int64(s.MaxBytes), bytes), cmp.Or(int64(s.MaxEntries), entries)
	part := int64(1)
	if keys > 1 {
		part = 4
	}
	return bytes, entries, cmp.Or(int64(s.KeyBytes), bytes/part), cmp.Or(int64(s.KeyEntries), max(entries/part, 1))
}

func (c *Config) checkStore(r *report) {
	const p = path("store")
	s := c.Store
	checkPlace(r, s)
	bytes, entries, keyBytes, keyEntries := s.Bounds(len(c.Keys))
	if keyBytes > bytes {
		r.add(p.Key("key_bytes"), "one key cannot have more than all, %s; raise max_bytes, or lower this", Size(bytes))
	}
	if keyEntries > entries {
		r.add(p.Key("key_entries"), "one key cannot have more than all, %d; raise max_entries, or lower this", entries)
	}
}

// checkPlace checks that the store has the place which its kind needs, and no other.
func checkPlace(r *report, s Store) {
	const p = path("store")
	file, database := s.Kind == "sqlite", s.Kind == "postgres"
	if file && s.Path == "" {
		r.add(p.Key("kind"), "kind sqlite needs a file; add for example path: ./callgate.db")
	}
	if database && s.URL.IsZero() && !r.isBad("store.url") {
		r.add(p.Key("kind"), "kind postgres needs a database; add for example url: ${DATABASE_URL}")
	}
	if !file && s.Path != "" {
		r.add(p.Key("path"), "a path has no effect %s; write kind: sqlite, or leave it out", r.beside(p.Key("kind"), s.Kind))
	}
	switch {
	case s.URL.IsZero():
	case !database:
		r.add(p.Key("url"), "a URL has no effect %s; write kind: postgres, or leave it out", r.beside(p.Key("kind"), s.Kind))
	case !isPostgres(s.URL.Reveal()):
		r.add(p.Key("url"), "the value is not a URL of a Postgres; write for example postgres://callgate@127.0.0.1:5432/callgate")
	}
}

func isPostgres(text string) bool {
	u, err := url.Parse(text) // its errors quote the URL, which may hold a password
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && u.Host != "" && isPort(u.Port())
}
