/**
 * Programs that git runs: aliases, and programs in its options and settings. An unknown subcommand may be an alias for any program.
 */

const subcommands = new Set(
  (
    "add am annotate apply archive blame branch bundle cat-file check-attr check-ignore check-ref-format checkout cherry cherry-pick clean " +
    "clone commit commit-tree count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep " +
    "hash-object help init log ls-files ls-remote ls-tree merge merge-base merge-file merge-tree mv name-rev notes pack-refs " +
    "prune pull push range-diff read-tree rebase reflog remote repack replace rerere reset restore rev-list rev-parse revert rm shortlog " +
    "show show-branch show-ref sparse-checkout stash status submodule switch symbolic-ref tag update-index update-ref var verify-commit " +
    "verify-tag version whatchanged worktree write-tree"
  ).split(" ")
)

/** Options before the subcommand that change only the output. */
const quiet = new Set([
  "--no-pager",
  "-P",
  "--no-optional-locks",
  "--literal-pathspecs",
  "--no-replace-objects"
])

/** Long options that name a program or a setting, and short ones by subcommand. Git completes abbreviations and takes clusters. */
const longOptions = [
  "exec",
  "upload-pack",
  "receive-pack",
  "ext-diff",
  "open-files-in-pager",
  "config",
  "template",
  "strategy"
]
const shortOptions: Readonly<Record<string, RegExp>> = {
  rebase: /^-[a-zA-Z]*[xs]/,
  merge: /^-[a-zA-Z]*s/,
  grep: /^-[a-zA-Z]*O/,
  clone: /^-[a-zA-Z0-9]*[cu]/,
  "ls-remote": /^-[a-zA-Z]*u/
}

/** A remote that is a command (`ext::sh …`) or contains an option of ssh (`ssh://-oProxyCommand=…`). */
const isRunningRemote = (word: string): boolean => /^[a-z0-9+.-]+::|:\/\/-/i.test(word)

const namesProgram = (word: string): boolean => {
  if (!word.startsWith("--") || word === "--") return false
  const [name = ""] = word.slice(2).split("=", 1)
  return longOptions.some((long) => long.startsWith(name))
}

/** How git with these arguments can be granted. */
export const gitGrantability = (args: ReadonlyArray<string>): "never" | "exact" | "prefix" => {
  let at = 0
  let elsewhere = false
  for (; args[at]?.startsWith("-") === true; at++) {
    const option = args[at] ?? ""
    // Another repository has its own settings.
    if (option === "-C") {
      elsewhere = true
      at++
    } else if (option === "--version") return "exact"
    else if (!quiet.has(option)) return "never"
  }
  const [subcommand = "", ...rest] = args.slice(at)
  if (!subcommands.has(subcommand)) return "never"
  if (subcommand === "submodule" && rest.some((word) => word === "foreach" || word === "update"))
    return "never"
  const short = shortOptions[subcommand]
  const runs = rest.some((word) => isRunningRemote(word) || namesProgram(word) || short?.test(word) === true)
  const writes = rest.some((word) => word.startsWith("--ou") || /^-[a-zA-Z]*o/.test(word))
  return runs ? "never" : elsewhere || writes ? "exact" : "prefix"
}
