package maplestory

import "net/http"

// Code is an error of the API.
type Code int

// The errors of the API.
const (
	OK                Code = 0
	Internal          Code = 1
	Forbidden         Code = 2
	InvalidIdentifier Code = 3
	InvalidParameter  Code = 4
	InvalidKey        Code = 5
	InvalidPath       Code = 6
	QuotaExceeded     Code = 7
	BeingPrepared     Code = 9
	GameMaintenance   Code = 10
	APIMaintenance    Code = 11
)

// Status is the HTTP status that comes with the error.
func (c Code) Status() int {
	switch c {
	case OK:
		return http.StatusOK
	case Internal:
		return http.StatusInternalServerError
	case Forbidden:
		return http.StatusForbidden
	case QuotaExceeded:
		return http.StatusTooManyRequests
	case APIMaintenance:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// Name is what the API calls the error; empty for none.
func (c Code) Name() string {
	if c == OK {
		return ""
	}
	return "OPENAPI000" + string([]byte{'0' + byte(c/10), '0' + byte(c%10)})
}

func (c Code) message() string {
	switch c {
	case Internal:
		return "Internal server error"
	case Forbidden:
		return "Forbidden"
	case InvalidIdentifier:
		return "Please input valid identifier"
	case InvalidParameter:
		return "Please input valid parameter"
	case InvalidKey:
		return "Please input valid api key"
	case InvalidPath:
		return "Please input valid path"
	case QuotaExceeded:
		return "API quota exceeded"
	case BeingPrepared:
		return "Data is being prepared"
	case GameMaintenance:
		return "Game is under maintenance"
	case APIMaintenance:
		return "API is under maintenance"
	}
	return ""
}

// Body is the JSON that the API answers with.
func (c Code) Body() string {
	return `{"error":{"name":"` + c.Name() + `","message":"` + c.message() + `"}}`
}
