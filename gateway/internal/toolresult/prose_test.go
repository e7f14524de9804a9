package toolresult_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/internal/toolresult"
)

// TestRefused reads plain sentences of tools that change something.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Seat 12A is already taken.":                                       true,
		"The reservation does not belong to this user.":                    true,
		"Payment declined by issuer":                                       true,
		"Insufficient funds":                                               true,
		"non-pending order cannot be cancelled":                            true,
		"Gift card balance is not enough to cover the price difference":    true,
		"Der Termin konnte nicht angelegt werden.":                         true,
		"Die Bestellung ist bereits versandt":                              true,
		"No se pudo enviar el correo.":                                     true,
		"予約できませんでした。":                                                      true,
		"Versand fehlgeschlagen: Der Mailserver antwortet nicht.":          true,
		"Quittierung abgelehnt: Schutzhaube ist offen.":                    true,
		"Inschakelen mislukt: keukenraam staat open.":                      true,
		"Upload aborted at 41%: connection reset by peer.":                 true,
		"Η κράτηση":                                                        false,
		"OK":                                                               false,
		"":                                                                 false,
		"Order W1 cancelled.":                                              false,
		"Sent. It can't be recalled.":                                      false,
		"The order has been cancelled. It is not possible to undo this.":   false,
		"Reservation ZX81 booked for 2 guests. Breakfast is not included.": false,
		"Transfer successful":                                              false,
		`{"note":"this cannot be undone"}`:                                 false,
		"Task saved, no conflicts":                                         false,
		"The file was saved but it is not linked":                          false,
		"Nieuwe afspraak gemaakt op dinsdag":                               false,
		"Rezervace byla zrušena.":                                          false,
	} {
		if got := toolresult.Failed([]byte(text), toolresult.Refused); got != want {
			t.Errorf("%q: got refused %v, want %v", text, got, want)
		}
	}
}

// TestOwnAct holds that a tool has not failed since its result says what it was called for.
func TestOwnAct(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		tool, result string
		failed       bool
	}{
		{"reject_application", `{"status":"rejected"}`, false},
		{"reject_application", `{"error":"the application is closed"}`, true},
		{"reject_application", "Cannot reject it: it is closed.", true},
		{"update_application", `{"status":"rejected"}`, true},
		{"declineInvitation", "Invitation declined.", false},
		{"send_invitation", "Invitation declined.", true},
		{"abort_job", "Job 17 aborted.", false},
		{"invalidate_token", "Token invalidated", false},
		{"report_error", "Error reported as #12", false},
		{"report_error", "Error: no such project", true},
		{"deny_request", "Request denied.", false},
		{"autoDeny", `{"status":"denied"}`, false},
		{"confirm_identity", `{"status":"denied"}`, true},
		{"report_error", `{"error":"no such project"}`, true},
		{"block_user", "User blocked by moderator", false},
	} {
		text := toolresult.WithoutAct(row.tool, []byte(row.result))
		if got := toolresult.Failed(text, toolresult.Likely) || toolresult.Failed(text, toolresult.Refused); got != row.failed {
			t.Errorf("%s: %q: got failed %v, want %v (%q)", row.tool, row.result, got, row.failed, text)
		}
	}
}
