package toolresult_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/internal/toolresult"
)

// TestRefused reads plain sentences of tools that change something.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Seat 12A is already taken.":                                    true,
		"The reservation does not belong to this user.":                 true,
		"Payment declined by issuer":                                    true,
		"Insufficient funds":                                            true,
		"non-pending order cannot be cancelled":                         true,
		"Gift card balance is not enough to cover the price difference": true,
		"Der Termin konnte nicht angelegt werden.":                      true,
		"Die Bestellung ist bereits versandt":                           true,
		"No se pudo enviar el correo.":                                  true,
		"予約できませんでした。":                                                   true,
		"Η κράτηση":                                                     false,
		"OK":                                                            false,
		"":                                                              false,
		"Order W1 cancelled.":                                           false,
		"Sent. It can't be recalled.":                                   false,
		"The order has been cancelled. It is not possible to undo this.":   false,
		"Reservation ZX81 booked for 2 guests. Breakfast is not included.": false,
		"Transfer successful":                     false,
		`{"note":"this cannot be undone"}`:        false,
		"Task saved, no conflicts":                false,
		"The file was saved but it is not linked": false,
		"Nieuwe afspraak gemaakt op dinsdag":      false,
		"Rezervace byla zrušena.":                 false,
	} {
		if got := toolresult.Failed([]byte(text), toolresult.Refused); got != want {
			t.Errorf("%q: got refused %v, want %v", text, got, want)
		}
	}
}
