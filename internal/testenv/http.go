package testenv

import "net/http"

// Transport and Client are for the requests of tests. The close of any httptest.Server of the process ends connections
// of http.DefaultTransport, also those that a parallel test has just taken.
var (
	Transport = http.DefaultTransport.(*http.Transport).Clone()
	Client    = &http.Client{Transport: Transport}
)
