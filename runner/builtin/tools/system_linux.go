package tools

// systemFolders returns the folders that programs need to run, and no more:
// nothing in /etc that may hold a secret, no processes in /proc, no /home,
// /opt, /srv, /var.
func systemFolders() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
		"/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/passwd", "/etc/group",
		"/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/resolv.conf", "/etc/gai.conf", "/etc/localtime", "/etc/timezone",
		"/etc/os-release", "/etc/debian_version", "/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/gitconfig",
		"/etc/bash.bashrc", "/etc/profile", "/etc/inputrc", "/etc/terminfo",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems", "/proc/sys",
		"/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage",
	}
}

// bubblewrapped returns the command line of a job in its own namespaces.
func bubblewrapped(bwrap string, j job) []string {
	argv := []string{bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"}
	if j.Network {
		argv = append(argv, "--share-net")
	}
	argv = append(argv, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
	for _, path := range j.Readable {
		if len(path) > 5 && (path[:5] == "/proc" || path[:5] == "/sys/") {
			continue // bubblewrap mounts its own
		}
		argv = append(argv, "--ro-bind-try", path, path)
	}
	for _, path := range j.Writable {
		argv = append(argv, "--bind", path, path)
	}
	return append(append(argv, "--chdir", j.Dir, "--"), j.Argv...)
}
