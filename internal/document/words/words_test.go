package words_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/internal/document/words"
	"sluice/internal/domain"
)

func found(text string) (out []string) {
	for _, t := range words.Tokens(text) {
		out = append(out, t.Word)
	}
	return out
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		" -- ":                     "",
		"Fix the Bug-123 (again)!": "fix the bug 123 again",
		"snake_case camelCase":     "snake case camelcase",
		"Über Straße ÉCOLE naïve":  "uber strasse ecole naive",
		"u\u0308ber":               "uber",
		"ŁÓDŹ Ørsted Æsir ΣΟΦΟΣ σοφος": "lodz orsted aesir σοφοσ σοφοσ",
		"ﬁx ＦＵＬＬ ⅷ":                    "fix full viii",
		"検索エンジン v2":                    "検 索 エ ン ジ ン v2",
		"ｶﾞｷﾞ が":                       "ガ ギ が",
		"한국어 검색":                       "한 국 어 검 색",
		"ИЙ ий":                        "ии ии",
		"हिन्दी":                       "हिनदी",
		"a\xffb\x00c":                  "a b c",
		"😀x😀":                          "x",
		"\u0301":                       "",
	} {
		if got := strings.Join(found(text), " "); got != want {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
	long := strings.Repeat("é", 200)
	if got := found(long); len(got) != 1 || len(got[0]) > 128 || got[0] != found(long + "x")[0] {
		t.Errorf("a long word becomes %q", got)
	}
}

func TestWhereWordsAre(t *testing.T) {
	text := "Ein Über-Test, 検索"
	var parts []string
	for _, token := range words.Tokens(text) {
		parts = append(parts, text[token.Start:token.End])
	}
	if want := []string{"Ein", "Über", "Test", "検", "索"}; !slices.Equal(parts, want) {
		t.Errorf("words are at %q, want %q", parts, want)
	}
}

func TestIndexHasPairs(t *testing.T) {
	if got, want := words.Index("b 検索語 a", "B"), []string{"a", "b", "検", "検索", "索", "索語", "語"}; !slices.Equal(got, want) {
		t.Errorf("indexed by %q, want %q", got, want)
	}
}

func TestMatches(t *testing.T) {
	texts := words.NewTexts("Fix crash in parser_test.go", "The parser crashed: naïve état. 全文検索エンジン\nこんにちは")
	for query, want := range map[string]bool{
		"fix":                    true,
		"FIX Crash":              true,
		"fix crashed":            true,
		"fixed":                  false,
		"crash*":                 true,
		"cras*":                  true,
		`"fix crash"`:            true,
		`"crash fix"`:            false,
		`"crash in parser test"`: true,
		`"go the"`:               false, // a phrase lies in one text
		"parser_test.go":         true,
		"parser.test":            true,
		"test_parser":            false,
		"fix -parser":            false,
		"fix -parsers":           true,
		`fix -"parser crash"`:    true,
		`fix -"parser crashed"`:  false,
		"fix -pars*":             false,
		"fix -":                  true,
		"fix -- & !":             true,
		"naive ÉTAT":             true,
		"検索":                     true,
		"検":                      true,
		"全文 エンジン":                true,
		"索検":                     false,
		"検索*":                    true,
		"エンジンこん":                 true, // what a line ends does not end a phrase
		"parser_te*":             true,
		`fix"crash in"parser`:    true,
		`fix "" crash`:           true,
		"fix　crash":              true,
	} {
		q, err := words.Parse(query)
		if err != nil {
			t.Errorf("%q: %v", query, err)
			continue
		}
		if got := q.Matches(texts); got != want {
			t.Errorf("%q matches: %v, want %v", query, got, want)
		}
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	for _, query := range []string{"", " ", "-", "-fix", `"`, `fix "crash`, `""`, "*", "a*", "&& ||", strings.Repeat("x ", 33), strings.Repeat("x", 1025)} {
		if q, err := words.Parse(query); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%q is %+v with error %v, want code invalid", query, q, err)
		}
	}
}

func TestNeed(t *testing.T) {
	for query, want := range map[string]words.Need{
		"fix crash fix":        {Has: []string{"fix", "crash"}},
		`"fix the" par*`:       {Has: []string{"fix", "the"}, Begins: []string{"par"}},
		"fix -a -bb* -\"c d\"": {Has: []string{"fix"}, Lacks: []string{"a"}},
		"全文検索 x検":              {Has: []string{"全文", "文検", "検索", "x", "検"}},
		"foo_ba*":              {Has: []string{"foo"}, Begins: []string{"ba"}},
	} {
		q, err := words.Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Need(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q needs %+v, want %+v", query, got, want)
		}
	}
}

func TestSnippet(t *testing.T) {
	for _, c := range []struct{ query, text, want string }{
		{"crash", "A crash, and a Crash.", "A [crash], and a [Crash]."},
		{"a crash", "A crash", "[A] [crash]"},
		{`"a crash" crash`, "So, a crash", "So, [a crash]"},
		{"uber", "Die Übergröße ÜBER", "Die Übergröße [ÜBER]"},
		{"検索", "全文検索エンジン", "全文[検索]エンジン"},
		{"needle", strings.Repeat("hay ", 100) + "needle" + strings.Repeat(" hay", 100), strings.Repeat("hay ", 6) + "[needle]" + strings.Repeat(" hay", 12)},
		{"zebra", "nothing here", "-nothing here"},
	} {
		q, err := words.Parse(c.query)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := q.Snippet(words.NewTexts(c.text)[0], 80)
		if got := marked(s); got != strings.TrimPrefix(c.want, "-") || ok == strings.HasPrefix(c.want, "-") {
			t.Errorf("%q in %.30q…: %q (%v), want %q", c.query, c.text, got, ok, c.want)
		}
	}
}

// marked puts marks into brackets.
func marked(s words.Snippet) string {
	var out strings.Builder
	runes, at := []rune(s.Text), 0
	for _, m := range s.Marks {
		out.WriteString(string(runes[at:m.Start]) + "[" + string(runes[m.Start:m.End]) + "]")
		at = m.End
	}
	return out.String() + string(runes[at:])
}

// FuzzWords says what holds for any text: words stand where it is said, in order, are
// what they are found by, and are the same words when they are read again.
func FuzzWords(f *testing.F) {
	for _, text := range []string{"Fix the bug", "Über ﬁx 検索 ｶﾞ", "a\xff\u0301e\u0301", "한국어 हिन्दी", "İI ǅ ŉ ΐ"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, token := range words.Tokens(text) {
			if token.Start < last || token.End > len(text) || token.Start >= token.End || token.Word == "" || !utf8.ValidString(token.Word) {
				t.Fatalf("%q has %+v after %d", text, token, last)
			}
			last = token.Start
			if len(token.Word) > 120 {
				continue
			}
			if again := found(token.Word); strings.Join(again, "") != token.Word {
				t.Fatalf("%q has %q, which has %q", text, token.Word, again)
			}
		}
	})
}

// FuzzSearch says what holds for any search of any text: what matches has what the
// index is asked for, and a snippet has marks inside of it, in order.
func FuzzSearch(f *testing.F) {
	f.Add(`fix -bug "a phrase" pre*`, "A phrase, prefix and fix")
	f.Add("検索* 全", "全文検索")
	f.Add("İ*", "İstanbul")
	f.Fuzz(func(t *testing.T, query, text string) {
		q, err := words.Parse(query)
		if err != nil {
			if domain.CodeOf(err) != domain.CodeInvalid {
				t.Fatalf("%q: %v", query, err)
			}
			return
		}
		texts := words.NewTexts(text)
		if q.Matches(texts) && !q.Need().Satisfies(words.Index(text)) {
			t.Fatalf("%q matches %q, but the index %q lacks %+v", query, text, words.Index(text), q.Need())
		}
		s, _ := q.Snippet(texts[0], 40)
		at, n := 0, utf8.RuneCountInString(s.Text)
		for _, m := range s.Marks {
			if m.Start < at || m.End <= m.Start || m.End > n {
				t.Fatalf("%q in %q: marks %v of %d characters", query, text, s.Marks, n)
			}
			at = m.End
		}
		if n > 40 {
			t.Fatalf("a snippet of %d characters: %q", n, s.Text)
		}
	})
}
