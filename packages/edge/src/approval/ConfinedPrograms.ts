/**
 * Programs that the grant `confined` may allow, and what they do with their operands. Data and its lookup. A program that is not listed asks.
 *
 * Left out on purpose: what deletes, what changes the history of a repository, what writes many files that it does not name (archives,
 * patches, package managers), and what the name of a script or a target calls a removal.
 */
import { grantabilityOf, interpreters, shells } from "./Interpreters.ts"
import { operandUseOf } from "./PrefixPrograms.ts"
import { programOf } from "./ProgramName.ts"

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/**
 * `reads`: without options it writes nothing. `edits`: it writes the named files. `moves`: it copies or moves the named files. `runs`: it
 * runs what the project configures. `program`: it is a program of the workspace. `script`: its first operand is a script.
 */
export type ConfinedUse = "reads" | "edits" | "moves" | "runs" | "program" | "script"

const readers = named("cd pwd true false test [ which date sleep uname whoami id tr jq expr seq find sha1sum")
const tools = named("vitest ruff unittest compileall nyc c8 mocha ava phpunit rspec golangci-lint")
/** A map, because a command may be called `constructor`. */
const goals: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    mvn: named("test compile package verify"),
    gradle: named("test build check assemble"),
    dotnet: named("test build"),
    swift: named("test build"),
    mix: named("test compile format"),
    go: named("fmt"),
    cargo: named("doc bench")
  })
)

/** Subcommands of Git that read. */
const gitReads = named(
  "status log diff show blame annotate shortlog describe ls-files ls-tree rev-parse rev-list merge-base name-rev cat-file grep " +
    "count-objects for-each-ref show-ref range-diff cherry diff-files diff-index diff-tree check-ignore whatchanged"
)

/** Git that keeps every commit and every change: it reads, stages, commits, lists branches, or makes one. */
const gitUseOf = (args: ReadonlyArray<string>): ConfinedUse | undefined => {
  const [subcommand = "", ...rest] = args[0] === "--no-pager" ? args.slice(1) : args
  if (gitReads.has(subcommand)) return "reads"
  const [first = "", second = ""] = rest
  const isName = /^\w[\w./-]*$/
  switch (subcommand) {
    case "add":
      return "reads"
    case "commit":
      // Any other option may change an earlier commit.
      return /^-a?m$/.test(first) && rest.length === 2 ? "reads" : undefined
    case "branch":
      return rest.every((word) => /^(-a|-r|-v|-vv|--list|--show-current|--all)$/.test(word))
        ? "reads"
        : undefined
    case "stash":
      return first === "list" && rest.length === 1 ? "reads" : undefined
    case "checkout":
      return first === "-b" && isName.test(second) && rest.length === 2 ? "reads" : undefined
    case "switch":
      return first === "-c" && isName.test(second) && rest.length === 2 ? "reads" : undefined
    default:
      return undefined
  }
}

/** A name or a path of the system: `./cat` may be any program. */
const ofSystem = /^((\/usr)?\/bin\/)?[^/\\]+$/

/** What a command does; `undefined` if the grant does not cover it. */
export const confinedUseOf = (words: ReadonlyArray<string>): ConfinedUse | undefined => {
  const [word = "", ...args] = words
  if (!ofSystem.test(word)) return grantabilityOf(words) === "never" ? undefined : "program"
  const program = programOf(words)
  if (program === "git") return gitUseOf(args)
  if (shells.has(program) || interpreters.has(program)) {
    if (grantabilityOf(words) === "exact" && !goals.get(program)?.has(args[0] ?? "")) return "script"
  }
  if (program === "sed") return "edits"
  if (readers.has(program)) return "reads"
  if (tools.has(program) || goals.get(program)?.has(args[0] ?? "") === true) return "runs"
  switch (operandUseOf(words)) {
    case "reads":
      return "reads"
    case "writes":
      return program === "cp" || program === "mv" ? "moves" : "edits"
    case "runs":
      return "runs"
    default:
      return undefined
  }
}

/** A script or a target by whose name something is removed, published or deployed: `clean`, `db:reset`, `./scripts/wipe.sh`. */
const removal =
  /(?:^|[-_.:/])(?:clean|clear|reset|purge|wipe|drop|destroy|delete|remove|uninstall|nuke|prune|publish|release|deploy|push|upload)(?:[-_.:/]|$)/i

export const namesRemoval = (word: string): boolean => removal.test(word)

/** The words of a project's program that a launcher starts: `npx tsc`, `python -m pytest`. `isInstalled`: whether npx finds it without the network. */
export const localWords = (
  words: ReadonlyArray<string>,
  isInstalled: (name: string) => boolean
): ReadonlyArray<string> | undefined => {
  const [, first = "", second = ""] = words
  const program = programOf(words)
  if (!ofSystem.test(words[0] ?? "")) return undefined
  if (program === "npx" && /^[a-z][\w-]*$/.test(first) && isInstalled(first)) return words.slice(1)
  return program === "python" && first === "-m" && /^[a-z]\w*$/.test(second) ? words.slice(2) : undefined
}
