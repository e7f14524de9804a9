package config

import "cmp"

// Usage is the ledger of what answers of upstreams have used and cost.
type Usage struct {
	// Store is "auto" (default), "memory", "sqlite", "postgres" or "off". auto is that of Store; where
	// that is none, memory if there are keys or teams.
	Store string `yaml:"store" default:"auto" enum:"auto,memory,sqlite,postgres,off" doc:"Where the ledger is. auto: in the database of store, and where that has none in memory, if there are keys or teams; memory: until the gateway ends, the last 20000 rows; sqlite and postgres: in a database of its own, or in that of store; off: nowhere."`
	// Path is the file of SQLite, if it is not that of Config.Store.
	Path string `yaml:"path" eg:"./usage.db" doc:"File of store sqlite, made with mode 0600. Default: that of store."`
	// URL is the Postgres, if it is not that of Config.Store.
	URL Secret `yaml:"url" eg:"${DATABASE_URL}" doc:"postgres://user:password@host/database of store postgres. Default: that of store."`
	// Retention is how long rows are kept; what they add up to in each hour stays. Default 9600h, 24h to
	// 87600h; 0s disables expiry.
	Retention Duration `yaml:"retention" default:"9600h" min:"0s" max:"87600h" doc:"How long rows are kept; what they add up to in each hour stays. 0s disables expiry."`
	// Journal is the folder in which rows wait for the ledger. Default: the file of SQLite with -journals behind
	// it, or callgate/usage in the user's cache folder for Postgres; "off" is none.
	Journal string `yaml:"journal" eg:"/var/lib/callgate/usage" doc:"Folder in which rows wait for the database, so that they outlive the process; off for none. Default: beside the file of sqlite, and in the user's cache folder for postgres."`
	// JournalBytes bounds what waits there. Default 1GiB, 1MiB to 1024GiB.
	JournalBytes Size `yaml:"journal_bytes" default:"1GiB" min:"1MiB" max:"1024GiB" doc:"Room for what waits in the journal; rows beyond it are lost but for their line in the log."`
}

// UsageStore is where the ledger is: "memory", "sqlite", "postgres" or "off", and the file or URL that it has.
func (c *Config) UsageStore() (kind, file string, url Secret) {
	u := c.Usage
	switch kind = u.Store; {
	case kind == "auto" && (c.Store.Kind == "sqlite" || c.Store.Kind == "postgres"):
		kind = c.Store.Kind
	case kind == "auto":
		kind = "memory"
	}
	switch kind {
	case "sqlite":
		return kind, cmp.Or(u.Path, c.Store.Path), Secret{}
	case "postgres":
		if u.URL.IsZero() {
			return kind, "", c.Store.URL
		}
		return kind, "", u.URL
	}
	return kind, "", Secret{}
}

// LedgerAsked reports whether somebody has asked for a ledger: it is named, or there is a database for it. Then
// upstreams are asked for the usage of streams whose clients do not want it.
func (c *Config) LedgerAsked() bool {
	kind, _, _ := c.UsageStore()
	return kind != Off && (c.Usage.Store != "auto" || kind != "memory")
}

// Bills reports whether the ledger is to be written: somebody has asked for one, or there are keys or teams whose
// requests could be told apart; that one takes what upstreams report by themselves. Elsewhere requests and answers
// stay as they are.
func (c *Config) Bills() bool {
	kind, _, _ := c.UsageStore()
	return c.LedgerAsked() || kind != Off && (len(c.Keys) > 0 || len(c.Teams) > 0 || c.RequireKeys)
}

func (c *Config) checkUsage(r *report) {
	const p = path("usage")
	u := c.Usage
	if r.isBad(p.Key("store")) || r.isBad("store") || r.hasBad("store") {
		return
	}
	c.checkUsagePlace(r)
	const day = 24 * 3600 * 1e9
	if u.Retention > 0 && u.Retention < day {
		r.add(p.Key("retention"), "%s is out of range: rows are kept for a day or more; write 24h or more, or 0s, which disables expiry", u.Retention)
	}
	if kind, _, _ := c.UsageStore(); u.Journal != "" && u.Journal != Off && (kind == "memory" || kind == Off) {
		r.add(p.Key("journal"), "a journal has no effect with a ledger in memory or none; write store: sqlite or store: postgres, or leave it out")
	}
}

// checkUsagePlace checks that the ledger has the place which its store needs, and no other.
func (c *Config) checkUsagePlace(r *report) {
	const p = path("usage")
	u := c.Usage
	kind, file, url := c.UsageStore()
	if kind == "sqlite" && file == "" {
		r.add(p.Key("store"), "store sqlite needs a file; add for example path: ./usage.db")
	}
	if kind == "postgres" && url.IsZero() && !r.isBad("usage.url") {
		r.add(p.Key("store"), "store postgres needs a database; add for example url: ${DATABASE_URL}")
	}
	if u.Path != "" && u.Store != "sqlite" {
		r.add(p.Key("path"), "a path has no effect %s; write store: sqlite, or leave it out", r.beside(p.Key("store"), u.Store))
	}
	switch {
	case u.URL.IsZero():
	case u.Store != "postgres":
		r.add(p.Key("url"), "a URL has no effect %s; write store: postgres, or leave it out", r.beside(p.Key("store"), u.Store))
	case !isPostgres(u.URL.Reveal()):
		r.add(p.Key("url"), "the value is not a URL of a Postgres; write for example postgres://callgate@127.0.0.1:5432/callgate")
	}
}
