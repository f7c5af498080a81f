// Package browser has only tests: the dashboard in a real Chromium, against
// a real server in the same process, with agents that are real processes.
// Without Chromium the tests skip, and fail where the environment says CI.
package browser
