/**
 * What a command does, for the grant `confined`: the programs that it knows, Git's subcommands among them, with their harmless options. A program, a
 * subcommand or an option that is not listed asks. Data and its lookup.
 *
 * Left out on purpose: what deletes, what changes the history of a repository, what writes many files that it does not name (archives, patches, package managers), what starts
 * another program, and what the name of a script or a target calls a removal. Of Git's options, those that write a file (`--output`), run a program (`--ext-diff`, `--textconv`,
 * `-O`, `--show-signature`), read another repository, or open an editor.
 */
import { grantabilityOf, interpreters, shells } from "./Interpreters.ts"
import {
  isPlainForScript,
  optionList,
  type OptionList,
  readWords,
  toolWords,
  type ToolWords
} from "./KnownTools.ts"
import { systemProgramOf } from "./ProgramName.ts"

const commits =
  "cgpqsuwz LnSGU: MCB# --oneline --graph --all --branches= --tags= --remotes= --decorate= --no-decorate --abbrev-commit --abbrev= --merges --no-merges " +
  "--first-parent --reverse --follow --date: --relative-date --format: --pretty= --max-count: --skip: --since: --after: --until: --before: " +
  "--author: --committer: --grep: --regexp-ignore-case --extended-regexp --fixed-strings --invert-grep -i -E -F --left-right --cherry-pick " +
  "--cherry-mark --simplify-by-decoration --topo-order --date-order --author-date-order --boundary --no-walk --walk-reflogs #"
const diffs =
  "abDprRwWz GSU: BCMX# --patch --no-patch --stat= --shortstat --numstat --summary --dirstat= --name-only --name-status --raw --full-index " +
  "--unified: --color= --no-color --word-diff= --word-diff-regex: --color-words= --ignore-all-space --ignore-space-change " +
  "--ignore-space-at-eol --ignore-blank-lines --function-context --find-renames= --find-copies= --no-renames --diff-filter: " +
  "--pickaxe-all --pickaxe-regex --relative= --text --check --exit-code --quiet --minimal --patience --histogram --diff-algorithm: " +
  "--cached --staged --merge-base --no-ext-diff --no-textconv --no-prefix --compact-summary --inter-hunk-context: --submodule= --binary"
const names =
  "hHinlcwvEFGPLpWroaI ABCem: --ignore-case --line-number --files-with-matches --name-only --files-without-match --count --cached"

const lists: Readonly<Record<string, string>> = {
  status:
    "sbvzu --short --branch --porcelain= --long --verbose --untracked-files= --ignored= --show-stash --ahead-behind --no-renames --column= " +
    "-uno -uall -unormal",
  log: `${commits} ${diffs}`,
  show: `${commits} ${diffs}`,
  whatchanged: `${commits} ${diffs}`,
  shortlog:
    "nsec --numbered --summary --email --no-merges --merges --since: --until: --all --format: --group:",
  diff: diffs,
  "diff-files": diffs,
  "diff-index": diffs,
  "diff-tree": `${diffs} --stdin --root --always -t -m -c -v --no-commit-id`,
  "range-diff": "s --no-patch --stat= --color= --no-color --creation-factor:",
  cherry: "v --abbrev=",
  blame:
    "bcefFlnpstwM L: --porcelain --line-porcelain --show-email --show-name --show-number --root --since: --date: --abbrev= -C --incremental",
  annotate: "l L: --porcelain",
  describe:
    "--tags --all --long --always --dirty= --broken= --abbrev= --exact-match --contains --first-parent --match: --exclude: --candidates: --debug",
  "ls-files":
    "cdmosuktvzf x: --cached --deleted --modified --others --stage --unmerged --killed --ignored --exclude-standard --directory " +
    "--no-empty-directory --error-unmatch --full-name --eol --deduplicate --exclude: --abbrev= --format: -i",
  "ls-tree":
    "drtlz --name-only --name-status --object-only --full-name --full-tree --abbrev= --long --format:",
  "rev-parse":
    "q --short= --abbrev-ref= --symbolic --symbolic-full-name --verify --quiet --show-toplevel --show-prefix --show-cdup --git-dir " +
    "--absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository " +
    "--show-superproject-working-tree --all --branches= --tags= --remotes= --not --default: --revs-only --no-revs --flags --no-flags",
  "rev-list": `${commits} --count --objects --no-object-names --timestamp --parents --children --ancestry-path= --left-only --right-only --disk-usage=`,
  "merge-base": "a --all --octopus --independent --is-ancestor --fork-point",
  "name-rev": "--tags --refs: --exclude: --all --name-only --no-undefined --always",
  "cat-file": "ptse --batch-check= --batch-all-objects --unordered --allow-unknown-type",
  grep:
    `${names} --untracked --no-index --word-regexp --invert-match --extended-regexp --fixed-strings --basic-regexp --perl-regexp --heading ` +
    "--break --show-function --function-context --after-context: --before-context: --context: --max-depth: --color= --no-color --and --or --not " +
    "--all-match --quiet -q --max-count: --only-matching --column --text #",
  "count-objects": "vH --verbose --human-readable",
  "for-each-ref":
    "--format: --sort: --count: --points-at: --merged= --no-merged= --contains= --no-contains= --ignore-case --color=",
  "show-ref":
    "sdq --heads --branches --tags --head --verify --hash= --abbrev= --dereference --quiet --exists",
  "check-ignore": "qvnz --quiet --verbose --non-matching --no-index",
  add: "AuvnN --all --no-all --update --verbose --dry-run --intent-to-add --ignore-errors --ignore-removal",
  branch:
    "arvl --list --all --remotes --verbose --show-current --contains= --no-contains= --merged= --no-merged= --points-at= --sort: --format: " +
    "--color= --no-color --column= --ignore-case -vv"
}

const options: ReadonlyMap<string, OptionList> = new Map(
  Object.entries(lists).map(([name, list]) => [name, optionList(list)])
)

const isName = (word = ""): boolean => /^\w[\w./-]*$/.test(word)

/** `git commit` with messages only. Any other option may change an earlier commit. */
const onlyCommits = (args: ReadonlyArray<string>): boolean => {
  let messages = 0
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ""
    if (word === "-q" || word === "-a") continue
    if (!/^-a?m$/.test(word) || at + 1 === args.length) return false
    messages++
    at++
  }
  return messages > 0
}

/** Whether Git with these arguments reads, stages, commits, lists branches, or makes one, and nothing else. */
const keepsHistory = (args: ReadonlyArray<string>): boolean => {
  const [subcommand = "", ...rest] = args[0] === "--no-pager" ? args.slice(1) : args
  const [first = "", second = ""] = rest
  switch (subcommand) {
    case "commit":
      return onlyCommits(rest)
    case "stash":
      return first === "list" && rest.length === 1
    case "checkout":
      return first === "-b" && isName(second) && rest.length === 2
    case "switch":
      return first === "-c" && isName(second) && rest.length === 2
    default: {
      const list = options.get(subcommand)
      const read = list === undefined ? undefined : readWords(rest, list)
      // `git branch NAME` makes one at any commit, and with a list option it is a pattern.
      return (
        read !== undefined &&
        (subcommand !== "branch" || read.operands.length === 0 || read.options.includes("--list"))
      )
    }
  }
}

// Programs of the grant `confined` that read or write the files that they name, with their harmless options. Data.
//
// Left out: options that write another file, run a program, read a list of files, or read a file with options.

const table = (lists: Readonly<Record<string, string>>): ReadonlyMap<string, OptionList> =>
  new Map(
    Object.entries(lists).flatMap(([programs, list]) =>
      programs.split(" ").map((program): [string, OptionList] => [program, optionList(list)])
    )
  )

const grep =
  "EFGPivwxyclLqsnHhorRaIzZbUT efmABCd: --extended-regexp --fixed-strings --basic-regexp --perl-regexp --ignore-case --invert-match " +
  "--word-regexp --line-regexp --count --files-with-matches --files-without-match --quiet --silent --no-messages --line-number " +
  "--with-filename --no-filename --only-matching --recursive --dereference-recursive --text --null --color= --colour= --include: --exclude: " +
  "--exclude-dir: --regexp: --max-count: --after-context: --before-context: --context: #"

/** Programs whose words are data: no word of theirs writes a file or runs a program. */
const speakers: ReadonlySet<string> = new Set("true false : echo printf test [ expr".split(" "))

/** Programs that read their operands. */
const readerOptions = table({
  cat: "AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank",
  head: "qvz nc: --lines: --bytes: --quiet --verbose #",
  tail: "qvz nc: --lines: --bytes: --quiet --verbose #",
  wc: "clmwL --bytes --chars --lines --words --max-line-length",
  ls:
    "1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ IwT: --all --almost-all --author --classify --color= --directory --full-time " +
    "--group-directories-first --human-readable --inode --numeric-uid-gid --recursive --reverse --size --sort: --time: --time-style: " +
    "--ignore: --hide: --no-group --si",
  stat: "LftZ c: --dereference --file-system --terse --format: --printf:",
  file: "bihLNn0 --brief --mime --mime-type --mime-encoding --dereference --no-dereference",
  du: "abcDhHklLmsSx0 dt: --all --apparent-size --bytes --total --human-readable --max-depth: --summarize --exclude: --si --threshold:",
  cmp: "bls in: --print-bytes --verbose --quiet --silent --bytes: --ignore-initial:",
  comm: "123z --check-order --nocheck-order --total --zero-terminated",
  diff:
    "abBcdeEiNpqrstTuwy CUWxIL: --brief --report-identical-files --unified= --context= --side-by-side --recursive --new-file --ignore-case " +
    "--ignore-all-space --ignore-space-change --ignore-blank-lines --strip-trailing-cr --suppress-common-lines --color= --exclude: --label: " +
    "--width: --text --minimal --show-c-function",
  "grep egrep fgrep": grep,
  rg:
    "aciFHIhLlnNopPqsSUuvVwx0. ABCgmMreftTdj: --files --count --count-matches --fixed-strings --ignore-case --smart-case --case-sensitive " +
    "--files-with-matches --files-without-match --line-number --no-line-number --only-matching --word-regexp --line-regexp --invert-match " +
    "--multiline --multiline-dotall --pcre2 --hidden --no-ignore --no-ignore-vcs --no-heading --heading --with-filename --no-filename " +
    "--column --vimgrep --json --stats --trim --text --unrestricted --quiet --null --glob: --iglob: --type: --type-not: --type-list " +
    "--after-context: --before-context: --context: --max-count: --max-depth: --max-columns: --max-filesize: --regexp: --replace: --sort: " +
    "--sortr: --threads: --color: --colors: --no-config --no-messages",
  nl: "p bdfhilnsvw:",
  cut: "nsz bcdf: --bytes: --characters: --delimiter: --fields: --only-delimited --complement --output-delimiter:",
  sort:
    "bCcdfghiMmnRrsuVz kt: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort " +
    "--month-sort --numeric-sort --random-sort --reverse --stable --unique --version-sort --zero-terminated --key: --field-separator: --check=",
  paste: "sz d: --serial --delimiters:",
  fold: "bs w: --bytes --spaces --width: #",
  od: "abcdfhiloxsv AjNSwt: --address-radix: --format: --skip-bytes: --read-bytes: --width=",
  "basename dirname": "az s: --multiple --suffix: --zero",
  "realpath readlink":
    "efLmnPqsz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --relative-to: --relative-base:",
  tree: "adfFhiDgpsuNqtrvcUAnCJX LIP: --dirsfirst --filesfirst --du --noreport --gitignore --prune --ignore-case --filelimit: --sort= --charset:",
  "cksum b2sum md5sum sha1sum sha256sum sha512sum": "btz --binary --text --tag --zero",
  cd: "",
  pwd: "LP",
  which: "a --all",
  // With a program, it is looked through before.
  command: "vV",
  date: "uR d: --utc --rfc-email --date: --iso-8601= --rfc-3339: -I -Idate -Ihours -Iminutes -Iseconds -Ins",
  sleep: "",
  uname: "amnoprsv --all",
  whoami: "",
  id: "Ggnru --user --group --groups --name --real",
  tr: "cCdst --complement --delete --squeeze-repeats --truncate-set1",
  jq:
    "aCcejMnRrSs --raw-output --raw-input --compact-output --null-input --slurp --sort-keys --exit-status --join-output --tab " +
    "--ascii-output --color-output --monochrome-output --indent: --arg --argjson --args --jsonargs",
  seq: "w fs: --equal-width --format: --separator: #",
  find:
    "-H -L -P -name: -iname: -path: -ipath: -wholename: -iwholename: -regex: -iregex: -regextype: -type: -xtype: -maxdepth: -mindepth: -newer: " +
    "-anewer: -cnewer: -size: -mtime: -mmin: -atime: -amin: -ctime: -cmin: -empty -not -o -or -a -and -print -print0 -printf: -ls -prune -quit " +
    "-depth -d -xdev -mount -perm: -user: -group: -uid: -gid: -links: -inum: -samefile: -executable -readable -writable -true -false -daystart " +
    "-follow -noleaf"
})

/** Programs that write the files that they name. */
const writerOptions = table({
  mkdir: "pv --parents --verbose",
  touch: "acm dt: --no-create --date: --time:",
  tee: "ai --append --ignore-interrupts",
  uniq: "cdDiuz fsw: --count --repeated --unique --ignore-case --skip-fields: --skip-chars: --check-chars: --zero-terminated"
})

/** Programs that copy or move single files. Their options are not known to be harmless. */
const moverOptions = table({ "cp mv": "" })

/**
 * `reads`: it writes nothing. `edits`: it writes the named files. `moves`: it copies or moves the named files. `runs`: it runs what the
 * project configures. `script`: it runs a script of the project.
 */
export type ConfinedUse =
  | { readonly _tag: "reads" | "edits" | "moves" }
  | ({ readonly _tag: "runs" } & ToolWords)
  | { readonly _tag: "script"; readonly file: string }

const read = (
  args: ReadonlyArray<string>,
  list: OptionList | undefined
): ReadonlyArray<string> | undefined => {
  const words = list === undefined ? undefined : readWords(args, list)
  return words === undefined ? undefined : [...words.operands, ...(words.after ?? [])]
}

/** `date` sets the clock with an operand that is not a format. */
const readsOnly = (program: string, operands: ReadonlyArray<string>): boolean =>
  program !== "date" || operands.every((word) => word.startsWith("+"))

const asksVersion = ([first, ...more]: ReadonlyArray<string>): boolean =>
  more.length === 0 && (first === "--version" || first === "--help")

/** Programs that only print their version with `--version`. */
const versioned = new Set(
  "git node npm pnpm yarn python ruby perl php go cargo rustc gcc clang java javac make just cmake bash tsc".split(
    " "
  )
)

/** What a command does; `undefined` if the grant does not cover it. */
export const confinedUseOf = (words: ReadonlyArray<string>): ConfinedUse | undefined => {
  const [word = "", ...args] = words
  const program = systemProgramOf(words)
  if (program === undefined)
    return word.includes("/") && isPlainForScript(args) ? { _tag: "script", file: word } : undefined
  if (versioned.has(program) && asksVersion(args)) return { _tag: "reads" }
  if (speakers.has(program)) return { _tag: "reads" }
  if (program === "git") return keepsHistory(args) ? { _tag: "reads" } : undefined
  if (program === "sed") return grantabilityOf(words) === "exact" ? { _tag: "edits" } : undefined
  const found = read(args, readerOptions.get(program))
  if (found !== undefined) return readsOnly(program, found) ? { _tag: "reads" } : undefined
  if (read(args, writerOptions.get(program)) !== undefined) return { _tag: "edits" }
  if (read(args, moverOptions.get(program)) !== undefined) return { _tag: "moves" }
  const tool = toolWords(program, args)
  if (tool !== undefined) return { _tag: "runs", ...tool }
  const [file = "", ...rest] = args
  const isScript = (shells.has(program) || interpreters.has(program)) && grantabilityOf(words) === "exact"
  return isScript && isPlainForScript(rest) ? { _tag: "script", file } : undefined
}
