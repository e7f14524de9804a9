package demo

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/formats"
)

// adstudioModels make an advertisement with the tools of examples/adstudio.
func adstudioModels() []model {
	hermes, _ := formats.Find("hermes")
	return []model{
		{name: "adstudio", write: native, decide: makeAd, caches: true},
		{name: "adstudio-premium", write: native, decide: makeAd, caches: true},
		{name: "adstudio-hermes", write: func(a answer) output { return output{text: written(hermes, a)} }, decide: makeAd, caches: true},
	}
}

// The tools, by the ends of their names: a gateway puts their server's name in front.
const (
	searchVoices = "search_voices"
	voiceDraft   = "create_voice_draft"
	musicDraft   = "create_music_draft"
	sfxDraft     = "create_sfx_draft"
	currentState = "get_current_state"
)

const maxSearches = 3 // of voices, in a turn

var (
	adID       = regexp.MustCompile(`\bad_[a-z0-9]{1,40}\b`)
	adLanguage = regexp.MustCompile(`\blanguage ([a-z]{2})\b`)
	adMarket   = regexp.MustCompile(`\bmarket ([A-Z]{2})\b`)
)

// ad is what the model knows of an advertisement in one turn: what the user wants, and what
// the tools have said since.
type ad struct {
	r                *request
	id               string
	language, market string
	brief            string // the prompt, without what the app puts in front
	again            bool   // there have been turns before
	steps            []step
}

// step is a call of a tool since the prompt, with its result.
type step struct {
	tool   string // one of the tools above, or ""
	result any
	text   string
}

// makeAd makes an answer: it searches a voice and reads the state at once, drafts the voice,
// drafts music and effects at once, and says what there is. A later turn does this for
// what the prompt names.
func makeAd(r *request) answer {
	a := &ad{r: r, steps: r.steps()}
	a.read()
	if !slices.ContainsFunc(r.offered(), func(t tool) bool { return toolOf(t.Function.Name) != "" }) {
		if len(a.steps) > 0 {
			return answer{text: a.summary()}
		}
		return answer{text: a.title()}
	}
	if next := a.next(); len(next.calls) > 0 {
		return next
	}
	return answer{text: a.summary()}
}

// read takes what the app says in front of its user's words, which goes up to an empty line:
// the ad's id, its language and its market. Ids are in each message, the others in the first.
func (a *ad) read() {
	at := a.r.promptAt()
	for i, m := range a.r.Messages[:at+1] {
		text := string(m.Content)
		a.again = a.again || m.Role == "assistant"
		if m.Role != "user" {
			continue
		}
		if id := adID.FindString(text); id != "" {
			a.id = id
		}
		if found := adLanguage.FindStringSubmatch(text); found != nil {
			a.language = found[1]
		}
		if found := adMarket.FindStringSubmatch(text); found != nil {
			a.market = found[1]
		}
		if strings.ContainsFunc(text, func(r rune) bool { return r >= 'ก' && r <= '๛' }) && a.language == "" {
			a.language = "th"
		}
		if i < at {
			continue
		}
		a.brief = text
		if head, rest, cut := strings.Cut(text, "\n\n"); cut && adID.MatchString(head) {
			a.brief = rest
		}
	}
	if a.language == "" {
		a.language = "en"
	}
}

// toolOf is which of the tools a name means, or "".
func toolOf(name string) string {
	for _, t := range []string{searchVoices, voiceDraft, musicDraft, sfxDraft, currentState} {
		if name == t || strings.HasSuffix(name, "__"+t) {
			return t
		}
	}
	return ""
}

// steps are the calls since the prompt that have a result.
func (r *request) steps() []step {
	var steps []step
	open := map[string]step{} // by id
	for _, m := range r.Messages[r.promptAt()+1:] {
		if m.Role == "tool" {
			s := open[string(m.ToolCallID)]
			s.text = string(m.Content)
			s.result = opened(s.text)
			steps = append(steps, s)
			continue
		}
		var calls []struct {
			ID       loose
			Function struct{ Name loose }
		}
		_ = json.Unmarshal(m.ToolCalls, &calls) // what is no call has no result
		for _, c := range calls {
			open[string(c.ID)] = step{tool: toolOf(string(c.Function.Name))}
		}
	}
	return steps
}

// opened is the value of a text that is JSON, and otherwise the text.
func opened(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

// inside is the first member of a name in a value, also where a gateway has put the tool's
// text into an object of its own; nil if there is none.
func inside(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		if member := v[name]; member != nil {
			return member
		}
		for _, key := range []string{"result", "structured", "structuredContent", "content", "output", "text", "error"} {
			if found := inside(v[key], name); found != nil {
				return found
			}
		}
	case []any:
		for _, element := range v {
			if found := inside(element, name); found != nil {
				return found
			}
		}
	case string:
		if strings.HasPrefix(strings.TrimSpace(v), "{") {
			if inner, ok := opened(v).(map[string]any); ok {
				return inside(inner, name)
			}
		}
	}
	return nil
}

// textIn is a text inside a value, cut as all that goes into arguments.
func textIn(v any, name string) string {
	s, _ := inside(v, name).(string)
	return cutName(s)
}

// done are the steps of a tool.
func (a *ad) done(tool string) []step {
	var of []step
	for _, s := range a.steps {
		if s.tool == tool {
			of = append(of, s)
		}
	}
	return of
}

// wants says which of the three parts the turn is about: all in the first one, and later
// those that the prompt names.
func (a *ad) wants() (voice, music, sfx bool) {
	if !a.again {
		return true, true, true
	}
	text := strings.ToLower(a.brief)
	named := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	return named("voice", "speaker", "narrator", "stimme", "suara", "pengisi", "เสียงพูด", "เสียงพากย์", "ผู้พากย์"),
		named("music", "song", "track", "tempo", "musik", "lagu", "เพลง", "ดนตรี"),
		named("effect", "sfx", "sound of", "geräusch", "efek", "เอฟเฟกต์")
}

// next is the round that comes next, without calls if there is none.
func (a *ad) next() answer {
	voice, music, sfx := a.wants()
	searches := a.done(searchVoices)
	found := 0
	for _, s := range searches {
		list, _ := inside(s.result, "voices").([]any)
		found = max(found, len(list))
	}
	if len(a.steps) == 0 {
		return a.first(voice)
	}
	switch {
	case voice && found == 0 && len(searches) > 0 && len(searches) < maxSearches:
		return a.calls("No voice is like that. I search with less.", a.search(len(searches)))
	case voice && found > 0 && len(a.done(voiceDraft)) == 0:
		return a.calls("", a.voice())
	case (music || sfx) && len(a.done(musicDraft))+len(a.done(sfxDraft)) == 0:
		return a.calls("", a.parts(music, sfx)...)
	}
	return answer{}
}

// first is the first round.
func (a *ad) first(voice bool) answer {
	if voice {
		return a.calls("Let me look at the ad and search for a voice.", a.state(), a.search(0))
	}
	return a.calls("Let me look at the ad.", a.state())
}

// parts are the drafts that need no search.
func (a *ad) parts(music, sfx bool) (calls []call) {
	if music {
		calls = append(calls, a.music())
	}
	if sfx {
		calls = append(calls, a.sfx())
	}
	return calls
}

// calls is a round with those of some calls whose tools are offered. Arguments that a tool
// does not know are left out.
func (a *ad) calls(text string, wanted ...call) answer {
	out := answer{text: text}
	for _, w := range wanted {
		for _, t := range a.r.offered() {
			if toolOf(t.Function.Name) != w.name {
				continue
			}
			known := schemaOf(t.Function.Parameters).Properties
			w.args = slices.DeleteFunc(w.args, func(g arg) bool { return known[g.name] == nil || g.value == `""` })
			out.calls = append(out.calls, call{t.Function.Name, w.args})
			break
		}
	}
	return out
}

func (a *ad) state() call { return call{currentState, []arg{{"ad_id", quote(a.id)}}} }

// search looks for a voice: by all that the brief says, and each further time by less.
func (a *ad) search(tries int) call {
	args := []arg{{"language", quote(a.language)}}
	text := " " + strings.ToLower(a.brief) + " "
	if tries < 2 {
		args = append(args, arg{"gender", quote(firstOf(text, [][2]string{
			{"female", "female"}, {"woman", "female"}, {" male", "male"}, {" man ", "male"}, {" man.", "male"},
			{"wanita", "female"}, {" pria", "male"}, {"หญิง", "female"}, {"ชาย", "male"},
		}))}, arg{"age", quote(firstOf(text, [][2]string{{"young", "young"}, {"mature", "mature"}, {"older", "mature"}}))})
	}
	if tries < 1 {
		args = append(args, arg{"tone", quote(a.mood(voiceTones, "warm"))}, arg{"market", quote(a.market)})
	}
	return call{searchVoices, append(args, arg{"limit", "5"})}
}

// Words of a brief, in their order, and what they ask for.
var (
	voiceTones = [][2]string{
		{"warm", "warm"}, {"อบอุ่น", "warm"}, {"hangat", "warm"}, {"energetic", "energetic"}, {"upbeat", "energetic"}, {"calm", "calm"}, {"tenang", "calm"},
		{"friendly", "friendly"}, {"serious", "authoritative"}, {"trust", "authoritative"}, {"playful", "playful"}, {"fun", "playful"},
	}
	musicMoods = [][2]string{
		{"upbeat", "upbeat"}, {"energetic", "upbeat"}, {"faster", "upbeat"}, {"ceria", "upbeat"}, {"สนุก", "upbeat"}, {"calm", "calm"}, {"slower", "calm"}, {"tenang", "calm"},
		{"dramatic", "dramatic"}, {"playful", "playful"}, {"fun", "playful"}, {"warm", "warm"}, {"hangat", "warm"}, {"อบอุ่น", "warm"},
	}
	musicGenres = [][2]string{
		{"jazz", "jazz"}, {"rock", "rock"}, {"electronic", "electronic"}, {"acoustic", "acoustic folk"}, {"classical", "classical"},
		{"coffee", "acoustic folk"}, {"kopi", "acoustic folk"}, {"กาแฟ", "acoustic folk"}, {"car", "electronic"}, {"bank", "classical"},
	}
	sfxOf = [][2]string{
		{"rain", "rain on a window"}, {"wave", "waves on a beach"}, {"bird", "birds in the morning"}, {"coffee", "espresso machine and cups"},
		{"kopi", "espresso machine and cups"}, {"กาแฟ", "espresso machine and cups"}, {"beach", "waves on a beach"}, {"car", "car door and engine start"},
		{"game", "arcade jingle"}, {"bank", "soft notification chime"}, {"food", "sizzling pan"},
	}
)

// firstOf is what the first of some words that a text has stands for, or "".
func firstOf(text string, words [][2]string) string {
	for _, w := range words {
		if strings.Contains(text, w[0]) {
			return w[1]
		}
	}
	return ""
}

// mood is what the brief asks for among some words.
func (a *ad) mood(words [][2]string, otherwise string) string {
	if m := firstOf(strings.ToLower(a.brief), words); m != "" {
		return m
	}
	return otherwise
}

// voice drafts with the first voice that was found, and not with the one that the ad has.
func (a *ad) voice() call {
	var now any
	for _, s := range a.done(currentState) {
		now = inside(s.result, "voice")
	}
	id, name := "", ""
	for _, s := range a.done(searchVoices) {
		list, _ := inside(s.result, "voices").([]any)
		for _, v := range list {
			if one := textIn(v, "id"); one != "" && (id == "" || id == textIn(now, "voice_id")) {
				id, name = one, textIn(v, "name")
			}
		}
	}
	return call{voiceDraft, []arg{
		{"ad_id", quote(a.id)}, {"voice_id", quote(id)}, {"script", quote(a.script())}, {"note", quote("Read by " + name)},
	}}
}

// script is what the voice says.
func (a *ad) script() string {
	lines := map[string]string{
		"th": "แวะพักสักครู่กับ %s ทำด้วยใจ เพื่อคุณโดยเฉพาะ วันนี้",
		"id": "Luangkan waktu sejenak. %s: dibuat dengan hati, untuk Anda. Hari ini.",
		"de": "Einen Augenblick Ruhe. %s: mit Liebe gemacht, für Sie. Heute.",
		"es": "Una pausa para ti. %s: con cariño. Hoy.",
		"en": "Take a moment. %s: made with care, made for you. Today.",
	}
	line, ok := lines[a.language]
	if !ok {
		line = lines["en"]
	}
	return fmt.Sprintf(line, a.product())
}

// product is what the ad is for: the capitalised words of its brief.
func (a *ad) product() string {
	brief := a.brief
	for _, m := range a.r.Messages { // the first message has the brief
		if m.Role == "user" {
			brief = string(m.Content)
			if _, rest, cut := strings.Cut(brief, "\n\n"); cut {
				brief = rest
			}
			break
		}
	}
	names := wordsOf(brief).names()
	if len(names) == 0 {
		names = wordsOf(brief).text
	}
	if len(names) == 0 {
		return "Callgate Radio"
	}
	return cutName(strings.Join(names[:min(len(names), 2)], " "))
}

// music drafts music: of another mood and tempo than before, where the ad has some.
func (a *ad) music() call {
	tempo, genre := 96, a.mood(musicGenres, "pop")
	mood := a.mood(musicMoods, "warm")
	for _, s := range a.done(currentState) {
		now := inside(s.result, "music")
		if bpm, ok := inside(now, "tempo_bpm").(float64); ok {
			tempo = int(bpm)
		}
		if g := textIn(now, "genre"); g != "" && firstOf(strings.ToLower(a.brief), musicGenres) == "" {
			genre = g
		}
	}
	switch mood {
	case "upbeat", "playful":
		tempo += 24
	case "calm":
		tempo -= 24
	}
	return call{musicDraft, []arg{
		{"ad_id", quote(a.id)}, {"mood", quote(mood)}, {"genre", quote(genre)}, {"tempo_bpm", strconv.Itoa(min(max(tempo, 50), 180))}, {"duration_seconds", "30"},
	}}
}

func (a *ad) sfx() call {
	return call{sfxDraft, []arg{
		{"ad_id", quote(a.id)}, {"description", quote(a.mood(sfxOf, "soft door chime"))}, {"at_seconds", "0"}, {"duration_seconds", "3"},
	}}
}

// title is the answer to a request without tools: the ad's name.
func (a *ad) title() string {
	if a.brief == "" {
		return "An ad"
	}
	return "Spot for " + a.product()
}

// summary names what the tools have made, and what they have refused.
func (a *ad) summary() string {
	var made, refused []string
	for _, s := range a.steps {
		if s.tool == "" || s.tool == currentState {
			continue
		}
		draft := inside(s.result, "draft")
		version, _ := inside(draft, "version").(float64)
		switch {
		case draft != nil:
			made = append(made, fmt.Sprintf("- %s %d: %s", heading(textIn(draft, "kind")), int(version), textIn(draft, "title")))
		case s.tool != searchVoices || inside(s.result, "voices") == nil:
			said, _ := inside(s.result, "message").(string)
			if said == "" {
				said = s.text
			}
			refused = append(refused, "- "+string([]rune(said)[:min(len([]rune(said)), 4*maxName)]))
		}
	}
	var text []string
	if len(made) > 0 {
		text = append(text, "I have made these drafts:\n\n"+strings.Join(made, "\n")+"\n\nActivate what you like, or tell me what to change.")
	}
	if len(refused) > 0 {
		text = append(text, "This did not work:\n\n"+strings.Join(refused, "\n"))
	}
	if len(text) == 0 {
		return a.inventory()
	}
	return strings.Join(text, "\n\n")
}

func heading(kind string) string {
	return map[string]string{"voice": "Voice", "music": "Music", "sfx": "Effects"}[kind]
}

// inventory says what the ad has, where nothing was to be made.
func (a *ad) inventory() string {
	var parts []string
	for _, s := range a.done(currentState) {
		for _, kind := range []string{"voice", "music", "sfx"} {
			if title := textIn(inside(s.result, kind), "title"); title != "" {
				parts = append(parts, "- "+heading(kind)+": "+title)
			}
		}
	}
	if len(parts) == 0 {
		return "There is nothing here yet. Tell me what the ad is for."
	}
	return "The ad has this now:\n\n" + strings.Join(parts, "\n") + "\n\nSay what to change: the voice, the music or the effects."
}
