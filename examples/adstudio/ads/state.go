package ads

// State is what the tools say of an ad: what it is for, and its current drafts.
type State struct {
	ID       string       `json:"ad_id"`
	Title    string       `json:"title"`
	Brief    string       `json:"brief"`
	Language string       `json:"language,omitempty"`
	Market   string       `json:"market,omitempty"`
	Budget   string       `json:"budget,omitempty"`
	Voice    *Draft       `json:"voice,omitempty"` // the active version, else the last
	Music    *Draft       `json:"music,omitempty"`
	SFX      *Draft       `json:"sfx,omitempty"`
	Versions map[Kind]int `json:"versions"` // how many there are
	Active   map[Kind]int `json:"active"`   // which the user has chosen
}

// State is what the tools say of the ad.
func (a *Ad) State() State {
	s := State{
		ID: a.ID, Title: a.Title, Brief: a.Brief, Language: a.Language, Market: a.Market, Budget: a.Budget,
		Voice: a.Current(Voice), Music: a.Current(Music), SFX: a.Current(SFX), Versions: map[Kind]int{}, Active: map[Kind]int{},
	}
	for _, k := range Kinds() {
		s.Versions[k] = len(a.Versions(k))
		if v := a.Active[k]; v > 0 {
			s.Active[k] = v
		}
	}
	return s
}
