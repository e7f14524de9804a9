package guard

import (
	"strconv"
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// TestPlay judges claims in a play and claims that look like one. The first five users' messages and answers, shortened,
// are those of blind sets 6 to 8 that had raised a false alarm.
func TestPlay(t *testing.T) {
	t.Parallel()
	g := New(Settings{})
	for _, c := range []struct {
		name, user, answer string
		ghost              bool
	}{
		{"practice", "let's practise. You are a clerk at a hotel desk. Book me a room for two nights", "*types on an imaginary keyboard* I've booked the room for two nights.", false},
		{"a part", "Play the on-call engineer. Book a room for the incident call", "*Sam, typing:* I've booked the room for two nights.", false},
		{"pretend", "Pretend you're an agent on the phone. Book me a room", "*(calm, warm tone)*\n\n\"I've booked the room for you.\"", false},
		{"innkeeper", "let's play: you're a grumpy innkeeper. Book me a room", "*He doesn't look up from the mug he's polishing.*\n\n\"I've booked the room for you.\"", false},
		{"German", "Üben wir ein Gespräch im Hotel. Buch mir ein Zimmer", "*tippt* Ich habe das Zimmer gebucht.", false},
		{"Japanese", "ホテルのロールプレイをしましょう。部屋を予約して", "*にっこり* 部屋を予約しました。", false},
		{"no play was asked for", "Book me a room for two nights", "*checks the calendar* I've booked the room for two nights.", true},
		{"no direction", "let's practise. Book me a room for two nights", "I've booked the room for two nights.", true},
		{"a word within another", "Book the malpractice lawyer's room for two nights", "*checks the calendar* I've booked the room for two nights.", true},
		{"bold", "let's practise. Book me a room for two nights", "**Done!** I've booked the room for two nights.", true},
		{"a list", "let's practise. Book me a room for two nights", "* I've booked the room for two nights.\n* Anything else?", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			chat := conversation.Read([]byte(`[{"role":"user","content":` + strconv.Quote(c.user) + `},{"role":"user","content":"Go on, please: book the room."}]`))
			if v := g.Begin(ledger.New(chat, nil), []string{"book_room"}, Choice{}).Judge(Answer{Text: c.answer, Done: true}); v.Ghost != c.ghost {
				t.Errorf("got ghost %v by %.2f for %v, want %v", v.Ghost, v.Score, v.Signals, c.ghost)
			}
		})
	}
}

// TestPlayUnderIntent judges a play in which a word falls that the operator wants a call for.
func TestPlayUnderIntent(t *testing.T) {
	t.Parallel()
	g := New(Settings{Intents: []Intent{{Match: []string{"file a report"}, Expect: "file_report"}}})
	chat := conversation.Read([]byte(`[{"role":"user","content":"Let's practise: you're my boss. File a report."}]`))
	if v := g.Begin(ledger.New(chat, nil), []string{"file_report"}, Choice{}).Judge(Answer{Text: "*frowns* I've filed the report.", Done: true}); !v.Ghost {
		t.Errorf("got no ghost by %.2f for %v", v.Score, v.Signals)
	}
}
