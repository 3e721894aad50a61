package airbyte

import (
	"fmt"
	"strings"
)

// postfix is a name, a text, a number or a list, and what is taken of it.
func (p *parser) postfix() (value, error) {
	t := p.peek()
	p.at++
	switch {
	case t.kind == 's':
		return p.tail(literal(t.text))
	case t.kind == 'd':
		return value{text: t.text}, nil
	case t.kind == 'o' && t.text == "-" && p.peek().kind == 'd':
		p.at++
		return value{text: "-" + p.tokens[p.at-1].text}, nil
	case t.kind == 'o' && t.text == "(":
		v, err := p.choice()
		if err == nil && p.take(")") == "" {
			err = fmt.Errorf("a bracket in it is not closed")
		}
		if err != nil {
			return v, err
		}
		return p.tail(v)
	case t.kind == 'o' && t.text == "[":
		all, err := p.list("]")
		var texts []string
		for _, v := range all {
			texts = append(texts, v.text)
		}
		return value{text: "[" + strings.Join(texts, ", ") + "]"}, err
	case t.kind == 'o' && t.text == "{" && p.take("}") != "":
		return value{text: "{}"}, nil
	case t.kind == 'n':
		return p.named(t.text)
	}
	return value{}, fmt.Errorf("%q is not understood there", t.text)
}

func (p *parser) list(end string) ([]value, error) {
	var all []value
	for {
		if p.take(end) != "" {
			return all, nil
		}
		v, err := p.choice()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
		if p.take(",") == "" && p.peek().text != end {
			return nil, fmt.Errorf("a bracket in it is not closed")
		}
	}
}

// named is what begins with a name: a word, a function, or a path.
func (p *parser) named(name string) (value, error) {
	switch name {
	case "true", "True":
		return value{text: "true", truth: true}, nil
	case "false", "False":
		return value{text: "false", truth: true}, nil
	case "none", "None", "null":
		return value{text: "nil"}, nil
	}
	if p.take("(") != "" {
		args, err := p.list(")")
		if err != nil {
			return value{}, err
		}
		return called(name, args)
	}
	return p.tail(value{root: name})
}

// called is a function.
func called(name string, args []value) (value, error) {
	switch {
	case name == "format_datetime" && len(args) == 2 && args[1].literal != nil:
		as := cursorForm(*args[1].literal)
		if as == "" {
			return value{}, fmt.Errorf("times cannot be written as %s", shorten(*args[1].literal))
		}
		return value{text: map[string]string{"iso": "iso", "epoch": "epoch", "epoch_ms": "epoch_ms", "date": "day"}[as] + "(" + args[0].text + ")"}, nil
	case name == "timestamp" && len(args) == 1:
		return value{text: "epoch(" + args[0].text + ")"}, nil
	case (name == "str" || name == "string") && len(args) == 1:
		return value{text: "string(" + args[0].text + ")"}, nil
	case (name == "int" || name == "float") && len(args) == 1:
		return value{text: name + "(" + args[0].text + ")"}, nil
	}
	return value{}, fmt.Errorf("the function %s is not there", shorten(name))
}

// tail is what follows a value: members, methods. A path from a name is gathered as a
// whole before the scope is asked what it means.
func (p *parser) tail(v value) (value, error) {
	var fallback *value
	for {
		switch {
		case p.take(".") != "":
			name := p.peek()
			p.at++
			if name.kind != 'n' && name.kind != 'd' {
				return v, errNotSaid
			}
			if p.take("(") == "" {
				v.path = append(v.path, name.text)
				continue
			}
			args, err := p.list(")")
			if err != nil {
				return v, err
			}
			if name.text == "get" && v.root != "" && len(args) > 0 && args[0].literal != nil {
				v.path = append(v.path, *args[0].literal)
				fallback = nil
				if len(args) > 1 && args[1].text != "{}" && args[1].text != "nil" {
					fallback = &args[1]
				}
				continue
			}
			if v, err = p.meaning(v, fallback); err != nil {
				return v, err
			}
			if v, err = applied(name.text, v, args); err != nil {
				return v, err
			}
			fallback = nil
		case p.take("[") != "":
			at, err := p.choice()
			if err == nil && p.take("]") == "" {
				err = fmt.Errorf("a bracket in it is not closed")
			}
			switch {
			case err != nil:
				return v, err
			case at.literal != nil:
				v.path = append(v.path, *at.literal)
			default:
				v.path = append(v.path, at.text)
			}
		default:
			return p.meaning(v, fallback)
		}
	}
}

// meaning asks the scope what a path from a name means.
func (p *parser) meaning(v value, fallback *value) (value, error) {
	if v.root == "" || v.text != "" {
		if len(v.path) > 0 {
			v = value{text: dotted("("+v.text+")", v.path)}
		}
		return v, nil
	}
	made, err := p.scope.name(v.root, v.path)
	if err == nil && fallback != nil {
		made = made.or(*fallback)
	}
	return made, err
}

// cursorForm is our word for a format of instants, "" if there is none.
func cursorForm(format string) string {
	switch {
	case format == "%s":
		return "epoch"
	case format == "%ms", format == "%epoch_ms":
		return "epoch_ms"
	case format == "%Y-%m-%d":
		return "date"
	case strings.HasPrefix(format, "%Y-%m-%dT%H:%M:%S"):
		return "iso"
	}
	return ""
}
