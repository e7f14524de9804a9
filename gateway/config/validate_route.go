package config

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// defaultsPath leads to [Config.Defaults].
const defaultsPath path = "defaults"

const enforce = "enforce"

func (c *Config) checkRoutes(r *report) {
	c.checkRoute(r, defaultsPath, c.Defaults)
	for _, name := range sortedKeys(c.Models) {
		c.checkRoute(r, path("models").Key(name), c.Models[name].Route)
		c.checkWeights(r, path("models").Key(name), c.Models[name])
	}
	c.checkEnforce(r)
}

// checkRoute checks what is written at one place, p.
func (c *Config) checkRoute(r *report, p path, own Route) {
	c.checkModes(r, p, own)
	c.checkIdleRounds(r, p, own)
	c.checkJudge(r, p, own)
	c.checkQuality(r, p, own)
	c.checkShared(r, p, own)
	c.checkToolUse(r, p.Key("tools"), own.Tools)
	checkIntents(r, p.Key("intents"), own.Intents)
	checkDateContext(r, p.Key("date_context"), own.DateContext)
	checkFallbackOn(r, p.Key("fallback_on"), own.FallbackOn)
	checkReferences(r, p.Key("references"), own.References)
}

// dependent is a key that has no effect where the mode that it belongs to is off.
type dependent struct {
	key, mode string
	// off says that the mode of the same route is, and set that the key has a value.
	off, set bool
	// on is what to write for it.
	on string
}

func (route Route) dependents() []dependent {
	guard, loops, references := route.Guard == Off, route.LoopGuard == Off, route.ResolveReferences == Off
	return []dependent{
		{"guard_threshold", "guard", guard, route.GuardThreshold != 0, "report"},
		{"guard_judge", "guard", guard, route.GuardJudge != "", "report"},
		{"guard_judge_timeout", "guard", guard, route.GuardJudgeTimeout != 0, "report"},
		{"intents", "guard", guard, len(route.Intents) > 0, "report"},
		{"max_rounds", "loop_guard", loops, route.MaxRounds != 0, "report"},
		{"coding_rounds", "loop_guard", loops, route.CodingRounds != 0, "report"},
		{"max_calls", "loop_guard", loops, route.MaxCalls != 0, "report"},
		{"idle_rounds", "loop_guard", loops, route.IdleRounds != 0, "report"},
		{"max_loop_time", "loop_guard", loops, route.MaxLoopTime != 0, "report"},
		{"max_loop_usd", "loop_guard", loops, route.MaxLoopUSD != 0, "report"},
		{"references", "resolve_references", references, len(route.References) > 0, "repair"},
		{"quality_low", "quality", route.Quality == Off, route.QualityLow != 0, "report"},
		{"quality_high", "quality", route.Quality == Off, route.QualityHigh != 0, "report"},
		{"quality_floor", "quality", route.Quality == Off, route.QualityFloor != 0, "report"},
		{"answer_cache_ttl", "answer_cache", route.AnswerCache == Off, route.AnswerCacheTTL != 0, "memory"},
	}
}

// checkModes refuses keys without an effect. One of the defaults may have its effect
// in a model that turns the mode on.
func (c *Config) checkModes(r *report, p path, own Route) {
	all := c.fill(own).dependents()
	for i, d := range own.dependents() {
		if !d.set || !all[i].off || p == defaultsPath && c.isInherited(i) {
			continue
		}
		mode := p.Key(d.mode)
		if !d.off {
			mode = defaultsPath.Key(d.mode)
		}
		r.add(p.Key(d.key), "with %s: off (%s) this has no effect; write %s: %s here, or leave this out",
			d.mode, r.where(mode), d.mode, d.on)
	}
}

// isInherited reports whether some model uses the value that the defaults have for a
// dependent key.
func (c *Config) isInherited(i int) bool {
	for _, m := range c.Models {
		if c.fill(m.Route).dependents()[i].set && !m.dependents()[i].set {
			return true
		}
	}
	return false
}

// checkIdleRounds refuses a number that the one for all rounds never lets happen.
func (c *Config) checkIdleRounds(r *report, p path, own Route) {
	most := p.Key("max_rounds")
	place := r.where(most)
	switch {
	case own.MaxRounds != 0:
	case c.Defaults.MaxRounds != 0:
		most = defaultsPath.Key("max_rounds")
		place = r.where(most)
	default:
		place = "the default"
	}
	if filled := c.fill(own); filled.LoopGuard != Off && own.IdleRounds > filled.MaxRounds && !r.isBad(most) {
		r.add(p.Key("idle_rounds"), "that is more than all rounds, max_rounds: %d (%s); raise max_rounds, or lower this", filled.MaxRounds, place)
	}
}

// fallbackWords are the words of [Route.FallbackOn].
var fallbackWords = []string{"invalid_calls", "invalid_outputs", "ghosts", "contradictions", "tools_refused", "context_length"}

// checkFallbackOn refuses words that name no failure, and those that are there twice.
func checkFallbackOn(r *report, p path, list FallbackOn) {
	for i, word := range list {
		at := p.At(i)
		switch {
		case !slices.Contains(fallbackWords, word):
			r.add(at, "%s is not one of the words allowed%s", r.src.show(at, word), r.suggest(at, word, "words", fallbackWords))
		case slices.Index(list, word) < i:
			r.add(at, "%s is in the list twice", r.src.show(at, word))
		}
	}
}

// checkJudge refuses a judge that no provider has.
func (c *Config) checkJudge(r *report, p path, own Route) {
	if own.GuardJudge == "" {
		return
	}
	provider, model, found := strings.Cut(own.GuardJudge, "/")
	if _, known := c.Providers[provider]; !found || model == "" || !known {
		r.add(p.Key("guard_judge"), "%s is no provider/model of this file; write the name of a provider, a slash and its model", yamldoc.Quote(own.GuardJudge))
	}
}

// checkIntents refuses what the guard could not follow: nothing to look for, and one
// word for two tools.
func checkIntents(r *report, p path, intents []Intent) {
	type meaning struct {
		at     path
		expect string
	}
	words := map[string]meaning{}
	for i, intent := range intents {
		for j, word := range intent.Match {
			at := p.At(i).Key("match").At(j)
			folded := foldWord(word)
			if folded == "" {
				r.add(at, "the word is empty; write for example match: [delete, remove]")
				continue
			}
			if !strings.ContainsFunc(folded, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
				r.add(at, "%s has neither a letter nor a digit; write for example match: [delete, remove]", r.src.show(at, word))
				continue
			}
			first, known := words[folded]
			if known && first.expect != intent.Expect && intent.Expect != "" {
				r.add(at, "%s expects another tool already (%s); keep one of them", r.src.show(at, word), r.where(first.at))
			}
			if !known && intent.Expect != "" {
				words[folded] = meaning{at, intent.Expect}
			}
		}
	}
}

// foldWord gives words that differ only in case and white space the same text.
func foldWord(word string) string {
	return strings.Map(func(c rune) rune {
		least := c
		for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, strings.Join(strings.Fields(word), " "))
}

func checkReferences(r *report, p path, references []Reference) {
	type argument struct{ tool, name string }
	seen := map[argument]path{}
	for i, ref := range references {
		at := p.At(i)
		for key, text := range map[string]string{"argument": ref.Argument, "match": ref.Match, "value": ref.Value} {
			if text != "" && !isDotted(text) {
				r.add(at.Key(key), "a name in it is empty; write for example %s: task.id", key)
			}
		}
		checkRule(r, at, ref)
		arg := argument{ref.Tool, ref.Argument}
		if first, repeated := seen[arg]; repeated && ref.Tool != "" && ref.Argument != "" {
			r.add(at.Key("argument"), "this argument of the tool has a reference already (%s); keep one of them", r.where(first))
		}
		seen[arg] = cmp.Or(seen[arg], at)
	}
}

// checkRule asks those who resolve references whether they can follow one that is
// written in full.
func checkRule(r *report, at path, ref Reference) {
	rule := reference.Rule{Tool: ref.Tool, Argument: ref.Argument, From: ref.From, Match: ref.Match, Value: ref.Value, MinRatio: ref.MinRatio}
	written := ref.Tool != "" && ref.From != "" && isDotted(ref.Argument) && isDotted(ref.Match) && isDotted(ref.Value)
	if err := rule.Validate(); err != nil && written {
		r.add(at, "%s", err)
	}
}

// isDotted reports whether text is names with dots between them, and perhaps [] after one.
func isDotted(text string) bool {
	return !slices.ContainsFunc(strings.Split(text, "."), func(step string) bool {
		return strings.TrimSpace(strings.ReplaceAll(step, "[]", "")) == ""
	})
}

// checkEnforce refuses to promise what nobody can keep: with tool_calls off the guard
// sees no answer, and with report nothing of an answer is changed.
func (c *Config) checkEnforce(r *report) {
	guard := defaultsPath.Key("guard")
	for _, name := range sortedKeys(c.Providers) { // they are asked without a model's entry too
		if mode := c.ProviderTarget(name).ToolCalls; c.fill(Route{}).Guard == enforce && mode != "repair" {
			r.add(path("providers").Key(name).Key("tool_calls"),
				"with %s no answer to %s is changed, and guard: enforce (%s) is for these too; use tool_calls: repair, or set guard for single models",
				mode, yamldoc.Quote(name+"/MODEL"), r.where(guard))
		}
	}
	for _, name := range sortedKeys(c.Models) {
		if c.fill(c.Models[name].Route).Guard == enforce {
			c.checkEnforced(r, path("models").Key(name), c.Models[name])
		}
	}
}

// checkEnforced checks the targets of a model whose guard is to enforce. What a target
// and the model only inherit is a problem of the provider already.
func (c *Config) checkEnforced(r *report, p path, m Model) {
	guard := p.Key("guard")
	if m.Guard == "" {
		guard = defaultsPath.Key("guard")
	}
	for list, targets := range m.lists(p) {
		for i, t := range targets {
			mode := c.resolve(t).ToolCalls
			if mode == "repair" || t.ToolCalls == "" && m.Guard == "" {
				continue
			}
			at := list.At(i)
			r.add(at.Key("tool_calls"), "with tool_calls: %s (%s) no answer is changed, and the guard is to enforce (%s); use tool_calls: repair, or guard: report",
				mode, r.where(t.origin(at, "tool_calls", t.ToolCalls != "")), r.where(guard))
		}
	}
}
