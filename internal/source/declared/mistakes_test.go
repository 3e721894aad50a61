package declared_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/source/declared"
)

// change is a good file with some text replaced.
func change(old, other string) string {
	if !strings.Contains(shop, old) {
		panic("the file does not have " + old)
	}
	return strings.Replace(shop, old, other, 1)
}

// TestMistakes: every mistake is told with the line that it is in, and with what to
// do about it.
func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		line int
		says []string
	}{
		"an unknown key":            {change("title: name", "tittle: name"), 17, []string{`no key "tittle"`, `did you mean "title"?`}},
		"a missing key":             {change("    key: id\n", ""), 13, []string{`"key" is missing`, "add key"}},
		"a wrong type":              {change("size: {per_page: 2}", "size: {per_page: two}"), 14, []string{`"two" is not a whole number`}},
		"a list for a text":         {change("records: items", "records: [items]"), 15, []string{"it is a list", "give a path"}},
		"an unquoted brace":         {change(`get: "/orders/{orders.id}/lines"`, `get: {orders.id}`), 22, []string{"it is an object", "in quotes"}},
		"an unknown word":           {change("type: page", "type: pages"), 14, []string{`cannot be "pages"`, `did you mean "page"?`}},
		"a key twice":               {change("records: items", "records: items\n    records: other"), 16, []string{"twice"}},
		"no YAML":                   {"source: [", 1, []string{"mend the YAML"}},
		"something else":            {"- a\n- b", 1, []string{"begin with source"}},
		"nothing":                   {"", 1, []string{"begin with source"}},
		"an unknown parent":         {change("of: orders", "of: order"), 21, []string{`no stream "order"`, `did you mean "orders"?`}},
		"a cycle":                   {change("  orders:\n", "  orders:\n    of: lines\n"), 13, []string{"orders is of lines is of orders"}},
		"an expression":             {change("{orders.id}", "{orders.id +}"), 22, []string{"cannot be understood", "there are config"}},
		"an unknown name":           {change("{orders.id}", "{order.id}"), 22, []string{"unknown name order"}},
		"an unknown value":          {change("{config.url}", "{config.uri}"), 5, []string{"config.uri", `did you mean "url"?`}},
		"the credential":            {change("{orders.id}", "{secret}"), 22, []string{"unknown name secret"}},
		"the environment":           {change("{orders.id}", "{env('HOME')}"), 22, []string{"cannot be understood"}},
		"a file of the disk":        {change("{orders.id}", "{file('/etc/passwd')}"), 22, []string{"cannot be understood"}},
		"another account":           {change("{orders.id}", "{accounts[0].token}"), 22, []string{"unknown name accounts"}},
		"an open brace":             {change("{orders.id}/lines", "{orders.id/lines"), 22, []string{"not closed"}},
		"an expression that counts": {change("{orders.id}", "{len(1..1000000)}"), 22, []string{"counts with"}},
		"members in members":        {change("    gone: [404]", "    where: any(record.a, any(record.b, true))"), 24, []string{"members within members"}},
		"no ration":                 {strings.Replace(shop, shop[strings.Index(shop, "ration:"):strings.Index(shop, "streams:")], "", 1), 2, []string{`"ration" is missing`}},
		"a ration of nothing":       {change("calls: 100, ", ""), 0, nil},
		"a ration without form":     {change(", as: epoch", ""), 9, []string{`"as" is missing`}},
		"a ration per planet":       {change("per: key", "per: planet"), 8, []string{`cannot be "planet"`}},
		"points of nothing":         {change("per: key", "per: key, unit: points"), 8, []string{"how many points", "give actual"}},
		"a cost of calls":           {change("per: key", "per: key, actual: X-Cost"), 8, []string{"give unit: points"}},
		"bytes at once":             {change("calls: 100, every: 1m", "calls: 100, shape: concurrent, unit: bytes"), 8, []string{"leave out unit"}},
		"a share":                   {change("keep: 10", "use: 110%"), 8, []string{"share from 1%"}},
		"a zone":                    {change("every: 1m", "every: day, zone: Mars/North"), 8, []string{"no time zone"}},
		"auth without place":        {change("auth: {header: X-Key}", "auth: {prefix: Token}"), 6, []string{"where the credential goes"}},
		"an offset without size":    {change("type: page, param: page, size: {per_page: 2}", "type: offset, param: o"), 14, []string{"grows by the size"}},
		"a cursor without token":    {change("type: page, param: page", "type: cursor, param: c"), 14, []string{"where the token is"}},
		"changes without since":     {change("    gone: [404]", "    changes: {get: /lines}"), 24, []string{"{cursor}"}},
		"changes of nobody":         {change("    gone: [404]", `    changes: {get: "/lines?since={cursor}"}`), 24, []string{"which of them a record belongs to"}},
		"a condition on a parent":   {change("    title: name", "    conditional: etag"), 17, []string{"shows no records"}},
		"a sweep of a listing":      {change("    gone: [404]", "    sweep: {get: /lines, every: 1h}"), 24, []string{"leave it out"}},
		"a column":                  {change("price: {at", "title: {at"), 18, []string{"every table has"}},
		"a name":                    {change("source: shop", "source: My Shop"), 2, []string{"small letters"}},
		"a path":                    {change("records: items", "records: $.items[0]"), 15, []string{"is not a path"}},
		"another scheme":            {change("https://shop.example", "ftp://shop.example"), 5, []string{"only https://"}},
		"a credential in the base":  {change("https://shop.example", "https://a:b@shop.example"), 5, []string{"see auth"}},
		"another host":              {change("get: /orders\n", "get: https://other.example/orders\n"), 13, []string{"other.example", "only shop.example is ever called"}},
		"no address":                {change("get: /orders\n", "get: orders\n"), 13, []string{"begin with /"}},
		"a way out":                 {change("get: /orders\n", "get: /a/%2E%2e/orders\n"), 13, []string{"leads out"}},
		"a header of two lines":     {change("auth:", "headers: {X-A: \"b\\r\\nX-B: c\"}\nauth:"), 6, []string{"no header can hold"}},
		"a prefix of two lines":     {change("{header: X-Key}", "{header: X-Key, prefix: \"b\\n\"}"), 6, []string{"no header can hold"}},
		"no header":                 {change("auth:", "headers: {'X A': b}\nauth:"), 6, []string{"cannot be a header"}},
		"a second document":         {shop + "---\nsource: other\n", 25, []string{"second document"}},
		"a token from nowhere":      {change("{header: X-Key}", "{oauth2: {grant: client_credentials}}"), 6, []string{`"token" is missing`}},
		"a session of nobody":       {change("{header: X-Key}", "{header: X-Key, session: {post: /login, token: t}}"), 6, []string{"does not show the credential"}},
		"a choice that is none":     {change("{header: X-Key}", "{one_of: [{type: bearer}, {type: basic}]}"), 6, []string{"it always holds"}},
		"a secret of elsewhere":     {change("get: /orders\n", "get: '/orders/{password}'\n"), 13, []string{"unknown name password"}},
		"a window of no end":        {change("    gone: [404]", "    window: 1d"), 24, []string{"{cursor} and {until}"}},
		"a window of no begin":      {change(`/lines"`, `/lines?a={cursor}&b={until}"`) + "    window: 1d\n", 25, []string{"where the first slice begins"}},
		"a window of nothing":       {change("    gone: [404]", "    window: 0d"), 24, []string{"too short"}},
		"a window of months":        {change("    gone: [404]", "    window: 1M"), 24, []string{"is not a duration"}},
		"a begin that is none":      {change("    gone: [404]", "    cursor: {start: soon}"), 24, []string{"is not an instant"}},
		"an end without a window":   {change(`/lines"`, `/lines?b={until}"`), 22, []string{"unknown name until"}},
		"a count of nobody":         {change("    gone: [404]", "    count: {get: /n, at: n}"), 24, []string{"does not say which"}},
		"a port":                    {change("https://shop.example", "https://shop.example:99999"), 5, []string{"no port 99999"}},
		"an address in an address":  {change("https://shop.example", "http://https://shop.example"), 5, []string{"an address within the address"}},
		"an address of two lines":   {change("get: /orders\n", "get: \"/or\\nders\"\n"), 13, []string{"no address can have"}},
		"a condition that counts":   {change("    gone: [404]", "    where: record.a + 1"), 24, []string{"neither true nor false"}},
		"a condition that is text":  {change("    gone: [404]", "    where: upper(record.a)"), 24, []string{"neither true nor false"}},
		"letters that are none":     {shop + "title: \xe9\n", 25, []string{"UTF-8"}},
		"a character of no text":    {shop + "doc: a\x00b\n", 25, []string{"control"}},
		"one page and its size":     {change("    gone: [404]", "    page: {type: none, size: {n: 1}}"), 24, []string{"there is one page"}},
		"very many columns":         {change("    gone: [404]", "    columns: {"+manyColumns(101)+"}"), 24, []string{"101 columns, and 100 are the most"}},
		"a stream's name":           {change("  lines:", "  record:"), 21, []string{"cannot be a stream"}},
	} {
		_, mistakes := declared.Load([]byte(c.file))
		if c.says == nil {
			if len(mistakes) > 0 {
				t.Errorf("%s: %v", name, mistakes)
			}
			continue
		}
		if len(mistakes) == 0 {
			t.Errorf("%s is not noticed", name)
			continue
		}
		met := false
		for _, m := range mistakes {
			all := true
			for _, part := range c.says {
				all = all && strings.Contains(m.String(), part)
			}
			met = met || all && (m.Line == c.line || m.Line == c.line-1)
		}
		if !met {
			t.Errorf("%s: want line %d with %q, got %v", name, c.line, c.says, mistakes)
		}
	}
}

// TestEveryMistake: one file with several tells all of them at once.
func TestEveryMistake(t *testing.T) {
	file := strings.NewReplacer("title: name", "tittle: name", "every: 1m", "every: 1x", "type: page,", "type: pages,").Replace(shop)
	_, mistakes := declared.Load([]byte(file))
	if len(mistakes) != 3 {
		t.Errorf("not these: %v", mistakes)
	}
	file = strings.NewReplacer("title: name", "tittle: name", "price: {at", "id: {at", "calls: 100", "calls: many", "https://shop.example", "ftp://shop.example",
		"of: orders", "of: order", "keep: 10", "use: 110%").Replace(shop) + "---\na: b\n"
	_, mistakes = declared.Load([]byte(file))
	var all []string
	for _, m := range mistakes {
		all = append(all, m.String())
	}
	for _, want := range []string{"tittle", "every table has", "many", "only https://", `no stream "order"`, "share from", "second document"} {
		if n := strings.Count(strings.Join(all, "\n"), want); n != 1 {
			t.Errorf("%q is told %d times: %q", want, n, all)
		}
	}
	if len(mistakes) != 7 {
		t.Errorf("not these: %q", all)
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'k'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	if _, mistakes := declared.Load([]byte(bomb)); len(mistakes) == 0 {
		t.Error("a file that grows without end is read")
	}
}

// FuzzLoad: no text breaks what reads files.
func FuzzLoad(f *testing.F) {
	f.Add(shop)
	f.Add("source: x\nbase: \"{{\"\nstreams: {a: {get: \"{target\", key: [a, b]}}\nration: unknown")
	f.Add("a: &a\n  b: *a\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, mistakes := declared.Load([]byte(text))
		if (file == nil) == (len(mistakes) == 0) {
			t.Fatalf("%v, %v", file, mistakes)
		}
		if file != nil {
			if err := file.Describe().Kinds.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func manyColumns(n int) string {
	var all []string
	for _, i := range count(n) {
		all = append(all, fmt.Sprintf("c%d: x", i))
	}
	return strings.Join(all, ", ")
}

// TestLinesAreToldOnce: what is no YAML is told with one line.
func TestLinesAreToldOnce(t *testing.T) {
	_, mistakes := declared.Load([]byte("source: x\nbase: y\n\tz: 1\n"))
	if len(mistakes) != 1 || strings.Count(mistakes[0].String(), "line ") != 1 {
		t.Errorf("it says %v", mistakes)
	}
}
