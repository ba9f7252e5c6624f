/**
 * Git for the grant `confined`: subcommands that keep every commit and every change, with their harmless options. Data and its lookup.
 *
 * Left out: options that write a file (`--output`), run a program (`--ext-diff`, `--textconv`, `-O`, `--show-signature`), read another
 * repository, or open an editor.
 */
import { optionList, readWords, type OptionList } from "./KnownOptions.ts"

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
export const keepsHistory = (args: ReadonlyArray<string>): boolean => {
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
