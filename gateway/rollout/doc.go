// Package rollout tries a change on a part of the requests: it says which arm a unit (a conversation,
// a user, a key) belongs to, counts how the arms do, says what the counts bear out, and stops an arm
// that does worse. It knows no request; the story of the gateway gives it units and results.
//
// Who belongs where is reckoned from a salt and the unit alone, so that many gateways agree without
// a word between them. The figures are those of this process.
package rollout
