package airbyte

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// value is a translated expression.
type value struct {
	text string
	// path are the names that lead to it from root, if it is nothing but that.
	root string
	path []string
	// truth says that it is true or false, literal that it is a text as written.
	truth   bool
	literal *string
}

// scope is what names mean at one place.
type scope struct {
	// name translates a path that begins with a name of Jinja.
	name func(root string, path []string) (value, error)
}

// parser reads Jinja and writes expr.
type parser struct {
	tokens []token
	at     int
	depth  int
	scope  scope
}

var errNotSaid = errors.New("there is no such expression here")

// translate makes an expression of expr out of one of Jinja.
func translate(text string, s scope) (value, error) {
	tokens, err := lex(text)
	if err != nil {
		return value{}, err
	}
	p := &parser{tokens: tokens, scope: s}
	v, err := p.choice()
	if err == nil && p.peek().kind != 0 {
		err = fmt.Errorf("%q is not understood there", p.peek().text)
	}
	return v, err
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take(texts ...string) string {
	t := p.peek()
	if t.kind == 'n' || t.kind == 'o' {
		for _, one := range texts {
			if t.text == one {
				p.at++
				return one
			}
		}
	}
	return ""
}

// choice is a if c else b.
func (p *parser) choice() (value, error) {
	if p.depth++; p.depth > 40 {
		return value{}, fmt.Errorf("it is nested too deep")
	}
	defer func() { p.depth-- }()
	yes, err := p.either()
	if err != nil || p.take("if") == "" {
		return yes, err
	}
	holds, err := p.either()
	if err != nil {
		return value{}, err
	}
	no := value{text: `""`}
	if p.take("else") != "" {
		if no, err = p.choice(); err != nil {
			return value{}, err
		}
	}
	made := value{text: "(" + holds.condition() + " ? " + yes.text + " : " + no.text + ")"}
	if no.empty() {
		made.root, made.path = yes.root, yes.path
	}
	return made, nil
}

// condition is the value as Python takes it where it asks whether something holds.
func (v value) condition() string {
	switch {
	case v.truth:
		return v.text
	case v.root == "config":
		return "(" + v.text + ` != "")`
	}
	return "(" + v.text + ` not in [nil, "", 0, false])`
}

func (p *parser) either() (value, error) {
	a, err := p.both()
	for err == nil && p.take("or") != "" {
		var b value
		if b, err = p.both(); err != nil {
			break
		}
		if a.truth || b.truth {
			a = value{text: "(" + a.condition() + " or " + b.condition() + ")", truth: true}
			continue
		}
		a = value{text: "(" + a.condition() + " ? " + a.text + " : " + b.text + ")"}
	}
	return a, err
}

func (p *parser) both() (value, error) {
	a, err := p.negated()
	for err == nil && p.take("and") != "" {
		var b value
		if b, err = p.negated(); err == nil {
			a = value{text: "(" + a.condition() + " and " + b.condition() + ")", truth: true}
		}
	}
	return a, err
}

func (p *parser) negated() (value, error) {
	if p.take("not") == "" {
		return p.compared()
	}
	if p.depth++; p.depth > 40 {
		return value{}, fmt.Errorf("it is nested too deep")
	}
	defer func() { p.depth-- }()
	v, err := p.negated()
	return value{text: "not " + v.condition(), truth: true}, err
}

func (p *parser) compared() (value, error) {
	a, err := p.sum()
	if err != nil {
		return a, err
	}
	if p.take("is") != "" {
		return p.test(a)
	}
	op := p.take("==", "!=", "<=", ">=", "<", ">", "in")
	if op == "" && p.take("not") != "" {
		if p.take("in") == "" {
			return a, errNotSaid
		}
		op = "not in"
	}
	if op == "" {
		return a, nil
	}
	b, err := p.sum()
	return value{text: "(" + a.text + " " + op + " " + b.text + ")", truth: true}, err
}

// test is what stands behind is.
func (p *parser) test(a value) (value, error) {
	op := "=="
	if p.take("not") != "" {
		op = "!="
	}
	switch {
	case p.take("none", "None") != "":
	case p.take("defined") != "":
		op = map[string]string{"==": "!=", "!=": "=="}[op]
	default:
		return a, fmt.Errorf("is %s is not known", p.peek().text)
	}
	if a.root == "config" {
		return value{text: "(" + a.text + " " + op + ` "")`, truth: true}, nil
	}
	return value{text: "(" + a.text + " " + op + " nil)", truth: true}, nil
}

func (p *parser) sum() (value, error) {
	a, err := p.filtered()
	for err == nil {
		op := p.take("+", "-", "~", "*", "/", "%")
		if op == "" {
			break
		}
		var b value
		if b, err = p.filtered(); err != nil {
			break
		}
		if op == "~" {
			a = value{text: "(string(" + a.text + ") + string(" + b.text + "))"}
			continue
		}
		a = value{text: "(" + a.text + " " + op + " " + b.text + ")"}
	}
	return a, err
}

// filtered is a value with filters behind it.
func (p *parser) filtered() (value, error) {
	v, err := p.postfix()
	for err == nil && p.take("|") != "" {
		name := p.peek()
		if name.kind != 'n' {
			return v, errNotSaid
		}
		p.at++
		var args []value
		if p.take("(") != "" {
			if args, err = p.list(")"); err != nil {
				return v, err
			}
		}
		v, err = applied(name.text, v, args)
	}
	return v, err
}

// applied is a value after a filter or a method.
func applied(name string, v value, args []value) (value, error) {
	switch {
	case len(args) == 0:
		if made, ok := map[string]string{
			"string": "string(%s)", "int": "int(%s)", "float": "float(%s)", "lower": "lower(%s)", "upper": "upper(%s)",
			"trim": "trim(%s)", "strip": "trim(%s)", "length": "len(%s)", "first": "first(%s)", "last": "last(%s)",
		}[name]; ok {
			return value{text: fmt.Sprintf(made, v.text)}, nil
		}
		if name == "safe" {
			return v, nil
		}
	case name == "default" || name == "d":
		return v.or(args[0]), nil
	case len(args) == 1 && (name == "split" || name == "join"):
		return value{text: name + "(" + v.text + ", " + args[0].text + ")"}, nil
	case len(args) == 1 && name == "startswith":
		return value{text: "(" + v.text + " startsWith " + args[0].text + ")", truth: true}, nil
	case len(args) == 2 && name == "replace":
		return value{text: "replace(string(" + v.text + "), " + args[0].text + ", " + args[1].text + ")"}, nil
	}
	return v, fmt.Errorf("%s is not known", shorten(name))
}

// empty says whether it stands for nothing.
func (v value) empty() bool {
	return v.text == `""` || v.text == "nil" || v.text == "{}" || v.text == "[]"
}

// or is the value, or another one where it is not there. Where that is nothing it is
// still a place.
func (v value) or(other value) value {
	made := value{text: "(" + v.text + " ?? " + other.text + ")"}
	if v.root == "config" {
		made.text = "(" + v.text + ` != "" ? ` + v.text + " : " + other.text + ")"
	}
	if other.empty() {
		made.root, made.path = v.root, v.path
	}
	return made
}

func literal(text string) value { return value{text: strconv.Quote(text), literal: &text} }

var (
	plainNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// worded are names that a path of expr cannot have behind a dot.
	worded = map[string]bool{"not": true, "in": true, "and": true, "or": true, "let": true, "if": true, "else": true, "nil": true, "true": true, "false": true, "matches": true, "contains": true}
)

// dotted writes a path: what is below a name that may be missing is nothing, not a
// mistake.
func dotted(root string, path []string) string {
	var all strings.Builder
	all.WriteString(root)
	for i, name := range path {
		dot, bracket := "?.", "?."
		if i == 0 {
			dot, bracket = ".", ""
		}
		_, err := strconv.Atoi(name)
		switch {
		case plainNames.MatchString(name) && !worded[name]:
			all.WriteString(dot + name)
		case err == nil:
			all.WriteString(bracket + "[" + name + "]")
		default:
			all.WriteString(bracket + "[" + strconv.Quote(name) + "]")
		}
	}
	return all.String()
}
