/* What is known of commands: the table, and how their words are told apart by it. */
#include "guard/shell_args.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define GREP_SHORTS "EFGPe:f@ivywxcLlm:oqsbHhnTZA:B:C:aD:d:IrRUz0123456789"
#define GREP_LONGS                                                                                                     \
	"extended-regexp fixed-strings basic-regexp perl-regexp regexp= file@ ignore-case no-ignore-case "             \
	"invert-match word-regexp line-regexp count color colour files-without-match files-with-matches max-count= "   \
	"only-matching quiet silent no-messages byte-offset with-filename no-filename label= line-number "             \
	"initial-tab null after-context= before-context= context= text binary-files= devices= directories= exclude= "  \
	"exclude-from@ exclude-dir= include= recursive dereference-recursive line-buffered null-data "
#define SUM_LONGS "binary text tag zero "

static const struct shell_fact facts[] = {
	{ "cat", false, OPERANDS_READ, false, 0, "AbeEnstTuv",
	  "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting " },
	{ "ls", false, OPERANDS_READ, false, 0, "aAbBcCdfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
	  "all almost-all author escape block-size= ignore-backups color directory classify file-type format= "
	  "full-time "
	  "group-directories-first no-group human-readable si dereference hide= hyperlink indicator-style= inode "
	  "ignore= "
	  "kibibytes literal numeric-uid-gid quote-name quoting-style= reverse recursive size sort= time= time-style= "
	  "tabsize= width= zero " },
	{ "head", false, OPERANDS_READ, false, 0, "n:c:qvz0123456789",
	  "lines= bytes= quiet silent verbose zero-terminated " },
	{ "tail", false, OPERANDS_READ, false, 0, "n:c:fFqvs:z0123456789",
	  "lines= bytes= follow retry quiet silent verbose sleep-interval= pid= zero-terminated " },
	{ "grep", false, OPERANDS_PATTERN, false, 0, GREP_SHORTS, GREP_LONGS },
	{ "egrep", false, OPERANDS_PATTERN, false, 0, GREP_SHORTS, GREP_LONGS },
	{ "fgrep", false, OPERANDS_PATTERN, false, 0, GREP_SHORTS, GREP_LONGS },
	{ "rg", false, OPERANDS_PATTERN, true, 0, "A:B:C:cE:e:f@FHg:hiIj:lLM:m:nNoPpqr:sSt:T:uUvwx0a",
	  "regexp= file@ fixed-strings ignore-case smart-case case-sensitive invert-match word-regexp line-regexp "
	  "count "
	  "count-matches files files-with-matches files-without-match max-count= only-matching quiet no-messages "
	  "byte-offset with-filename no-filename line-number no-line-number after-context= before-context= context= "
	  "text "
	  "glob= iglob= hidden no-ignore no-ignore-vcs no-ignore-parent follow max-depth= max-filesize= max-columns= "
	  "type= "
	  "type-not= type-list sort= sortr= json heading no-heading color= colors= column multiline multiline-dotall "
	  "pcre2 "
	  "replace= null trim stats threads= vimgrep pretty passthru unrestricted encoding= crlf no-config "
	  "one-file-system " },
	{ "wc", false, OPERANDS_READ, false, 0, "cmlLw",
	  "bytes chars lines max-line-length words files0-from@ total= " },
	{ "diff", false, OPERANDS_READ, false, 0, "abBcC:dEeF:iI:NnpqrsS:tTuU:wW:x:X@yZ0123456789",
	  "brief report-identical-files unified context recursive new-file ignore-case ignore-all-space "
	  "ignore-space-change ignore-blank-lines ignore-trailing-space ignore-tab-expansion text side-by-side width= "
	  "color exclude= exclude-from@ suppress-common-lines strip-trailing-cr minimal normal label= show-c-function "
	  "no-dereference from-file@ to-file@ left-column " },
	{ "stat", false, OPERANDS_READ, false, 0, "Lc:ft", "dereference format= printf= file-system terse " },
	{ "du", false, OPERANDS_READ, false, 0, "0aB:bcDd:hHklLmPsSt:xX@",
	  "all apparent-size block-size= bytes total max-depth= human-readable summarize threshold= time time-style= "
	  "exclude= exclude-from@ one-file-system separate-dirs dereference no-dereference null inodes si "
	  "files0-from@ " },
	{ "df", false, OPERANDS_READ, false, 0, "aB:hHiklPTt:x:",
	  "all block-size= human-readable si inodes local output portability print-type type= exclude-type= total " },
	{ "cd", false, OPERANDS_READ, true, 1, "LPe", "" },
	{ "file", false, OPERANDS_READ, true, 0, "bhikLNnprsv0EF:P:",
	  "brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad print0 raw separator= "
	  "exclude= "
	  "extension " },
	{ "sort", false, OPERANDS_READ, true, 0, "bdfgiMhnRrVcCmk:sS:t:uz",
	  "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort "
	  "human-numeric-sort numeric-sort random-sort reverse version-sort sort= check merge key= stable "
	  "field-separator= "
	  "unique zero-terminated parallel= buffer-size= files0-from@ " },
	{ "uniq", false, OPERANDS_READ, true, 1, "cdDf:is:uzw:",
	  "count repeated all-repeated skip-fields= group ignore-case skip-chars= unique zero-terminated "
	  "check-chars= " },
	{ "cut", false, OPERANDS_READ, false, 0, "b:c:d:f:nsz",
	  "bytes= characters= delimiter= fields= only-delimited output-delimiter= zero-terminated complement " },
	{ "paste", false, OPERANDS_READ, false, 0, "d:sz", "delimiters= serial zero-terminated " },
	{ "join", false, OPERANDS_READ, false, 0, "a:e:i1:2:j:o:t:v:z",
	  "ignore-case check-order nocheck-order header " },
	{ "comm", false, OPERANDS_READ, false, 0, "123z", "check-order nocheck-order output-delimiter= total " },
	{ "cmp", false, OPERANDS_READ, false, 0, "bi:ln:s",
	  "print-bytes ignore-initial= verbose bytes= quiet silent " },
	{ "nl", false, OPERANDS_READ, false, 0, "b:d:f:h:i:l:n:ps:v:w:", "" },
	{ "tac", false, OPERANDS_READ, false, 0, "bs:r", "before separator= regex " },
	{ "rev", false, OPERANDS_READ, false, 0, "", "" },
	{ "fold", false, OPERANDS_READ, false, 0, "bsw:", "bytes spaces width= " },
	{ "fmt", false, OPERANDS_READ, false, 0, "csutp:w:g:", "width= " },
	{ "expand", false, OPERANDS_READ, false, 0, "it:", "initial tabs= " },
	{ "column", false, OPERANDS_READ, false, 0, "tc:s:o:xnLN:", "table separator= output-separator= " },
	{ "strings", false, OPERANDS_READ, false, 0, "afn:t:e:w0123456789", "all bytes= radix= encoding= " },
	{ "od", false, OPERANDS_READ, false, 0, "A:j:N:S:t:vw?abcdfilosx",
	  "address-radix= skip-bytes= read-bytes= format= output-duplicates " },
	{ "hexdump", false, OPERANDS_READ, false, 0, "bcCde:f@n:os:vx", "canonical length= skip= " },
	{ "xxd", false, OPERANDS_READ, true, 1, "abc:Eeg:il:o:prs:u", "" },
	{ "base64", false, OPERANDS_READ, false, 0, "diw:", "decode ignore-garbage wrap= " },
	{ "cksum", false, OPERANDS_READ, false, 0, "a:", "algorithm= " },
	{ "md5sum", false, OPERANDS_READ, false, 0, "btz", SUM_LONGS },
	{ "sha1sum", false, OPERANDS_READ, false, 0, "btz", SUM_LONGS },
	{ "sha224sum", false, OPERANDS_READ, false, 0, "btz", SUM_LONGS },
	{ "sha256sum", false, OPERANDS_READ, false, 0, "btz", SUM_LONGS },
	{ "sha384sum", false, OPERANDS_READ, false, 0, "btz", SUM_LONGS },
	{ "sha512sum", false, OPERANDS_READ, false, 0, "btz", SUM_LONGS },
	{ "b2sum", false, OPERANDS_READ, false, 0, "btzl:", SUM_LONGS },
	{ "readlink", false, OPERANDS_READ, false, 0, "femnqsvz",
	  "canonicalize canonicalize-existing canonicalize-missing " },
	{ "realpath", false, OPERANDS_READ, false, 0, "eEmLPqsz",
	  "relative-to@ relative-base@ canonicalize-existing quiet " },
	{ "tree", false, OPERANDS_READ, true, 0, "adfilpsugDhFL:P:I:CnrtUvxq",
	  "dirsfirst noreport gitignore filelimit= charset= prune " },
	{ "jq", false, OPERANDS_PATTERN, true, 0, "ncrjaSCMseRV",
	  "null-input compact-output raw-output join-output ascii-output sort-keys color-output monochrome-output "
	  "slurp "
	  "exit-status raw-input tab indent= " },
	{ "date", false, OPERANDS_OTHER, true, 1, "d:uRI?r@",
	  "date= iso-8601 rfc-email rfc-3339= utc universal reference@ " },
	{ "hostname", false, OPERANDS_OTHER, true, -1, "fsdiIA",
	  "fqdn short domain ip-address all-ip-addresses all-fqdns " },
	{ "env", false, OPERANDS_OTHER, true, -1, "0", "null " },
	{ "printf", false, OPERANDS_OTHER, true, 0, "", "" },
	{ "set", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "command", false, OPERANDS_OTHER, true, 0, "vV", "" },
	{ "find", false, OPERANDS_OTHER, true, 0, "", "" },
	{ "git", false, OPERANDS_OTHER, true, 0, "", "" },
	{ "sed", false, OPERANDS_PATTERN, true, 0, "nErszue:l:i?",
	  "quiet silent regexp-extended separate null-data unbuffered expression= line-length= in-place posix " },
	{ "test", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "[", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "[[", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "echo", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "pwd", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "which", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "type", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "tr", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "basename", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "dirname", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "true", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "false", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ ":", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "exit", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "return", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "break", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "continue", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "sleep", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "seq", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "expr", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "id", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "groups", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "whoami", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "uname", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "arch", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "nproc", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "tty", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "uptime", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "free", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "ps", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "printenv", false, OPERANDS_OTHER, false, 0, NULL, "" },
	{ "mkdir", true, OPERANDS_WRITE, true, 0, "m:pv", "mode= parents verbose " },
	{ "touch", true, OPERANDS_WRITE, true, 0, "acd:fhmr@t:", "no-create date= no-dereference reference@ time= " },
	{ "rm", true, OPERANDS_WRITE, true, 0, "firRdvI",
	  "force interactive one-file-system preserve-root recursive dir verbose " },
	{ "rmdir", true, OPERANDS_WRITE, true, 0, "pv", "ignore-fail-on-non-empty parents verbose " },
	{ "mv", true, OPERANDS_WRITE, true, 0, "finuvT",
	  "force interactive no-clobber update verbose no-target-directory " },
	{ "cp", true, OPERANDS_COPY, true, 0, "afinprRuvTdHLPx",
	  "archive force interactive no-clobber preserve recursive update verbose no-target-directory no-dereference "
	  "dereference one-file-system " },
};

const struct shell_fact *shell_fact(const char *name)
{
	for (size_t i = 0; i < COUNT(facts); i++)
		if (!strcmp(facts[i].name, name))
			return &facts[i];
	return NULL;
}

static enum shell_arg value_kind(char mark)
{
	return mark == '@' ? ARG_FILE : ARG_VALUE;
}

static enum shell_arg long_option(struct shell_args *a, const char *text)
{
	size_t n = strcspn(text, "=");

	for (const char *p = a->fact->longs; *p; p += strcspn(p, " ") + 1) {
		size_t m = strcspn(p, "=@ ");
		if (m != n || memcmp(p, text, n) != 0)
			continue;
		if (p[m] != ' ' && !text[n])
			a->due = value_kind(p[m]);
		return p[m] == '@' && text[n] ? ARG_HIDDEN : ARG_OPTION;
	}
	return ARG_UNKNOWN;
}

static enum shell_arg short_options(struct shell_args *a, const char *text)
{
	for (; *text; text++) {
		const char *p = strchr(":@?", *text) ? NULL : strchr(a->fact->shorts, *text);
		if (!p)
			return ARG_UNKNOWN;
		if (p[1] == '?')
			return ARG_OPTION;
		if (p[1] != ':' && p[1] != '@')
			continue;
		if (!text[1])
			a->due = value_kind(p[1]);
		return p[1] == '@' && text[1] ? ARG_HIDDEN : ARG_OPTION;
	}
	return ARG_OPTION;
}

/* May the word turn out as something else than one operand? */
static bool may_be_option(const struct shell_word *w)
{
	return w->expands || w->splits || (w->glob && strchr("*?[{-", w->text[0]));
}

enum shell_arg shell_args_next(struct shell_args *a, const struct shell_word **word)
{
	if (!a->i)
		a->i = 1;
	if (a->i >= a->v->nwords) {
		enum shell_arg missing = a->due ? ARG_UNKNOWN : ARG_END;
		a->due = ARG_END;
		return missing;
	}
	const struct shell_word *w = *word = &a->v->word[a->i++];
	if (a->due) {
		enum shell_arg kind = a->due;
		a->due = ARG_END;
		return w->splits || w->glob ? ARG_UNKNOWN : kind;
	}
	if (!a->fact->shorts)
		return ARG_OPERAND;
	if (!a->ended && w->literal && !strcmp(w->text, "--")) {
		a->ended = true;
		return ARG_OPTION;
	}
	if (!a->ended && a->fact->strict && may_be_option(w))
		return ARG_UNKNOWN;
	if (a->ended || w->text[0] != '-' || !w->text[1])
		return a->fact->strict && w->splits ? ARG_UNKNOWN : ARG_OPERAND;
	if (!w->literal)
		return ARG_UNKNOWN;
	return w->text[1] == '-' ? long_option(a, w->text + 2) : short_options(a, w->text + 1);
}
