package buildinfo

import (
	"runtime/debug"
	"strings"
	"testing"
)

func TestABuildIsNamedByTheLinkerOrByGo(t *testing.T) {
	t.Parallel()
	vcs := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.time", Value: "2026-11-01T10:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}
	tests := []struct {
		name                       string
		linked                     [3]string
		build                      *debug.BuildInfo
		version, commit, committed string
	}{
		{"without any information", [3]string{}, nil, "dev", "", ""},
		{"go run", [3]string{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "dev", "", ""},
		{"go install of a version", [3]string{}, &debug.BuildInfo{Main: debug.Module{Version: "v0.2.0"}}, "v0.2.0", "", ""},
		{
			"go build in a changed clone",
			[3]string{},
			&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs}, "dev", "abc123+changes", "2026-11-01T10:00:00Z",
		},
		{
			"a release",
			[3]string{"v0.1.0", "def456", "2026-10-01T10:00:00Z"},
			&debug.BuildInfo{Main: debug.Module{Version: "v0.0.9"}, Settings: vcs}, "v0.1.0", "def456", "2026-10-01T10:00:00Z",
		},
	}
	defer func() { linkedVersion, linkedCommit, linkedDate = "", "", "" }()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			linkedVersion, linkedCommit, linkedDate = test.linked[0], test.linked[1], test.linked[2]
			got := read(test.build)
			if got.Version != test.version || got.Commit != test.commit || got.Date != test.committed {
				t.Errorf("got %+v", got)
			}
			if got.Go == "" || !strings.HasPrefix(got.String(), "taskyard "+test.version+"\n") {
				t.Errorf("String() = %q", got)
			}
		})
	}
}
