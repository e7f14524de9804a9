package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/internal/plaintext"
)

// A part that the user gave the model says what it likes: the clerk of a hotel that is played has "booked you into room 412".
// Two things show it: the user asked for a play, and the answer begins with what its part does, "*looks up from the desk*".
// Neither is enough: models that have no way to call "*check the calendar*" too.

// maxPlayed is how many of the user's messages are looked at, from the last on, and maxPlayText how much of each.
const (
	maxPlayed   = 12
	maxPlayText = 2 << 10
)

// maxDirection bounds what a part does before it speaks, in bytes.
const maxDirection = 240

// playWords ask for a play. They match at the beginning of a word, and anywhere where words are not spaced.
var playWords = []string{
	"roleplay", "role play", "role-play", "pretend", "let's play", "lets play", "play the ", "practise", "practice", "in character", "stay in role",
	"Rollenspiel", "spielen wir", "spiel den ", "spiel die ", "tu so als", "tu so, als", "üben wir", "lass uns üben",
	"jeu de rôle", "jouons", "joue le rôle", "fais comme si", "entraînons-nous",
	"juego de rol", "juguemos", "vamos a practicar", "practiquemos", "finge que",
	"gioco di ruolo", "giochiamo", "facciamo finta", "fai finta", "esercitiamoci",
	"faz de conta", "vamos brincar", "vamos praticar", "finja",
	"rollenspel", "doe alsof", "laten we oefenen", "odgryw", "udawaj", "wciel się", "poćwiczmy",
	"сыграем", "ролев", "представь, что ты", "притвор", "поиграем", "потренируем", "зіграймо", "уяви, що ти",
	"rol yapalım", "canlandır", "rollspel", "låtsas", "bermain peran", "đóng vai", "předstírej",
	"ロールプレイ", "ごっこ", "なりきって", "扮演", "角色", "假装", "역할극", "연기해", "สวมบทบาท", "تمثيل", "تظاهر", "रोल प्ले", "अभिनय",
}

// isPlayed reports whether an answer is a part in a play that the user asked for.
func (t *talk) isPlayed(answer string) bool {
	if !isStaged(answer) {
		return false
	}
	left := maxPlayed
	for i := t.last; i >= 0 && left > 0; i-- {
		if m := t.chat.Messages[i]; m.Role == conversation.User {
			left--
			if asksToPlay(string(foldWords(plaintext.Ends(t.chat.Said(m), maxPlayText, maxPlayText/2)))) {
				return true
			}
		}
	}
	return false
}

func asksToPlay(folded string) bool {
	for _, word := range playWords {
		word = string(foldString(word))
		for at := 0; ; at++ {
			i := strings.Index(folded[at:], word)
			if i < 0 {
				break
			}
			at += i
			first, _ := utf8.DecodeRuneInString(word)
			if before, _ := utf8.DecodeLastRuneInString(folded[:at]); isUnspaced(first) || !isWord(before) {
				return true
			}
		}
	}
	return false
}

// isStaged reports whether an answer begins with what its part does, between single asterisks on a line.
func isStaged(answer string) bool {
	rest, ok := strings.CutPrefix(answer, "*")
	if first, _ := utf8.DecodeRuneInString(rest); !ok || first == '*' || unicode.IsSpace(first) {
		return false
	}
	direction, _, ok := strings.Cut(plaintext.Head(rest, maxDirection), "*")
	last, _ := utf8.DecodeLastRuneInString(direction)
	return ok && !unicode.IsSpace(last) && !strings.Contains(direction, "\n")
}
