package airbyte_test

import (
	"strings"
	"testing"

	"sluice/internal/source/declared"
	"sluice/internal/source/declared/airbyte"
)

// head begins a manifest of a shop; the streams follow.
const head = `version: 6.0.0
type: DeclarativeSource
definitions:
  requester:
    type: HttpRequester
    url_base: "https://{{ config['shop'] }}.shop.example/v1/"
    http_method: GET
    authenticator: {type: BearerAuthenticator, api_token: "{{ config['api_key'] }}"}
  selector:
    type: RecordSelector
    extractor: {type: DpathExtractor, field_path: [data, items]}
  base:
    type: DeclarativeStream
    primary_key: id
    retriever:
      type: SimpleRetriever
      requester: {$ref: "#/definitions/requester", path: "{{ parameters['path'] }}"}
      record_selector: {$ref: "#/definitions/selector"}
spec:
  connection_specification:
    properties:
      shop: {type: string, default: first}
      api_key: {type: string, airbyte_secret: true}
      start_date: {type: string}
streams:
`

// stream is one of the shop with more about its retriever.
func stream(name, more string) string {
	return `  - type: DeclarativeStream
    name: ` + name + `
    primary_key: id
    $parameters: {path: /` + name + `}
    retriever:
      $ref: "#/definitions/base/retriever"
` + more
}

func imported(t *testing.T, manifest string) *airbyte.Result {
	t.Helper()
	res, err := airbyte.Import("shop", []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// plan is the file as it plans once it states a ration.
func plan(t *testing.T, res *airbyte.Result) *declared.File {
	t.Helper()
	f, mistakes := declared.Load([]byte(strings.Replace(res.File, "ration: {}", "ration: unknown", 1)))
	if err := mistakes.Err("the file"); err != nil {
		t.Fatalf("%v\n%s", err, res.File)
	}
	return f
}

func remarked(res *airbyte.Result, text string) bool {
	for _, r := range res.Remarks {
		if strings.Contains(r.String(), text) {
			return true
		}
	}
	return false
}

// TestPages: each way of pages comes out as ours.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct{ strategy, option, want string }{
		"number":             {"{type: PageIncrement, page_size: 50, start_from_page: 1}", "{type: RequestOption, inject_into: request_parameter, field_name: page}", "page: {type: page, param: page, start: 1, size: {per_page: 50}}"},
		"number from":        {"{type: PageIncrement, page_size: 50}", "{type: RequestOption, inject_into: request_parameter, field_name: page}", "page: {type: page, param: page, start: 0, size: {per_page: 50}}"},
		"offset":             {"{type: OffsetIncrement, page_size: 20}", "{type: RequestOption, inject_into: request_parameter, field_name: offset}", "page: {type: offset, param: offset, size: {per_page: 20}}"},
		"token":              {`{type: CursorPagination, page_size: 20, cursor_value: "{{ response.get('meta', {}).get('next') }}", stop_condition: "{{ not response.meta.more }}"}`, "{type: RequestOption, inject_into: request_parameter, field_name: after}", "page: {type: cursor, param: after, next: meta.next, more: meta.more, size: {per_page: 20}}"},
		"address":            {`{type: CursorPagination, cursor_value: "{{ response['links']['next'] }}", stop_condition: "{{ not response['links']['next'] }}"}`, "{type: RequestPath}", "page: {type: cursor, next: links.next}"},
		"address or nothing": {`{type: CursorPagination, cursor_value: "{{ response.get('next', '') if response.next is not none else '' }}", stop_condition: "{{ response.get('next') is none }}"}`, "{type: RequestPath}", "page: {type: cursor, next: next}"},
		"link":               {`{type: CursorPagination, cursor_value: "{{ headers['link']['next']['url'] }}"}`, "{type: RequestPath}", "page: {type: link}"},
		"header":             {`{type: CursorPagination, cursor_value: "{{ headers['X-Next'] }}"}`, "{type: RequestOption, inject_into: request_parameter, field_name: after}", "page: {type: cursor, param: after, next: {header: X-Next}}"},
		"last record":        {`{type: CursorPagination, cursor_value: "{{ last_record['id'] }}"}`, "{type: RequestOption, inject_into: request_parameter, field_name: after}", "page: {type: keyset, param: after, by: id}"},
	} {
		t.Run(name, func(t *testing.T) {
			res := imported(t, head+stream("orders", `      paginator:
        type: DefaultPaginator
        pagination_strategy: `+c.strategy+`
        page_token_option: `+c.option+`
        page_size_option: {type: RequestOption, inject_into: request_parameter, field_name: per_page}
`))
			plan(t, res)
			for _, want := range []string{c.want, "base: https://{config.shop}.shop.example/v1", "auth: bearer", "get: /orders", "records: data.items", "key: id"} {
				if !strings.Contains(res.File, want) {
					t.Errorf("there is no %q in\n%s", want, res.File)
				}
			}
		})
	}
}

// TestRationAsked: a file without a ration is refused with a remedy; one of a manifest
// that states it is not.
func TestRationAsked(t *testing.T) {
	res := imported(t, head+stream("orders", ""))
	_, mistakes := declared.Load([]byte(res.File))
	if len(mistakes) != 1 || mistakes[0].Path != "ration" || mistakes[0].Remedy == "" || res.Rationed {
		t.Errorf("%v, rationed %v\n%s", mistakes, res.Rationed, res.File)
	}
	res = imported(t, head+stream("orders", "")+`api_budget:
  type: HTTPAPIBudget
  policies:
    - {type: MovingWindowCallRatePolicy, rates: [{limit: 60, interval: PT1M}], matchers: []}
    - {type: FixedWindowCallRatePolicy, call_limit: 1000, period: P1D, matchers: []}
`)
	f, mistakes := declared.Load([]byte(res.File))
	if len(mistakes) > 0 || !res.Rationed || len(f.Rations) != 2 || f.Rations[0].Calls != 60 || f.Rations[1].Calls != 1000 {
		t.Errorf("%v\n%s", mistakes, res.File)
	}
}

// TestFamily: a child's partition becomes the field of its parent, also of one that the
// manifest does not list, and of a grandparent.
func TestFamily(t *testing.T) {
	parent := `      partition_router:
        type: SubstreamPartitionRouter
        parent_stream_configs:
          - {type: ParentStreamConfig, parent_key: id, partition_field: order, stream: {type: DeclarativeStream, name: orders, primary_key: id, $parameters: {path: /orders}, retriever: {$ref: "#/definitions/base/retriever"}}}
      requester: {$ref: "#/definitions/requester", path: "orders/{{ stream_partition.order }}/lines"}
`
	res := imported(t, head+stream("lines", parent))
	plan(t, res)
	for _, want := range []string{"of: orders", "get: /orders/{orders.id}/lines"} {
		if !strings.Contains(res.File, want) {
			t.Errorf("there is no %q in\n%s", want, res.File)
		}
	}
	if !remarked(res, "its parent orders is collected as a stream of its own") || res.Streams != 1 || res.Imported != 2 || res.Missing != 0 {
		t.Errorf("%+v", res)
	}
}

// TestSince: a cursor of time is asked since, with its form, its beginning and its
// overlap, in slices where the manifest tells the end of one.
func TestSince(t *testing.T) {
	res := imported(t, head+stream("orders", "")+`    incremental_sync:
      type: DatetimeBasedCursor
      cursor_field: updated_at
      datetime_format: "%s"
      start_datetime: {type: MinMaxDatetime, datetime: "2024-01-01T00:00:00Z", datetime_format: "%Y-%m-%dT%H:%M:%SZ"}
      lookback_window: P1D
      step: P30D
      start_time_option: {type: RequestOption, inject_into: request_parameter, field_name: since}
      end_time_option: {type: RequestOption, inject_into: request_parameter, field_name: until}
`)
	plan(t, res)
	for _, want := range []string{"since: '{cursor}'", "version: updated_at", `cursor: {as: epoch, start: "2024-01-01T00:00:00Z", overlap: 24h0m0s}`, "until: '{until}'", "window: 720h0m0s"} {
		if !strings.Contains(res.File, want) {
			t.Errorf("there is no %q in\n%s", want, res.File)
		}
	}
	if remarked(res, "until") {
		t.Errorf("%v", res.Remarks)
	}
}

// TestCredentials: each kind comes out as ours, or says what it is not.
func TestCredentials(t *testing.T) {
	for from, want := range map[string][2]string{
		`{type: ApiKeyAuthenticator, api_token: "Token {{ config['api_key'] }}", inject_into: {inject_into: header, field_name: X-Key}}`:      {`auth: {header: X-Key, prefix: 'Token '}`, ""},
		`{type: ApiKeyAuthenticator, api_token: "{{ config['api_key'] }}", inject_into: {inject_into: request_parameter, field_name: token}}`: {"auth: {query: token}", ""},
		`{type: BasicHttpAuthenticator, username: "{{ config['user'] }}", password: "{{ config['api_key'] }}"}`:                               {"auth: basic", "NAME is config['user']"},
		`{type: OAuthAuthenticator, client_id: x}`:                                                                {"auth: bearer", "OAuth2 cannot be told"},
		`{type: OAuthAuthenticator, grant_type: password, token_refresh_endpoint: "https://login.example/token"}`: {"auth: bearer", "OAuth2 cannot be told"},
		`{type: OAuthAuthenticator, grant_type: client_credentials, token_refresh_endpoint: "https://login.example/token", client_id: "{{ config['user'] }}", client_secret: "{{ config['api_key'] }}", scopes: [a, b]}`: {
			"auth: {oauth2: {token: 'https://login.example/token', grant: client_credentials, scope: a b}}", "the credential is CLIENT:SECRET, where CLIENT is config['user']"},
		`{type: OAuthAuthenticator, token_refresh_endpoint: "https://{{ config['shop'] }}.example/token", client_id: "{{ config['user'] }}", client_secret: "{{ config['api_key'] }}", refresh_token: "{{ config['api_key'] }}", refresh_request_headers: {Authorization: Basic}}`: {
			"grant: refresh_token, client: header", "CLIENT:SECRET:REFRESH"},
		`{type: SelectiveAuthenticator, authenticators: {a: {type: OAuthAuthenticator}, b: {type: BasicHttpAuthenticator}}}`:                   {"auth: basic", "of several credentials b is taken"},
		`{type: SessionTokenAuthenticator, request_authentication: {type: ApiKey, inject_into: {inject_into: header, field_name: X-Session}}}`: {"auth: {header: X-Session}", "a token of a session that somebody else begins"},
		`{type: NoAuth}`: {"ration: {}", ""},
	} {
		res := imported(t, strings.Replace(head, `{type: BearerAuthenticator, api_token: "{{ config['api_key'] }}"}`, from, 1)+stream("orders", ""))
		plan(t, res)
		if !strings.Contains(res.File, want[0]) || want[1] != "" && !remarked(res, want[1]) {
			t.Errorf("%s becomes\n%s%v", from, res.File, res.Remarks)
		}
	}
	secret := strings.Replace(head, `api_token: "{{ config['api_key'] }}"}`, `api_token: x}`, 1) + stream("orders", "") +
		stream("leaks", `      requester: {$ref: "#/definitions/requester", path: "/x/{{ config['api_key'] }}"}`+"\n")
	res := imported(t, secret)
	if strings.Contains(res.File, "api_key") || !remarked(res, "stream leaks: left out: its address: config.api_key is a secret") {
		t.Errorf("a secret goes into the file:\n%s%v", res.File, res.Remarks)
	}
}

// TestJinja: expressions keep their meaning, and what is not understood is said with
// its line.
func TestJinja(t *testing.T) {
	for from, want := range map[string]string{
		`{{ config['shop'] }}`:                             `{config.shop}`,
		`{{ config.get('shop', 'x') }}`:                    `{(config.shop != "" ? config.shop : "x")}`,
		`a-{{ config.shop | upper }}`:                      `a-{upper(config.shop)}`,
		`{{ 'x' if config.shop == 'a' else 'y' }}`:         `{((config.shop == "a") ? "x" : "y")}`,
		`{{ config.shop ~ '-' ~ 1 }}`:                      `{(string((string(config.shop) + string("-"))) + string(1))}`,
		`{{ format_datetime(config.start_date, '%s') }}`:   `{epoch(config.start_date)}`,
		`{{ config.shop.replace('a', 'b').strip() }}`:      `{trim(replace(string(config.shop), "a", "b"))}`,
		`{{ config.shop or 'all' }}`:                       `{((config.shop != "") ? config.shop : "all")}`,
		`{{ 'n' if config.shop in ['a', 'b'] and not 0 }}`: `{(((config.shop in ["a", "b"]) and not (0 not in [nil, "", 0, false])) ? "n" : "")}`,
		`{"a": 1}`:                                          `{{"a": 1}}`,
		`{{ "nothing" }}`:                                   `nothing`,
		`{{ config.credentials['key-name'] }}`:              `{config.credentials_key_name}`,
		`{% if x %}y{% endif %}`:                            "",
		`{{ now_utc() }}`:                                   "",
		`{{ open('/etc/passwd') }}`:                         "",
		`{{ ''.__class__.__mro__[1].__subclasses__() }}`:    "",
		`{{ ` + strings.Repeat("(", 500) + ` }}`:            "",
		`{{ ` + strings.Repeat("not ", 900) + `config.x }}`: "",
	} {
		res, err := airbyte.Import("shop", []byte(head+stream("orders", `      requester:
        $ref: "#/definitions/requester"
        path: /orders
        request_parameters:
          made: >-
            `+from+"\n")))
		switch {
		case want == "" && (err == nil || !strings.Contains(err.Error(), "the parameter made")):
			t.Errorf("%s is not refused: %v", from, err)
		case want != "" && err != nil:
			t.Errorf("%s: %v", from, err)
		case want != "" && !strings.Contains(strings.ReplaceAll(res.File, "''", "'"), want):
			t.Errorf("%s does not become %s:\n%s", from, want, res.File)
		}
	}
}
