package config

import (
	"net/url"
	"strings"
)

// Redis is where gateways tell each other what they have learned, for which no request
// waits, and keep answers ([Route.AnswerCache]), for which one waits a tenth of a second at most.
type Redis struct {
	// URL is redis://user:password@host:port/db, or rediss:// for TLS. Default "": this
	// gateway keeps to itself. It needs [Config.CacheSalt].
	URL Secret `yaml:"url" eg:"${REDIS_URL}" doc:"redis://user:password@host:port/db, or rediss:// for TLS. Default: this gateway keeps to itself. It needs cache_salt."`
	// KeyPrefix begins every key that is written, and a colon follows it. Default
	// callgate.
	KeyPrefix string `yaml:"key_prefix" default:"callgate" doc:"Begins every key that is written."`
	// Interval is how often gateways tell each other. Default 1s, 100ms to 1m.
	Interval Duration `yaml:"interval" default:"1s" min:"100ms" max:"1m" doc:"How often gateways tell each other what is new."`
	// Reserve says that limits of busy keys may be reserved for several requests at once. Default true.
	Reserve bool `yaml:"reserve" default:"true" doc:"Where limits have ample room, reserve for several requests of a busy key at once; false asks Redis for each request."`
}

func (c *Config) checkRedis(r *report) {
	const p = path("redis")
	if !isLabel(c.Redis.KeyPrefix) || strings.ContainsAny(c.Redis.KeyPrefix, " {}") {
		at := p.Key("key_prefix")
		r.add(at, "%s is not a prefix: one has 1 to 64 printable characters, and none of them is a space, { or }", r.src.show(at, c.Redis.KeyPrefix))
	}
	if c.Redis.URL.IsZero() {
		return
	}
	at := p.Key("url")
	switch u, err := url.Parse(c.Redis.URL.Reveal()); { // its errors quote the URL, which may hold a password
	case err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" || !isPort(u.Port()):
		r.add(at, "the value is not a URL of a Redis; write for example redis://127.0.0.1:6379, or rediss:// for TLS")
	case !isPort(strings.Trim(u.Path, "/")) || u.Fragment != "":
		r.add(at, "what follows the host of the URL is not the number of a database; write for example redis://127.0.0.1:6379/0")
	}
	if c.CacheSalt.IsZero() && !r.isBad("cache_salt") {
		r.add(at, "redis without cache_salt has no use: what gateways tell each other of prompts is keyed with it, so all need the same; "+
			"add for example cache_salt: ${CALLGATE_CACHE_SALT}")
	}
}
