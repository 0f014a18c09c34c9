/* Removals that no rule may let go, from /hame/u/proj with /srv/data/set added. */
#include "test.h"

#include <string.h>

#include "guard/shell.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool critical(const char *text, const char *home)
{
	static const char *const dirs[] = { "/hame/u/proj", "/srv/data/set", NULL };
	struct shell_parse p;
	bool found = false;

	shell_parse(&p, text, strlen(text));
	if (p.failure)
		fail_msg("%s: %s", text, p.failure);
	for (size_t i = 0; i < p.n; i++)
		found |= shell_is_critical(&p.command[i], "/hame/u/proj", dirs, home);
	shell_parse_release(&p);
	return found;
}

static void test_critical(void **state)
{
	static const char *const rows[] = {
		"rm -rf /",
		"rm -r -f /",
		"rm / -rf",
		"rm -rf -- /",
		"rm -rf --no-preserve-root /",
		"rm --recursive /",
		"rm /etc",
		"rm -rf /etc/",
		"rm -rf //etc",
		"rm -rf /./etc/.",
		"rm -rf /etc/../usr",
		"rm -rf /usr/..",
		"rm -rf /hame",
		"rm -rf /hame/u",
		"rm -rf /hame/u/",
		"rm -rf ~",
		"rm -rf ~/",
		"rm -rf ~/.",
		"rm -rf $HOME",
		"rm -rf ${HOME}",
		"rm -rf \"$HOME\"",
		"rm -rf \"$HOME\"/",
		"rm -rf $HOME/*",
		"rm -rf ~/*",
		"rm -rf ~/.*",
		"rm -rf .",
		"rm -rf ./",
		"rm -rf ..",
		"rm -rf ../..",
		"rm -rf ../proj",
		"rm -rf /hame/u/proj",
		"rm -rf x/..",
		"rm -rf $PWD",
		"rm -rf *",
		"rm -rf ./*",
		"rm -rf .*",
		"rm -rf ../*",
		"rm -rf /*",
		"rm -rf /e*",
		"rm -rf /hame/*",
		"rm -rf /hame/*/proj",
		"rm -rf /h*/u",
		"rm -rf /h?me/[a-z]/p*",
		"rm -rf /*/*",
		"rm -rf /srv/data/set",
		"rm -rf /srv/data/set/*",
		"rm -rf /srv/data",
		"rm -rf /srv",
		"rm -rf /srv/data/*",
		"rmdir /",
		"rmdir ..",
		"rmdir -p /hame/u",
		"/bin/rm -rf /",
		"\\rm -rf /",
		"r\"m\" -rf /",
		"'rm' -rf /",
		"r\\\nm -rf /",
		"$'\\x72m' -rf /",
		"rm -rf '/'",
		"rm -rf \"/\"etc",
		"rm -rf /\"*\"",
		"rm -\"rf\" /",
		"rm -rf {/,x}",
		"rm -rf {a,~}",
		"rm -rf /{etc,usr}",
		"rm -rf /hame/{a,u}",
		"rm -rf {..,x}/{..,y}",
		"rm -rf /{a,b}{c,d}",
		"rm \"$X\"/*",
		"rm $X/*",
		"rm -rf \"$X\"/*",
		"rm -rf $X",
		"rm -rf \"$X\"",
		"rm -rf $(pwd)",
		"rm -rf `pwd`",
		"rm -rf \"${X:-/}\"",
		"rm -rf /$X",
		"rm -rf ~/$X",
		"rm -rf ./$X",
		"rm -rf /hame/$USER",
		"rm -rf a/$X/..",
		"rm -rf ~root",
		"rm $x /etc",
		"rm $x",
		"rm -rf <(x)",
		"sudo rm -rf /",
		"env A=1 rm -rf /",
		"timeout 5 nice rm -rf /",
		"nohup rm -rf ~",
		"busybox rm -rf /",
		"sh -c 'rm -rf /'",
		"bash -c \"rm -rf ~\"",
		"eval 'rm -rf /'",
		"trap 'rm -rf /' EXIT",
		"echo $(rm -rf /)",
		"echo `rm -rf /`",
		"echo \"x$(rm -rf /)\"",
		"cat <(rm -rf /)",
		"cat <<E\n$(rm -rf /)\nE\n",
		"f() { rm -rf /; }",
		"if x; then rm -rf /; fi",
		"for i in x; do rm -rf /; done",
		"case x in x) rm -rf /;; esac",
		"ls && rm -rf /",
		"ls | rm -rf /",
		"(rm -rf /)",
		"x=$(rm -rf /)",
		"[[ -n $(rm -rf /) ]]",
		"echo $((a[$(rm -rf /)]))",
		"bash <<E\nrm -rf /\nE\n",
		"bash <<< 'rm -rf /'",
		"xargs rm -rf",
		"ls | xargs -0 rm -r",
		"xargs rm /etc",
		"find / -delete",
		"find ~ -delete",
		"find . -delete",
		"find -delete",
		"find \"$X\" -delete",
		"find /hame -type f -delete",
		"find / -exec rm -rf {} +",
		"find .. -exec rm {} ';'",
		"find . -exec rm -rf / ';'",
		"watch rm -rf /",
		"parallel rm -rf ::: /",
		"cd / && rm -rf home",
		"cd / && rm -rf *",
		"cd .. && rm -rf proj",
		"cd && rm -rf .",
		"cd ~ && rm -rf .",
		"cd ../.. && rm -rf u",
		"cd \"$X\" && rm -rf build",
		"cd a; cd /; rm -rf etc",
		"while x; do rm -rf etc; cd /; done",
		"pushd / && rm -rf x",
		"env -S 'rm -rf /'",
		"rm -rf a /etc b",
		"exec rm -rf /",
		"setsid rm -rf /",
		"flock f -c 'rm -rf /'",
		"su -c 'rm -rf /'",
		"rm -rf a b/../..",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (!critical(rows[i], "/hame/u"))
			fail_msg("let go: %s", rows[i]);
}

static void test_not_critical(void **state)
{
	static const char *const rows[] = {
		"rm x",
		"rm -rf build",
		"rm -rf ./build/",
		"rm -rf build/*",
		"rm *.o",
		"rm -f *.o *.d",
		"rm -rf a* ",
		"rm -rf ../other",
		"rm -rf /tmp/x",
		"rm -rf /tmp/x/*",
		"rm -rf ~/x",
		"rm -rf $HOME/x/y",
		"rm -rf ~/.cache/x",
		"rm \"$x\"",
		"rm -f \"$x\"",
		"rm -rf build/$x",
		"rm -rf /tmp/x/$y",
		"rm -rf x/../build",
		"rm -rf {a,b}",
		"rm -rf /tmp/{a,b}",
		"rm -rf '~'",
		"rm -rf '*'",
		"rm -rf '$HOME'",
		"rmdir build",
		"rmdir \"$x\"",
		"rm -rf /hame/u/project",
		"rm -rf /hame/u/proj/x",
		"rm -rf /srv/data/other",
		"rm -rf /srv/data/set/x",
		"echo rm -rf /",
		"echo 'rm -rf /'",
		"grep 'rm -rf /' f",
		"cat <<'E'\nrm -rf /\nE\n",
		"# rm -rf /",
		"ls /",
		"mv / x",
		"find . -name '*.o' -delete",
		"find build -delete",
		"find . -name x -exec rm -rf {} +",
		"xargs rm",
		"find . -name '*.o' | xargs rm -f",
		"cd build && rm -rf out",
		"(cd build; rm -rf out)",
		"cd build && rm -f *.o",
		"rm --help",
		"rm",
		"git rm -rf x",
		"docker rm -f x",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (critical(rows[i], "/hame/u"))
			fail_msg("critical: %s", rows[i]);
}

/* Nothing is known of the home directory: what begins there may be anything. */
static void test_no_home(void **state)
{
	(void)state;
	assert_true(critical("rm -rf ~", NULL));
	assert_true(critical("rm -rf ~/x", NULL));
	assert_true(critical("rm -rf $HOME/x", NULL));
	assert_true(critical("rm -rf /etc", NULL));
	assert_false(critical("rm -rf x", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_critical),
		cmocka_unit_test(test_not_critical),
		cmocka_unit_test(test_no_home),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
