#!/usr/bin/env bats
# The sandbox, through the whole program: what tools may touch, what the init event says of it, and what is refused.

load ../lib/helpers

OPTIONS=()

extra_setup() {
	mkdir -p "$T/other" "$HOME/.ssh" "$HOME/plain"
	echo secret >"$HOME/.ssh/id"
	echo precious >"$T/other/file"
}

# Of this kernel, or why not. The program itself tells.
needs_kernel() {
	"$QUERN" --check -p x | grep -q '^# sandbox: not enforced' || return 0
	skip "this kernel cannot enforce the sandbox"
}

# tries COMMAND TEXT...: one Bash call, which fails saying TEXT, and the run goes on
tries() {
	local command=$1
	shift
	serve "$(script "$(bash_call "$command")" "$(say end)")"
	q -p go --allowedTools Bash "${OPTIONS[@]}"
	exits 0 completed
	is "$(result_is_error 2)" true
	local text
	for text in "$@"; do has "$(result_text 2)" "$text"; done
}

# works COMMAND [TEXT]
works() {
	serve "$(script "$(bash_call "$1")" "$(say end)")"
	q -p go --allowedTools Bash "${OPTIONS[@]}"
	exits 0 completed
	is "$(result_is_error 2)" false || { result_text 2; return 1; }
	has "$(result_text 2)" "${2:-}"
}

again() { stop_server; rm -rf "$T/log"; mkdir "$T/log"; }

# sandbox FILTER: of the init event's field
sandbox() { ev "select(.subtype == \"init\").quern_sandbox | $1"; }

@test "write outside, by name, through a link and by rename: errors, and the run goes on" {
	needs_kernel
	tries "echo x >$T/other/new; ln -s $T/other/file l; echo x >l; mv l $T/other/; ln $T/other/file h; rm $T/other/file" denied
	again
	tries "truncate -s 0 $T/other/file"
	is "$(cat "$T/other/file")" precious
	is "$(ls "$T/other")" file
}

@test "secrets are not read, what stands beside them is" {
	needs_kernel
	tries "cat $HOME/.ssh/id" denied
	again
	works "ls $HOME/.ssh && echo beside >f && cat f" id
	again
	OPTIONS=(--set "sandbox.read_deny=[$T/other]")
	tries "cat $T/other/file" denied
}

@test "without HOME the user's own secrets are hidden all the same" {
	local own
	own=$(getent passwd "$(id -u)" | cut -d: -f6)
	[ -e "$own/.ssh" ] || [ -e "$own/.aws" ] || [ -e "$own/.npmrc" ] || return 0 # the unit test makes a home of its own
	env -u HOME "$QUERN" --check -p go >"$T/out"
	has "$(grep '^# sandbox: hidden:' "$T/out")" "$(realpath "$own")/."
}

@test "no network but on request" {
	needs_kernel
	serve "$(script "$(say end)")"
	tries "exec 3<>/dev/tcp/127.0.0.1/$PORT" "not permitted"
	again
	tries "$PY -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0abstract\")'" PermissionError
	again
	OPTIONS=(--set sandbox.network=true)
	serve "$(script "$(say end)")"
	local port=$PORT
	works "exec 3<>/dev/tcp/127.0.0.1/$port && echo connected" connected
	is "$(sandbox .network)" true
	is "$(sandbox '.enforced | index("network")')" null
}

@test "neither the run's processes nor the system are touched" {
	needs_kernel
	tries 'kill -KILL $PPID' "not permitted"
	again
	tries 'kill -KILL -1'
	again
	tries "unshare -U true" "not permitted"
	again
	tries "cat /proc/\$PPID/environ" denied
}

@test "set-user-ID gives nothing" {
	needs_kernel
	[ "$(id -u)" = 0 ] || return 0 # only root can make such a file
	cp /usr/bin/id own-id && chmod 4755 own-id && chmod 755 . "$T"
	works "setpriv --reuid=65534 --clear-groups cp own-id \$TMPDIR/x 2>/dev/null; setpriv --reuid=65534 --clear-groups ./own-id -u" 65534
}

@test "what builds and version control need works" {
	needs_kernel
	works 'git init -q . && echo x >f && git add f && git -c user.name=n -c user.email=e@x commit -qm m && git mv f g &&
		mkdir d && mv g d && t=$(mktemp) && echo x >$t && diff <(echo x) $t && git status --short'
}

@test "sandbox.write adds a place, ~ is the home directory, what is not there is exit 2" {
	needs_kernel
	OPTIONS=(--set 'sandbox.write=[~/plain]')
	works "echo x >$HOME/plain/f && cat $HOME/plain/f" x
	q -p go --set sandbox.write=[/not/there]
	is "$rc" 2
	err_has "sandbox.write: '/not/there'"
	is "$(result .startup_failure_reason)" sandbox_required_unavailable
}

@test "read-only: nothing is written but TMPDIR; Edit and Write are withheld" {
	needs_kernel
	OPTIONS=(--sandbox read-only --permission-mode acceptEdits)
	tries 'echo x >f' denied
	has "$(ev 'select(.subtype == "init").tools_withheld[]')" "Edit: the sandbox is read-only"
	again
	works 'echo x >$TMPDIR/f && cat $TMPDIR/f' x
	q -p go --sandbox read-only --tools Write --permission-mode acceptEdits
	is "$rc" 2
	err_has "the sandbox is read-only"
}

@test "keys that the mode leaves without effect are said" {
	"$QUERN" --check -p x --sandbox read-only --set "sandbox.write=[$T/other]" 2>"$T/err" >"$T/out"
	err_has "sandbox.write does nothing: the sandbox is read-only"
	"$QUERN" --check -p x --sandbox off --set "sandbox.write=[$T/other]" --set "sandbox.read_deny=[~/.ssh]" 2>"$T/err" >"$T/out"
	err_has "sandbox.write does nothing: the sandbox is off"
	err_has "sandbox.read_deny hides nothing: the sandbox is off"
	"$QUERN" --check -p x --set "sandbox.write=[$T/other]" 2>"$T/err" >"$T/out"
	err_lacks "does nothing"
}

@test "off: everything, and it is said" {
	OPTIONS=(--sandbox off)
	works "cat $HOME/.ssh/id && echo x >$T/other/new" secret
	is "$(sandbox .mode)" off
	is "$(sandbox '.enforced | length')" 0
}

@test "the model is told once what commands cannot do, with the tool, whatever the system prompt" {
	needs_kernel
	# shellcheck disable=SC2016 # the model's words
	local where="write only in $(pwd -P), $(cd "$HOME/plain" && pwd -P) and "'$TMPDIR'
	serve "$(script "$(say end)")"
	q -p go --allowedTools Bash,Edit,Write --add-dir "$HOME/plain" --system-prompt mine
	exits 0
	local text
	text=$(jq -r '.tools[] | select(.name == "Bash").description' "$(request 1)")
	has "$text" "$where, have no network, read no stored credentials"
	[ "$(stat -c %s "$(request 1)")" -le 6144 ]
	again
	serve "$(script "$(say end)")"
	q -p go --sandbox read-only --set sandbox.network=true --allowedTools Bash
	text=$(jq -r '.tools[] | select(.name == "Bash").description' "$(request 1)")
	# shellcheck disable=SC2016
	has "$text" 'they write only in $TMPDIR, read no'
	again
	serve "$(script "$(say end)")"
	q -p go --sandbox off --allowedTools Bash
	lacks "$(cat "$(request 1)")" "sandbox"
}

@test "the init event says what is enforced" {
	needs_kernel
	works true
	is "$(sandbox .mode)" workspace-write
	is "$(sandbox '.missing | length')" 0
	is "$(sandbox '.enforced | join(" ")')" "write truncate read_deny network signals system_calls"
	[ "$(sandbox .landlock_abi)" -ge 2 ]
}

@test "a secret inside the workspace cannot be hidden: exit 2 names it, best_effort goes on" {
	needs_kernel
	cd "$HOME"
	q -p go --allowedTools Bash
	is "$rc" 2
	err_has "$HOME/.ssh"
	err_has "best_effort"
	is "$(result .startup_failure_reason)" sandbox_required_unavailable
	OPTIONS=(--set sandbox.best_effort=true)
	works 'cat .ssh/id' secret
	is "$(sandbox '.missing | join(" ")')" read_deny
	err_has "read_deny"
}

@test "bypassPermissions as root runs inside the sandbox" {
	needs_kernel
	serve "$(script "$(bash_call "echo x >f; echo x >$T/other/new")" "$(say end)")"
	q -p go --permission-mode bypassPermissions
	exits 0
	is "$(cat f)" x
	[ ! -e "$T/other/new" ]
	[ "$(id -u)" = 0 ] || return 0
	q -p go --permission-mode bypassPermissions --sandbox off
	is "$rc" 2
	cd "$HOME"
	q -p go --permission-mode bypassPermissions --set sandbox.best_effort=true
	is "$rc" 2
}

@test "--check prints the places" {
	q --check -p go --set "sandbox.read_deny=[$T/later]" 2>/dev/null
	is "$rc" 0
	has "$(cat "$T/out")" "# sandbox: writable: $PWD"
	has "$(cat "$T/out")" "$T/later"
	has "$(cat "$T/out")" "$HOME/.ssh"
	q --check -p go --sandbox nonsense
	is "$rc" 2
	err_has "--sandbox"
}

# no_landlock ARGUMENT...: like q, on a kernel without Landlock
no_landlock() {
	rc=0
	"$PY" "$LIB/no_landlock.py" "$QUERN" --base-url "$BASE" "$@" </dev/null >"$T/out" 2>"$T/err" || rc=$?
}

@test "a kernel that cannot enforce it: exit 2 for commands, --check says so too; files alone go on" {
	"$PY" "$LIB/no_landlock.py" /bin/true || skip "no seccomp here"
	serve "$(script "$(say end)" "$(say end)")"
	no_landlock -p go --tools Bash
	is "$rc" 2
	err_has "--sandbox off"
	is "$(result .startup_failure_reason)" sandbox_required_unavailable
	no_landlock --check -p go --tools Bash
	is "$rc" 2
	err_has "--sandbox off"
	has "$(cat "$T/out")" "# sandbox: the run would be refused: this kernel cannot enforce the sandbox (write, truncate, read_deny"
	no_landlock --check -p go --tools Read
	is "$rc" 0
	no_landlock -p go --tools Read
	exits 0
	is "$(sandbox '.missing | join(" ")')" "write truncate read_deny"
	is "$(sandbox .loop_confined)" false
	no_landlock --check -p go --tools Bash --sandbox off
	is "$rc" 0
	no_landlock -p go --tools Bash --set sandbox.best_effort=true
	exits 0
	err_has "the sandbox holds in part"
}

@test "the program itself is confined, and still resolves names, spills and cleans up" {
	needs_kernel
	serve "$(script "$(bash_call 'mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/c && chmod 500 $TMPDIR/a/b && seq 1 20000')" "$(say end)")"
	BASE=http://localhost:$PORT
	q -p go --allowedTools Bash
	exits 0
	is "$(sandbox .loop_confined)" true
	[ -d "$(result .run_dir)" ]
	# what was spilled lies in a place that children may read, and beside a hidden one
	again
	unset XDG_STATE_HOME
	serve "$(script "$(bash_call 'seq 1 20000')" "$(bash_call 'cat "$HOME"/.local/state/quern/*/* | tail -n 1')" "$(say end)")"
	q -p go --allowedTools Bash
	exits 0
	is "$(result_text 3)" 20000
}
