package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
)

// signedIn makes the first admin by the link of the first line, and returns
// what a browser would be that is signed in.
func (s *server) signedIn() *http.Client {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	u, err := url.Parse(s.first)
	if err != nil {
		s.t.Fatal(err)
	}
	form := url.Values{"token": {u.Query().Get("token")}, "name": {"maya"}, "password": {"vorpal quince 84 lantern"}, "password2": {"vorpal quince 84 lantern"}}
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url()+"/setup", strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := c.Do(req)
	if err != nil || res.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("set-up: %v, %v", res, err)
	}
	res.Body.Close()
	return c
}

// runJob runs a background job of the server to its end.
func (s *server) runJob(token, name string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url()+"/scheduler/jobs/"+name+"/run", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	c := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Do(req)
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		s.t.Fatalf("job %s: %v, %v", name, res, err)
	}
	res.Body.Close()
}
