#include "guard/protected.h"

#include <stddef.h>
#include <string.h>

#include "guard/glob.h"

/* Directories protect all beneath them, and a name is protected as a file and as a directory alike. */
static const char *const names[] = {
	".git",
	".vscode",
	".idea",
	".husky",
	".cargo",
	".devcontainer",
	".yarn",
	".mvn",
	".claude",
	".gitconfig",
	".gitmodules",
	".bashrc",
	".bash_profile",
	".bash_login",
	".bash_logout",
	".bash_aliases",
	".profile",
	".zshrc",
	".zshenv",
	".zprofile",
	".zlogin",
	".zlogout",
	".envrc",
	".npmrc",
	".yarnrc*",
	".pnp.*",
	".bazelrc",
	".pre-commit-config.yaml",
	"lefthook.*",
	".lefthook.*",
	"gradle-wrapper.properties",
	"maven-wrapper.properties",
	".devcontainer.json",
	".ripgreprc",
	".mcp.json",
	".claude.json",
};

static bool part_is(const char *part, size_t n, const char *name)
{
	return strlen(name) == n && memcmp(part, name, n) == 0;
}

static bool listed(const char *part, size_t n)
{
	char text[256];

	if (n >= sizeof text)
		return false;
	memcpy(text, part, n);
	text[n] = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (glob_text(names[i], text, false))
			return true;
	return false;
}

bool path_is_protected(const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");
		const char *next = path + n + strspn(path + n, "/");
		size_t m = strcspn(next, "/");
		if (part_is(path, n, ".claude") && part_is(next, m, "worktrees")) {
			path = next + m;
			path += strspn(path, "/");
			continue;
		}
		if (listed(path, n) || (part_is(path, n, ".config") && part_is(next, m, "git")))
			return true;
		path = next;
	}
	return false;
}
