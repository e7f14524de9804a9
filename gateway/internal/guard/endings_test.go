package guard_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/ledger"
)

// TestEndingsThatDeny: an answer that says by the form of its verb that something could not be done contradicts no
// call that failed, and one that claims that it was done still does.
func TestEndingsThatDeny(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language, user, answer string
		contradiction          bool
	}{
		{"Turkish", "Hesabımı kapat.", "Hesabınız kapatılamadı.", false},
		{"Turkish", "Hesabımı kapat.", "Hesabınızı kapatamadım.", false},
		{"Turkish", "Hesabımı kapat.", "Hesap şu an kapatılamıyor.", false},
		{"Turkish", "Hesabımı kapat.", "Hesabınızı kapatamadık, daha sonra deneyin.", false},
		{"Turkish", "Hesabımı kapat.", "Hesabınız kapatıldı.", true},
		{"Turkish", "Hesabımı kapat.", "Hesabınızı kapattım. Komedi kanalı da hesabınızda.", true},
		{"Japanese", "アカウントを閉鎖してください。", "アカウントを閉鎖できませんでした。", false},
		{"Japanese", "アカウントを閉鎖してください。", "アカウントは閉じられませんでした。", false},
		{"Japanese", "アカウントを削除してください。", "アカウントを削除しました。", true},
		{"Korean", "계정을 닫아 주세요.", "계정을 닫지 못했습니다.", false},
		{"Korean", "계정을 삭제해 주세요.", "계정을 삭제하지 못하였습니다.", false},
		{"Korean", "계정을 삭제해 주세요.", "계정을 삭제하지 못했네요.", false},
		{"Korean", "계정을 삭제해 주세요.", "계정을 삭제했습니다.", true},
		{"Finnish", "Sulje tilini.", "Tiliä ei voitu sulkea.", false},
		{"Finnish", "Sulje tilini.", "En pystynyt sulkemaan tiliä.", false},
		{"Hungarian", "Zárd be a fiókomat.", "A fiókot nem sikerült bezárni.", false},
		{"Hungarian", "Zárd be a fiókomat.", "A fiók nem volt bezárható.", false},
	} {
		messages := []byte(`[{"role":"user","content":` + `"` + tt.user + `"` + `},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"close_account","arguments":"{}"}}]},` +
			`{"role":"tool","tool_call_id":"a","content":"{\"success\":false,\"error\":\"locked\"}"}]`)
		v := guard.New(guard.Settings{}).Begin(ledger.New(conversation.Read(messages), nil), []string{"close_account"}, guard.Choice{}).Judge(guard.Answer{Text: tt.answer, Done: true})
		if v.Contradiction != tt.contradiction {
			t.Errorf("%s: %q: got contradiction %t for %v, want %t", tt.language, tt.answer, v.Contradiction, v.Signals, tt.contradiction)
		}
	}
}
