package demo

// Echo is the name of the model that says what the user says, so that whoever writes a
// parser can see what the gateway makes of a text.
const Echo = "echo"

// echoModel answers with the prompt as it is, whatever tools there are. Behind results it
// answers with them, so that an app's loop of calls comes to an end.
func echoModel() model {
	return model{
		name: Echo,
		decide: func(r *request) answer {
			if results := r.results(); len(results) > 0 {
				return findings(results...)
			}
			return answer{text: r.prompt()}
		},
		write: func(a answer) output { return output{text: a.text} },
	}
}
