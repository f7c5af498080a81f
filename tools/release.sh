#!/usr/bin/env bash
# Builds a release into dist/ from a clean clone, for all platforms that this machine
# supports:
#   tools/release.sh v0.1.0
# TARGETS overrides the detected platforms (linux/amd64 and, with a cross compiler,
# linux/arm64; on macOS, darwin). Builds are reproducible: paths are trimmed, and
# timestamps are that of the commit.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:?specify the version, such as v0.1.0}
[[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "$version is not a version such as v0.1.0" >&2; exit 2; }
[ -z "$(git status --porcelain)" ] || { echo "commit or stash these changes first: a release is built from a commit" >&2; git status --short >&2; exit 1; }

nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.0
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

commit=$(git rev-parse HEAD)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C GOFLAGS=-buildvcs=false
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r "$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
package=taskyard/internal/buildinfo
ldflags="-s -w -buildid= -X $package.linkedVersion=$version -X $package.linkedCommit=$commit -X $package.linkedDate=$date"

step() { printf '== %s (after %d s)\n' "$*" "$SECONDS"; }
packer() { tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - -C "$1" "$2" | gzip -9n; }

os=$(go env GOHOSTOS) host=$(go env GOHOSTARCH)
if [ -z "${TARGETS:-}" ]; then
	TARGETS=$os/$host
	[ "$os/$host" != linux/amd64 ] || ! command -v aarch64-linux-gnu-gcc >/dev/null || TARGETS+=" linux/arm64"
fi

rm -rf dist
mkdir -p dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step "licenses and bill of materials"
tools/licenses.sh >"$work/THIRD-PARTY-LICENSES.txt"
cp "$work/THIRD-PARTY-LICENSES.txt" dist/
# The version of the main module comes from Git; a clone without tags has none.
go run "$sbom" mod -json -output-version 1.5 -noserial -output "$work/sbom.json" . 2>"$work/sbom.log" || { cat "$work/sbom.log" >&2; exit 1; }
sed "s|\"timestamp\": \"[^\"]*\"|\"timestamp\": \"$date\"|" "$work/sbom.json" >"dist/taskyard_${version#v}_sbom.cdx.json"

for target in $TARGETS; do
	goos=${target%/*} arch=${target#*/}
	step "$target"
	stage=$work/taskyard_${version#v}_${goos}_$arch
	mkdir -p "$stage/completions"
	tags='' external=''
	if [ "$goos" = linux ]; then
		# For a static binary, Go resolves host names, and SQLite cannot load extensions.
		tags=netgo,osusergo,sqlite_omit_load_extension
		external="-linkmode external -extldflags '-static -Wl,--build-id=none'"
	fi
	cc=${CC:-}
	[ "$target" != linux/arm64 ] || [ "$host" = arm64 ] || cc=aarch64-linux-gnu-gcc
	env ${cc:+CC="$cc"} CGO_ENABLED=1 GOOS="$goos" GOARCH="$arch" CGO_CFLAGS="-O2 -g0 -ffile-prefix-map=$HOME=." \
		go build -trimpath ${tags:+-tags "$tags"} -ldflags "$ldflags $external" -o "$stage/taskyard" .
	run=("$stage/taskyard")
	[ "$goos/$arch" = "$os/$host" ] || run=(go run -ldflags "$ldflags" .)
	[ "$target" != linux/arm64 ] || [ "$host" = arm64 ] || ! command -v qemu-aarch64-static >/dev/null || run=(qemu-aarch64-static "$stage/taskyard")
	"${run[@]}" completion bash >"$stage/completions/taskyard.bash"
	"${run[@]}" completion zsh >"$stage/completions/_taskyard"
	"${run[@]}" completion fish >"$stage/completions/taskyard.fish"
	"${run[@]}" man-page | gzip -9n >"$stage/taskyard.1.gz"
	cp LICENSE README.md CHANGELOG.md "$work/THIRD-PARTY-LICENSES.txt" "$stage/"
	[ "$goos" != linux ] || cp packaging/taskyard.service packaging/taskyard.socket packaging/taskyard.toml "$stage/"
	packer "$work" "${stage##*/}" >"dist/${stage##*/}.tar.gz"
	[ "$goos" = linux ] || continue
	sed "s|\${STAGE}|$stage|; s|\${ARCH}|$arch|; s|\${VERSION}|$version|; s|\${DATE}|$date|; s|\${MAINTAINER}|${MAINTAINER:-Taskyard authors <taskyard@example.org>}|" \
		packaging/nfpm.yaml >"$work/nfpm.yaml"
	for format in deb rpm; do
		go run "$nfpm" package -f "$work/nfpm.yaml" -p "$format" -t dist/
	done
done

step "container files and checksums"
cp packaging/Containerfile packaging/compose.yaml packaging/kubernetes.yaml dist/
cp -R packaging/cluster "$work/taskyard_${version#v}_cluster"
packer "$work" "taskyard_${version#v}_cluster" >"dist/taskyard_${version#v}_cluster.tar.gz"
# The name of the MCP registry entry includes the owner of the repository.
if [ -n "${GITHUB_REPOSITORY:-}" ]; then
	repository=$(tr '[:upper:]' '[:lower:]' <<<"$GITHUB_REPOSITORY")
	sed "s|\${REPOSITORY}|$repository|g; s|\${VERSION}|${version#v}|g" packaging/server.json >dist/server.json
else
	echo "server.json skipped: GITHUB_REPOSITORY is not set"
fi
cat >dist/PROVENANCE.md <<NOTE
# Provenance

Taskyard $version, commit $commit of $date.
Built by tools/release.sh of that commit with $(go env GOVERSION) for $TARGETS.
The same commit and compilers produce identical files; SHA256SUMS has their checksums.
NOTE
(cd dist && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" SHA256SUMS)
(cd dist && ls -l | awk 'NR > 1 {printf "%12d  %s\n", $5, $9}')
