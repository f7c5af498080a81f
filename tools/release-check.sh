#!/usr/bin/env bash
# Checks the release that tools/release.sh built in dist/, as root on Debian:
#   tools/release-check.sh v0.1.0
# It needs debootstrap, curl and systemd-analyze; also qemu-user-static for the arm64
# binary, rpm for the .rpm, and buildah for the image. To avoid downloads, set ROOT
# to a Debian root file system to copy, and GO_IMAGE and BASE_IMAGE to base images.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD
version=${1:?specify the version, such as v0.1.0}
number=${version#v}
[ "$(id -u)" = 0 ] || { echo "run it as root: it uses chroot" >&2; exit 2; }

work=$(mktemp -d)
server=
clean() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	wait 2>/dev/null || true
	for m in proc dev; do umount -l "$work/root/$m" 2>/dev/null || true; done
	rm -rf "$work"
}
trap clean EXIT
step() { printf '== %s (after %d s)\n' "$*" "$SECONDS"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
# until_ok NAME COMMAND… waits until the command succeeds, for at most a minute.
until_ok() {
	local what=$1
	shift
	for _ in $(seq 300); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.2
	done
	fail "not true after a minute: $what"
}

step "files"
(cd dist && sha256sum --quiet -c SHA256SUMS)
for name in "taskyard_${number}_linux_amd64.tar.gz" "taskyard_${number}_amd64.deb" "taskyard-${number}-1.x86_64.rpm" "taskyard_${number}_sbom.cdx.json" \
	"taskyard_${number}_cluster.tar.gz" THIRD-PARTY-LICENSES.txt PROVENANCE.md Containerfile compose.yaml kubernetes.yaml; do
	[ -s "dist/$name" ] || fail "dist/$name is missing"
done
mkdir "$work/cluster"
tar -xzf "dist/taskyard_${number}_cluster.tar.gz" -C "$work/cluster" --strip-components=1
diff -r packaging/cluster "$work/cluster" || fail "the cluster archive differs from packaging/cluster"
python3 - "dist/taskyard_${number}_sbom.cdx.json" <<'PY'
import json, sys
b = json.load(open(sys.argv[1]))
assert b["bomFormat"] == "CycloneDX", b.get("bomFormat")
names = {c["name"] for c in b["components"]}
assert "github.com/mattn/go-sqlite3" in names and len(names) > 30, names
print("bill of materials:", len(names), "components")
PY

step "the static binary in an empty chroot"
mkdir -p "$work/unpacked" "$work/empty/data" "$work/empty/tmp"
tar -xzf "dist/taskyard_${number}_linux_amd64.tar.gz" -C "$work/unpacked"
folder=$work/unpacked/taskyard_${number}_linux_amd64
for name in taskyard LICENSE README.md THIRD-PARTY-LICENSES.txt taskyard.1.gz taskyard.service taskyard.toml completions/taskyard.bash completions/_taskyard; do
	[ -s "$folder/$name" ] || fail "the archive has no $name"
done
! ldd "$folder/taskyard" 2>/dev/null | grep -q '=>' || fail "the binary is not static"
"$folder/taskyard" --version | tee "$work/version"
grep -qx "taskyard $version" "$work/version" || fail "the binary is not $version"
grep -qx "commit   $(git rev-parse HEAD)" "$work/version" || fail "the binary was built from another commit"
cp "$folder/taskyard" "$work/empty/"
chmod 0700 "$work/empty/data"
inside() { env -i PATH=/usr/sbin:/usr/bin "$@"; }
env -i PATH=/usr/sbin:/usr/bin TASKYARD_SCHEDULER_TIMEZONE=America/New_York chroot "$work/empty" /taskyard serve --data /data --listen 127.0.0.1:18080 \
	>"$work/first" 2>"$work/log" &
server=$!
until_ok "the server in the empty chroot is ready" inside TASKYARD_URL=http://127.0.0.1:18080 chroot "$work/empty" /taskyard ping
link=$(head -1 "$work/first")
curl -fsS -c "$work/jar" "$link" >"$work/setup.html"
fields=$(sed -nE 's/.*type="hidden" name="([^"]+)" value="([^"]*)".*/\1=\2/p' "$work/setup.html")
args=()
while IFS= read -r field; do args+=(--data-urlencode "$field"); done <<<"$fields"
curl -fsS -b "$work/jar" -c "$work/jar" -o /dev/null -H "Origin: http://127.0.0.1:18080" "${args[@]}" \
	--data-urlencode name=maya --data-urlencode "password=correct horse battery" --data-urlencode "password2=correct horse battery" \
	http://127.0.0.1:18080/setup
curl -fsS -b "$work/jar" http://127.0.0.1:18080/settings/about | grep "$version" >/dev/null || fail "the About page of a signed-in person does not name $version"
curl -fsS -b "$work/jar" http://127.0.0.1:18080/scheduler | grep New_York >/dev/null || fail "the binary contains no time zone data"
echo "served, set up and signed in; zone America/New_York"
# A self-signed certificate must be rejected with the embedded roots, and accepted if it is configured.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key.pem" -out "$work/empty/cert.pem" -days 2 \
	-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2>/dev/null
openssl s_server -quiet -accept 127.0.0.1:18443 -cert "$work/empty/cert.pem" -key "$work/key.pem" -www >/dev/null 2>&1 &
tls=$!
until_ok "the TLS server answers" curl -fsSk https://127.0.0.1:18443/
said=$(inside TASKYARD_URL=https://127.0.0.1:18443 chroot "$work/empty" /taskyard ping 2>&1) && fail "an unknown certificate is accepted"
grep -q "signed by unknown authority" <<<"$said" || fail "an unknown certificate is refused with another error: $said"
said=$(inside SSL_CERT_FILE=/cert.pem TASKYARD_URL=https://127.0.0.1:18443 chroot "$work/empty" /taskyard ping 2>&1) || true
! grep -q "x509" <<<"$said" || fail "a configured certificate is refused: $said"
kill "$tls"
echo "certificates are verified in the chroot"
kill "$server"
wait "$server" || fail "the server did not stop cleanly"
server=

if [ -e "dist/taskyard_${number}_linux_arm64.tar.gz" ]; then
	step "arm64 under qemu-user"
	tar -xzf "dist/taskyard_${number}_linux_arm64.tar.gz" -C "$work/unpacked"
	arm=$work/unpacked/taskyard_${number}_linux_arm64/taskyard
	qemu-aarch64-static "$arm" version | tee "$work/version"
	grep -q "linux/arm64" "$work/version" || fail "the binary is not for arm64"
	qemu-aarch64-static "$arm" serve --data "$work/arm" --listen 127.0.0.1:18081 >"$work/first" 2>"$work/log" &
	server=$!
	until_ok "the arm64 server is ready" curl -fsS http://127.0.0.1:18081/readyz
	curl -fsS http://127.0.0.1:18081/healthz
	echo
	kill "$server"
	wait "$server" || true
	server=
fi

step "the .deb on a clean root file system"
if [ -n "${ROOT:-}" ]; then cp -a "$ROOT" "$work/root"; else debootstrap --variant=minbase --include=systemd,procps,curl bookworm "$work/root" >"$work/debootstrap.log"; fi
mount -t proc proc "$work/root/proc"
mount --rbind /dev "$work/root/dev"
cp "dist/taskyard_${number}_amd64.deb" "$work/root/tmp/taskyard.deb"
in_root() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C chroot "$work/root" "$@"; }
in_root dpkg -i /tmp/taskyard.deb
in_root id taskyard
in_root stat -c '%U:%G %a %n' /etc/taskyard /etc/taskyard/taskyard.toml /var/lib/taskyard | tee "$work/modes"
diff "$work/modes" - <<'MODES' || fail "wrong owners or modes"
root:taskyard 1770 /etc/taskyard
taskyard:taskyard 640 /etc/taskyard/taskyard.toml
taskyard:taskyard 700 /var/lib/taskyard
MODES
in_root systemd-analyze verify /usr/lib/systemd/system/taskyard.service 2>&1 | grep -v 'man taskyard' || true
"$repository/tools/check-unit.sh" "$work/root/usr/lib/systemd/system/taskyard.service"

# Starts the command of the unit, as its user.
start_service() {
	local command
	command=$(sed -n 's/^ExecStart=//p' "$work/root/usr/lib/systemd/system/taskyard.service")
	mkdir -p "$work/root/run/taskyard"
	in_root chown taskyard: /run/taskyard
	# shellcheck disable=SC2086 # a command line to split
	env -i PATH=/usr/sbin:/usr/bin HOME=/var/lib/taskyard RUNTIME_DIRECTORY=/run/taskyard \
		chroot --userspec=taskyard:taskyard "$work/root" $command >"$work/first" 2>"$work/log" &
	server=$!
	until_ok "the service is ready; its log: $(tail -3 "$work/log")" in_root taskyard ping
}
stop_service() {
	kill "$server"
	wait "$server" || fail "the service did not stop cleanly"
	server=
}
start_service
[ "$(in_root stat -c %U /var/lib/taskyard/taskyard.db)" = taskyard ] || fail "the service does not own the database"
key=$(in_root su -s /bin/sh taskyard -c 'taskyard token create --scope operate')
in_root env TASKYARD_TOKEN="$key" taskyard task create "Survive an upgrade" --owner general-purpose
stop_service

step "upgrade to the same version"
echo '# mine' >>"$work/root/etc/taskyard/taskyard.toml"
in_root dpkg -i /tmp/taskyard.deb
tail -1 "$work/root/etc/taskyard/taskyard.toml" | grep -qx '# mine' || fail "the upgrade replaced a changed configuration"
[ "$(in_root stat -c '%U %a' /etc/taskyard/taskyard.toml)" = "taskyard 640" ] || fail "the upgrade changed the owner of the configuration"
start_service
in_root env TASKYARD_TOKEN="$key" taskyard task list | tee "$work/list"
grep -q "Survive an upgrade" "$work/list" || fail "the upgrade lost a task"
stop_service

step "remove, then purge"
in_root dpkg -r taskyard
[ -e "$work/root/var/lib/taskyard/taskyard.db" ] || fail "removing the package deleted the data"
in_root dpkg -P taskyard
for path in /var/lib/taskyard /etc/taskyard /usr/bin/taskyard /usr/lib/systemd/system/taskyard.service; do
	[ ! -e "$work/root$path" ] || fail "purging the package left $path"
done

if command -v rpm >/dev/null; then
	step "the .rpm"
	rpm -qp --qf '%{NAME} %{VERSION} %{ARCH} %{LICENSE}\n' "dist/taskyard-${number}-1.x86_64.rpm"
	rpm -qpl "dist/taskyard-${number}-1.x86_64.rpm" | grep -x /usr/lib/systemd/system/taskyard.service >/dev/null || fail "the rpm has no unit"
	rpm -qpc "dist/taskyard-${number}-1.x86_64.rpm" | grep -x /etc/taskyard/taskyard.toml >/dev/null || fail "the rpm does not mark the configuration"
	# Its dependencies exist only on an RPM system; files and scripts are tested on this one.
	rm -rf "$work/root/var/lib/rpm" && rpm --root "$work/root" --initdb
	rpm --root "$work/root" --nodeps -i "$repository/dist/taskyard-${number}-1.x86_64.rpm"
	[ "$(in_root taskyard --version | head -1)" = "taskyard $version" ] || fail "the rpm installs the wrong version"
	[ "$(in_root stat -c '%U:%G %a' /var/lib/taskyard)" = "taskyard:taskyard 700" ] || fail "the rpm sets a wrong owner or mode of the data folder"
	start_service
	stop_service
	rpm --root "$work/root" -e taskyard
	[ ! -e "$work/root/usr/bin/taskyard" ] || fail "removing the rpm left the program"
fi
if command -v buildah >/dev/null; then
	step "the container image"
	# BUILDAH adds options, such as a storage driver.
	read -ra buildah <<<"${BUILDAH:-buildah}"
	image=localhost/taskyard:$version
	"${buildah[@]}" bud --isolation chroot ${GO_IMAGE:+--build-arg "GO_IMAGE=$GO_IMAGE"} ${BASE_IMAGE:+--build-arg "BASE_IMAGE=$BASE_IMAGE"} \
		--build-arg "VERSION=$version" --build-arg "COMMIT=$(git rev-parse HEAD)" -t "$image" -f packaging/Containerfile . >"$work/build.log" 2>&1 ||
		fail "building the image failed: $(tail -5 "$work/build.log")"
	container=$("${buildah[@]}" from "$image")
	in_container() { "${buildah[@]}" run --isolation chroot "$container" -- "$@"; }
	[ "$(in_container /bin/sh -c 'id -u; stat -c %u /data /repositories' | tr '\n' ' ')" = "65532 65532 65532 " ] || fail "wrong user, or wrong owner of /data or /repositories"
	"${buildah[@]}" run --isolation chroot --env TASKYARD_LISTEN=127.0.0.1:18082 "$container" -- /usr/bin/taskyard serve >"$work/log" 2>&1 &
	server=$!
	until_ok "the server in the image is ready" curl -fsS http://127.0.0.1:18082/readyz
	curl -fsS http://127.0.0.1:18082/healthz | grep -F "\"version\":\"$version\"" >/dev/null || fail "the server in the image is not $version"
	"${buildah[@]}" run --isolation chroot --env TASKYARD_URL=http://127.0.0.1:18082 "$container" -- /usr/bin/taskyard ping
	kill "$server"
	wait "$server" || true
	server=
	"${buildah[@]}" rm "$container" >/dev/null
	"${buildah[@]}" rmi "$image" >/dev/null
fi
step "the release is OK"
