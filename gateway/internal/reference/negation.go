package reference

import "strings"

// negates says whether leaving a word out turns the meaning of a text round.
func (w *word) negates() bool {
	return negation(w.base) || negation(w.text) || strings.HasSuffix(w.text, "n't") || strings.HasSuffix(w.text, "n’t")
}

// negation knows the words that negate, in the languages that most users write, as
// they are and without accents. Some mean other things too, which does no harm: the
// model is asked once more.
func negation(word string) bool {
	switch word {
	case "no", "not", "nor", "none", "never", "nothing", "nobody", "without", "except", "cannot", "cant", "dont", "wont", "isnt",
		"arent", "doesnt", "didnt", "shouldnt", "mustnt", "couldnt", "wouldnt", "hasnt", "havent",
		"nicht", "nichts", "kein", "keine", "keinen", "keinem", "keiner", "keines", "nie", "niemals", "ohne", "ausser", // German
		"ne", "n", "pas", "jamais", "rien", "aucun", "aucune", "sans", "sauf", // French; n is that of n'oublie
		"nunca", "nada", "ningun", "ninguna", "sin", "nao", "nem", "sem", "non", "mai", "senza", "nessun", "nessuna", // Spanish, Portuguese, Italian
		"niet", "geen", "nooit", "zonder", "inte", "ingen", "inget", "aldrig", "utan", "ikke", "aldri", "uden", "uten", "ei", "ala", // Dutch, Scandinavian, Finnish
		"nigdy", "bez", "nu", "fara", "yok", "degil", // Polish, Czech, Romanian, Turkish
		"не", "ни", "нет", "без", "никогда", "немає", "ніколи", // Russian, Ukrainian
		"لا", "ليس", "لم", "لن", "بدون", "לא", "אין", "בלי", // Arabic, Hebrew
		"नहीं", "मत", "न", "안", "못", "khong", "dung", "chua", "jangan", "tidak", "bukan", "tanpa": // Hindi, Korean, Vietnamese, Indonesian
		return true
	}
	return false
}

// negatingSigns are those of scripts without blanks: Chinese, Japanese and Thai.
var negatingSigns = [...]string{"不", "没", "沒", "別", "别", "未", "無", "无", "勿", "莫", "ない", "なし", "ません", "ไม่", "อย่า"}
