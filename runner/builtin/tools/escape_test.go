//go:build linux

package tools

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"taskyard/internal/testkit"
	"taskyard/runner/confine"
	"taskyard/runner/confine/escape"
)

func TestNothingEscapesFromBash(t *testing.T) {
	t.Parallel()
	confined(t)
	full := machineKernel()
	for _, tt := range []struct {
		name string
		kernel
	}{
		{"landlock", kernel{Kernel: full.Kernel}},
		{"bubblewrap", kernel{Kernel: confine.Kernel{Seccomp: true}, bwrap: full.bwrap}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "bubblewrap" && full.bwrap == "" {
				t.Skip("bubblewrap is missing, or does not work")
			}
			self, err := os.Executable()
			testkit.NoError(t, err)
			data, check := escape.Data(t)
			b := newBox(t, func(o *Options) { o.kernel, o.ReadOnly = &tt.kernel, []string{filepath.Dir(self)} })
			if unenforced := b.Level(); unenforced != Level(Options{kernel: &tt.kernel}) {
				t.Error(unenforced)
			}
			out := bash(t, b, self+" "+escape.Arg+" "+strconv.Itoa(os.Getpid())+" "+data)
			if tt.Landlock > 0 && tt.Unenforced() != "" {
				t.Skipf("%s: %s", tt.Unenforced(), out)
			}
			has(t, out, escape.Refused())
			check()
		})
	}
	escape.AsNobody(t)
}

func TestOrdinaryProgramsWorkInBash(t *testing.T) {
	t.Parallel()
	confined(t)
	b := newBox(t)
	for _, tt := range []struct{ name, command, want string }{
		{"chmod", "echo x > f && chmod 750 f && stat -c %a f && chmod +w,a+r f && stat -c %a f", "750\n754\n"},
		{"chmod of a tree", "mkdir -p d/e && touch d/e/f && chmod -R 700 d && stat -c %a d/e/f", "700\n"},
		{"chmod by an absolute path and a link", "ln -s f l; chmod 640 $PWD/l && stat -c %a f", "640\n"},
		{"a folder with a mode", "mkdir -m 711 m && stat -c %a m", "711\n"},
		{
			"touch", "touch -d @1000 f && stat -c %Y f && touch f && test $(stat -c %Y f) -gt 1000 && touch -h -d @5 l && stat -c %Y l",
			"1000\n5\n",
		},
		{"in its own folders", "echo 1 > $HOME/a && chmod 600 $HOME/a && touch -d @7 $TMPDIR/b && stat -c %Y $TMPDIR/b", "7\n"},
		{"copies keep modes and times", "chmod 640 f; touch -d @2000 f; cp -a f g && stat -c '%a %Y' g && mv g h", "640 2000\n"},
		{"archives", "mkdir -p a && echo x > a/x && chmod 700 a/x && touch -d @3000 a/x && tar cf " +
			"a.tar a && rm -r a && tar xf a.tar && stat -c '%a %Y' a/x", "700 3000\n"},
		{"unchanged owners", "chown $(id -u):$(id -g) f && echo same", "same\n"},
		{"its own priorities", "nice -n 3 true && renice -n 12 -p 0 > /dev/null; taskset -c 0 true; ulimit -n 100 && echo own", "own\n"},
		{"install", "install -m 755 f i && stat -c %a i", "755\n"},
		{"git", "git init -q r && cd r && git config user.email a@b && git config user.name a && echo x > x " +
			"&& git add x && git commit -qm m && git gc -q && git log --format=%s", "m\n"},
		{"many programs", "(for i in $(seq 20); do sh -c 'echo $0' $i & done; wait) | sort -n | tail -1", "20\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := bash(t, b, tt.command); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("forbidden operations are reported", func(t *testing.T) {
		outside := secret(t)
		has(t, bash(t, b, "chmod 777 "+outside), "Operation not permitted")
		has(t, bash(t, b, "chmod u+s f"), "Operation not permitted")
		has(t, bash(t, b, "chmod 600 missing"), "No such file")
	})
}
