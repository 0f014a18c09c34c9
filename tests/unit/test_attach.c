/* What is attached: which files are found, and what the model is told of each. */
#include "prompt_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prompt/attach.h"
#include "prompt/mention.h"
#include "prompt/pattern.h"

struct told_world {
	struct prompt_world *w;
	struct attachments a;
	struct told told;
	struct error e;
};

static void begin(struct told_world *x, void **state)
{
	*x = (struct told_world){ .w = *state, .e = ERROR_INIT };
	attachments_init(&x->a, &x->w->place);
	told_init(&x->told, &x->w->place);
}

static void end(struct told_world *x)
{
	attachments_release(&x->a);
	told_release(&x->told);
}

static void find(struct told_world *x, const char *pattern)
{
	if (attach_find(&x->a, x->w->work, pattern, &x->e))
		fail_msg("%s", x->e.msg);
}

static void refuse(struct told_world *x, const char *pattern, const char *why)
{
	assert_int_equal(attach_find(&x->a, x->w->work, pattern, &x->e), -1);
	assert_contains(x->e.msg, why);
}

/* The names that were found, with blanks between. */
static const char *names(struct told_world *x)
{
	buf_clear(&x->w->out);
	for (size_t i = 0; i < x->a.n; i++)
		buf_addf(&x->w->out, "%s%s", i ? " " : "", x->a.v[i].name);
	return buf_str(&x->w->out);
}

/* All that is told of what needs no child. */
static const struct message *tell(struct told_world *x)
{
	static const int no_signal;
	const struct archive_wait wait = { .stop = &no_signal, .deadline = CLOCK_NEVER };

	if (attach_tell(&x->a, &wait, &x->told, &x->e))
		fail_msg("%s", x->e.msg);
	return x->told.message;
}

static void files_are_found_by_name_and_pattern(void **state)
{
	struct told_world x;

	begin(&x, state);
	prompt_world_sh(x.w, "mkdir -p docs/sub/deep docs/.git .h; for f in docs/b.md docs/a.md docs/c.txt docs/.x.md "
	                     "docs/sub/d.md docs/sub/deep/e.md docs/.git/f.md top.md '[odd].md' ../out.md; do echo $f "
	                     ">\"$f\"; done");
	find(&x, "docs/*.md");
	assert_string_equal(names(&x), "docs/a.md docs/b.md");
	find(&x, "docs/**/*.md");
	assert_string_equal(names(&x), "docs/a.md docs/b.md docs/sub/d.md docs/sub/deep/e.md");
	find(&x, "./top.md");
	find(&x, "[odd].md"); /* a name that looks like a pattern */
	find(&x, "../out.md");
	find(&x, "t?p.m[a-d]");
	assert_string_equal(names(&x),
	                    "docs/a.md docs/b.md docs/sub/d.md docs/sub/deep/e.md ./top.md [odd].md ../out.md");
	refuse(&x, "docs/*.pdf", "attach: no file fits 'docs/*.pdf'");
	refuse(&x, "missing.md", "attach: ");
	refuse(&x, "docs", "is a directory; name its files by a pattern ('docs/*')");
	end(&x);
}

static void links_lead_nowhere_outside(void **state)
{
	struct told_world x;
	char out[400];

	begin(&x, state);
	prompt_world_sh(x.w, "echo s >../secret; ln -s ../secret a.md; echo b >b.md; ln -s b.md c.md; mkfifo f.md");
	refuse(&x, "a.md", "leads out of the workspace");
	find(&x, "*.md");
	assert_string_equal(names(&x), "b.md"); /* c.md is the same file */
	refuse(&x, "a*", "attach: nothing that 'a*' fits can be read");
	refuse(&x, "f.md", "attach: ");
	snprintf(out, sizeof out, "%s/../secret", x.w->work);
	find(&x, out); /* the user's own words */
	end(&x);
}

static void names_begin_where_quern_was_started(void **state)
{
	static const char *const deny[] = { "Read(.env)", NULL };
	struct told_world x;
	struct prompt_world *w = *state;

	prompt_world_deny(w, deny);
	begin(&x, state);
	prompt_world_sh(w,
	                "mkdir '../a[1]'; echo o >'../a[1]/out.md'; echo i >in.md; echo s >.env; ln -s ../secret l.md; "
	                "echo s >../secret");
	assert_int_equal(attach_find(&x.a, w->dir, "work/in.md", &x.e), 0);
	assert_int_equal(attach_find(&x.a, w->dir, "w*/*.md", &x.e), 0); /* the same, and not l.md */
	assert_int_equal(attach_find(&x.a, w->dir, "a[[]1]/*.md", &x.e), 0);
	assert_string_equal(names(&x), "work/in.md a[1]/out.md");
	assert_int_equal(attach_find(&x.a, w->dir, "in.md", &x.e), -1);
	assert_int_equal(attach_find(&x.a, w->dir, "work/.en?", &x.e), -1);
	assert_contains(x.e.msg, "nothing that 'work/.en?' fits can be read");
	assert_int_equal(attach_find(&x.a, w->dir, "work/l.md", &x.e), -1);
	assert_contains(x.e.msg, "leads out of the workspace");
	end(&x);
}

static void rules_hold_for_patterns(void **state)
{
	static const char *const deny[] = { "Read(.env*)", NULL };
	struct told_world x;

	begin(&x, state);
	prompt_world_deny(x.w, deny);
	begin(&x, state);
	prompt_world_sh(x.w, "echo a >.env; echo b >.env.example; echo c >.envx; echo d >z");
	refuse(&x, ".env.*", "can be read");
	find(&x, ".env");
	assert_string_equal(names(&x), ".env");
	end(&x);
}

/* canary-key is the secret. */
static void a_secret_is_masked_across_the_cut_and_in_a_name(void **state)
{
	struct told_world x;

	begin(&x, state);
	prompt_world_sh(x.w, "{ head -c 262139 /dev/zero | tr '\\0' x; echo canary-key and more; } >a.txt; "
	                     "yes canary-key | head -c 400000 >b.txt; echo >c-canary-key.txt");
	find(&x, "*");
	const struct message *m = tell(&x);
	assert_int_equal(m->n, 3);
	assert_contains(m->blocks[0]->text, "xxx[secr\n[cut: the first ");
	for (size_t i = 0; i < 3; i++)
		assert_lacks(m->blocks[i]->text, "can");
	assert_contains(m->blocks[1]->text, "\n[secret]..\n[cut: the first ");
	assert_contains(m->blocks[2]->text, "/c-[secret]...txt\">");
	end(&x);
}

static void each_kind_is_told_in_its_way(void **state)
{
	struct told_world x;

	begin(&x, state);
	prompt_world_sh(x.w, "printf 'one\\ncanary-key' >a.txt; printf '\\211PNG\\r\\n\\032\\n1234' >b.png; printf "
	                     "'%%PDF-1.4\\n' >c.pdf; printf 'x\\0y' >d.bin; : >e.txt");
	find(&x, "*");
	const struct message *m = tell(&x);
	assert_int_equal(m->n, 7);
	assert_contains(m->blocks[0]->text, "/a.txt\">\none\n[secret]..\n</file>");
	assert_contains(m->blocks[1]->text, "/b.png (image/png):");
	assert_string_equal(m->blocks[2]->json, "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
	                                        "\"image/png\",\"data\":\"iVBORw0KGgoxMjM0\"}}");
	assert_int_equal(m->blocks[2]->kind, BLOCK_IMAGE);
	assert_contains(m->blocks[3]->text, "/c.pdf (application/pdf):");
	assert_string_equal(m->blocks[4]->json, "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":"
	                                        "\"application/pdf\",\"data\":\"JVBERi0xLjQK\"}}");
	assert_int_equal(m->blocks[4]->kind, BLOCK_DOCUMENT);
	assert_contains(m->blocks[5]->text, "/d.bin is binary (3 bytes) and not shown.");
	assert_contains(m->blocks[6]->text, "/e.txt\">\n(it is empty)\n</file>");
	assert_string_equal(buf_str(&x.told.names), "a.txt: text, 14 bytes");
	assert_contains(buf_str(&x.told.notes), "d.bin is binary: its name is told, not what is in it");
	end(&x);
}

static void a_long_text_is_cut_at_a_line(void **state)
{
	struct told_world x;

	begin(&x, state);
	prompt_world_sh(x.w, "seq 100000 >long.txt");
	find(&x, "long.txt");
	const struct message *m = tell(&x);
	assert_int_equal(m->n, 1);
	assert_true(m->blocks[0]->text_len < ATTACH_TEXT_MOST + 1000);
	assert_contains(m->blocks[0]->text, "\n45541\n[cut: the first 262140 of 588895 bytes; Read goes on with offset "
	                                    "45542]\n</file>");
	assert_contains(buf_str(&x.told.notes), "long.txt: only its first 262140 of 588895 bytes are told");
	end(&x);
}

static void a_text_that_begins_like_an_archive_is_one(void **state)
{
	struct told_world x;

	begin(&x, state);
	prompt_world_sh(x.w, "echo 'BZh is where bzip2 begins' >a.txt; echo 'PK is short for Peacekeeper' >b.txt; "
	                     "printf 'BZh91AY&SY\\377' >c.bz2");
	find(&x, "*.txt");
	const struct message *m = tell(&x);
	assert_contains(m->blocks[0]->text, "a.txt\">\nBZh is where");
	assert_contains(m->blocks[1]->text, "b.txt\">\nPK is short");
	find(&x, "c.bz2");
	assert_int_equal(x.a.v[x.a.n - 1].kind, ATTACH_ARCHIVE);
	end(&x);
}

static void there_is_a_limit_to_it(void **state)
{
	struct told_world x;

	begin(&x, state);
	prompt_world_sh(
	        x.w, "printf '\\377\\330\\377' >big.jpg; truncate -s 4000000 big.jpg; for i in 1 2 3; do printf "
	             "'%%PDF-' >$i.pdf; truncate -s 8M $i.pdf; done; mkdir t m; for i in $(seq 17); do yes | head -c "
	             "262144 >t/$i; done; for i in $(seq 501); do echo >m/$i; done");
	refuse(&x, "big.jpg", "the picture 'big.jpg' is too large: 4000000 bytes");
	refuse(&x, "*.pdf", "attach: with '3.pdf' there are more than 20971520 bytes of pictures and documents");
	refuse(&x, "t/*", "bytes of text");
	end(&x);
	begin(&x, state);
	refuse(&x, "m/*", "attach: more than 500 files");
	end(&x);
}

static void mention(struct told_world *x, const char *text, const char *found)
{
	attachments_release(&x->a);
	if (mention_find(&x->a, text, strlen(text), &x->e))
		fail_msg("%s", x->e.msg);
	if (strcmp(names(x), found) != 0)
		fail_msg("'%s' mentions '%s', not '%s'", text, names(x), found);
}

static void a_prompt_mentions_files(void **state)
{
	static const char *const deny[] = { "Read(secret)", NULL };
	struct told_world x;

	begin(&x, state);
	prompt_world_deny(x.w, deny);
	begin(&x, state);
	prompt_world_sh(x.w,
	                "mkdir src; echo >a.c; echo >src/b.c; echo >'a b'; echo >secret; echo >../out; ln -s ../out "
	                "link; echo >example.org; echo >dot.");
	mention(&x, "look at @a.c and @src/b.c", "a.c src/b.c");
	mention(&x, "@a.c", "a.c");
	mention(&x, "@a.c, (@src/b.c). \"@a.c\"", "a.c src/b.c");
	mention(&x, "@\"a b\" and @\"src/b.c\"", "a b src/b.c");
	mention(&x, "mail me@example.org or a@a.c", "");
	mention(&x, "@nothing @ @@a.c @", "");
	mention(&x, "@secret @../out @/etc/passwd @link", "");
	mention(&x, "@dot.", "dot.");
	mention(&x, "in @src?", "src");
	mention(&x, "@\"a.c", "");
	mention(&x, "@a.c twice @./a.c", "a.c");
	mention(&x, "in @src?", "src");
	const struct message *m = tell(&x);
	assert_contains(m->blocks[0]->text, "/src\">\nb.c\n</directory>");
	assert_string_equal(buf_str(&x.told.names), "src: directory");
	end(&x);
}

/* ---- archives, which a child of the supervisor looks into ---- */

struct archive_world {
	struct told_world x;
	struct reactor *reactor;
	struct supervisor *supervisor;
	int stop;
};

static void begin_archives(struct archive_world *y, void **state)
{
	struct supervisor_config cfg = { .calls = &archive_child_call, .ncalls = 1 };

	begin(&y->x, state);
	y->stop = 0;
	y->reactor = reactor_open(&y->x.e);
	assert_non_null(y->reactor);
	y->supervisor = supervisor_start(&cfg, y->reactor, &y->x.e);
	assert_non_null(y->supervisor);
}

static void end_archives(struct archive_world *y)
{
	assert_int_equal(supervisor_stop(y->supervisor, 500), 0);
	reactor_free(y->reactor);
	end(&y->x);
}

/* The list of one archive in the workspace. */
static const char *list(struct archive_world *y, const char *name)
{
	const struct archive_wait wait = { y->reactor, y->supervisor, &y->stop, CLOCK_NEVER };
	struct buf *out = &y->x.w->out;
	char path[600];

	buf_clear(out);
	snprintf(path, sizeof path, "%s/%s", y->x.w->work, name);
	if (archive_list(&wait, path, out, &y->x.e))
		fail_msg("%s", y->x.e.msg);
	return buf_str(out);
}

static void an_archive_is_listed(void **state)
{
	static const char *const kinds[] = { "a.tar", "a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.zip" };
	struct archive_world y;

	begin_archives(&y, state);
	prompt_world_sh(y.x.w, "mkdir d && echo hello >d/f && ln -s f d/l && python3 - <<'E'\n"
	                       "import tarfile, zipfile\n"
	                       "for end in ('', '.gz', '.bz2', '.xz'):\n"
	                       "    with tarfile.open('a.tar' + end, 'w:' + end[1:]) as t: t.add('d')\n"
	                       "with zipfile.ZipFile('a.zip', 'w') as z: z.write('d/f'); z.write('d/l')\n"
	                       "E\n");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *text = list(&y, kinds[i]);
		assert_contains(text, "         6 d/f\n");
		assert_contains(text, i < 4 ? "         - d/l -> f\n[3 entries]\n" : "[2 entries]\n");
	}
	prompt_world_sh(y.x.w, "echo hello | gzip >plain.gz");
	assert_contains(list(&y, "plain.gz"), "[it cannot be read as an archive: ");
	assert_contains(list(&y, "none.tar"), "[it cannot be opened: ");
	end_archives(&y);
}

static void a_hostile_archive_does_no_harm(void **state)
{
	struct archive_world y;

	begin_archives(&y, state);
	prompt_world_sh(y.x.w, "python3 - <<'E'\n"
	                       "import io, tarfile, zipfile\n"
	                       "def tar(name, *names):\n"
	                       "    with tarfile.open(name, 'w') as t:\n"
	                       "        for n in names: t.addfile(tarfile.TarInfo(n))\n"
	                       "tar('names.tar', 'new\\nline', 'esc\\x1b[31m', 'd' * 5000, '../up', '/abs', "
	                       "'caf\\xe9', 'a\\u202efdp.exe', 'b\\u2028c')\n"
	                       "tar('many.tar', *['a-file-%d' % i for i in range(3000)])\n"
	                       "with zipfile.ZipFile('bomb.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n"
	                       "    z.writestr('zeros', b'\\0' * (100 << 20))\n"
	                       "open('cut.tar', 'wb').write(open('names.tar', 'rb').read()[:700])\n"
	                       "open('none.tar', 'wb').write(b'hello ' * 500)\n"
	                       "open('empty.tar', 'wb')\n"
	                       "E\n");
	const char *text = list(&y, "names.tar");
	assert_contains(text, " new\\x0aline\n");
	assert_contains(text, " esc\\x1b[31m\n");
	assert_contains(text, " a\\xe2\\x80\\xaefdp.exe\n");
	assert_contains(text, " b\\xe2\\x80\\xa8c\n");
	assert_contains(text, "ddd...\n");
	assert_contains(text, " ../up\n");
	assert_contains(text, "/abs\n");
	assert_contains(text, "caf\xC3\xA9\n");
	assert_contains(text, "[8 entries]\n");
	text = list(&y, "many.tar");
	assert_contains(text, "[3000 entries, the first ");
	assert_true(y.x.w->out.len < 40000);
	assert_contains(list(&y, "bomb.zip"), " 104857600 zeros\n[1 entries]\n");
	assert_contains(list(&y, "cut.tar"), "]\n");
	assert_contains(list(&y, "none.tar"), "[it cannot be read as an archive: ");
	assert_contains(list(&y, "empty.tar"), "]\n");
	end_archives(&y);
}

static void a_signal_ends_the_listing(void **state)
{
	struct archive_world y;

	begin_archives(&y, state);
	const struct archive_wait wait = { y.reactor, y.supervisor, &y.stop, CLOCK_NEVER };
	y.stop = 15;
	assert_int_equal(archive_list(&wait, "/dev/null", &y.x.w->out, &y.x.e), -1);
	assert_int_equal(y.x.e.code, ERR_GONE);
	end_archives(&y);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(files_are_found_by_name_and_pattern),
		IN_WORLD(links_lead_nowhere_outside),
		IN_WORLD(names_begin_where_quern_was_started),
		IN_WORLD(rules_hold_for_patterns),
		IN_WORLD(each_kind_is_told_in_its_way),
		IN_WORLD(a_secret_is_masked_across_the_cut_and_in_a_name),
		IN_WORLD(a_long_text_is_cut_at_a_line),
		IN_WORLD(a_text_that_begins_like_an_archive_is_one),
		IN_WORLD(there_is_a_limit_to_it),
		IN_WORLD(a_prompt_mentions_files),
		IN_WORLD(an_archive_is_listed),
		IN_WORLD(a_hostile_archive_does_no_harm),
		IN_WORLD(a_signal_ends_the_listing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
