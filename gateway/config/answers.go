package config

// AnswerStore bounds the answers that are kept.
type AnswerStore struct {
	// Memory is for all answers with AnswerCache "memory", with some hundred bytes for each
	// besides its text. Default 64MiB, 1MiB to 64GiB.
	Memory Size `yaml:"memory" default:"64MiB" min:"1MiB" max:"64GiB" doc:"Memory for all answers with answer_cache: memory. Those that were not used for the longest time make room."`
	// Largest is the largest answer that is kept, in memory or in Redis. Default 1MiB, 1KiB
	// to 64MiB, at most half of Memory.
	Largest Size `yaml:"largest" default:"1MiB" min:"1KiB" max:"64MiB" doc:"Largest answer that is kept; not more than half of memory."`
}

// checkAnswers checks what it takes to keep answers.
func (c *Config) checkAnswers(r *report) {
	const p = path("answer_store")
	if s := c.AnswerStore; s.Largest > s.Memory/2 {
		r.add(p.Key("largest"), "an answer of %s is more than half of memory, %s; raise memory, or lower this", s.Largest, s.Memory)
	}
}

// checkShared refuses answers that are to be kept in a Redis which nobody has named. That
// it needs a salt is said of the Redis.
func (c *Config) checkShared(r *report, p path, own Route) {
	if own.AnswerCache == "redis" && c.Redis.URL.IsZero() && !r.isBad("redis") {
		r.add(p.Key("answer_cache"), "there is no Redis to keep answers in; add redis: {url: ...} and cache_salt, or write answer_cache: memory")
	}
}
