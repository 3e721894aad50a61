package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/domain"
)

// lostForm is a form that was sent when its login had ended. It goes with the page that
// asks to log in again, and the page that it is of has it filled in afterwards; nothing
// of it is carried out by itself.
type lostForm struct {
	Action, At string
	Fields     []field
}

const (
	// lostAction and lostField begin the names under which the page to log in has it.
	lostAction, lostField = "lost", "lost."
)

// longestLost is how long a text may be that is kept: whoever logs in sends it again, before it
// is known who that is.
const longestLost = 16 << 10

// secretFields are what no page may have once it was typed.
var secretFields = []string{"token", "secret", "password"}

// lose keeps what a form has, but for secrets and what the page sets anew.
func lose(action string, form url.Values) *lostForm {
	f := &lostForm{Action: action, At: local(form.Get("next"))}
	for _, name := range sortedKeys(form) {
		if name == "next" || name == onceField || slices.Contains(secretFields, name) || len(form.Get(name)) > longestLost {
			continue
		}
		f.Fields = append(f.Fields, field{lostField + name, form.Get(name)})
	}
	return f
}

func sortedKeys(form url.Values) (names []string) {
	for name := range form {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// lostOf is the form that the page to log in has; nil for none.
func lostOf(form url.Values) *lostForm {
	if form.Get(lostAction) == "" {
		return nil
	}
	typed := url.Values{"next": {form.Get("next")}}
	for name, values := range form {
		if plain, is := strings.CutPrefix(name, lostField); is {
			typed[plain] = values
		}
	}
	return lose(form.Get(lostAction), typed)
}

// lostForms keep what was typed while somebody logs in again.
type lostForms struct{ *site }

// ended answers a form whose login has ended: it says so, and keeps what was typed.
func (s lostForms) ended(w http.ResponseWriter, r *http.Request) {
	lost := lose(r.PathValue("name"), r.PostForm)
	s.render(w, r, http.StatusUnauthorized, &page{
		Title: "Your login has ended", Template: "login.html", Bare: true, Data: &loginData{Next: lost.At, Lost: lost},
	}, nil)
}

// giveBack shows the page of a form that was lost, filled in.
func (s lostForms) giveBack(w http.ResponseWriter, r *http.Request, f *lostForm) {
	form := url.Values{}
	for _, one := range f.Fields {
		form.Set(strings.TrimPrefix(one.Name, lostField), one.Value)
	}
	s.showAgain(w, r, f.At, &refusedForm{
		action: f.Action, form: form, status: http.StatusOK,
		text: "You are logged in again. Nothing was done yet: what you had typed is here, but for secrets; send it once more.",
	})
}

// withLogin is a request of somebody who has just logged in.
func withLogin(r *http.Request, token string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), sessionKey{}, session{token: token}))
}

// hasEnded says whether whoever has sent a form is not logged in any more.
func hasEnded(v *visit, err error) bool {
	return domain.CodeOf(err) == domain.CodeUnauthorized && v != nil && v.who.Role == ""
}
