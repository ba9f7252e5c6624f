/**
 * Allowlist of the programs that a rule may widen with `prefix`. Data, and how it is read.
 *
 * A program is listed where its operands are files, names of tests, or names of scripts and targets of the project. A program that takes
 * code, an address, a package or another program as an operand is not listed: its whole commands are.
 */

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** They read their operands. Without options they write nothing and start nothing. */
const readers = named(
  "cat head tail wc ls stat file du cmp diff comm grep egrep fgrep rg nl cut sort paste fold od basename dirname realpath readlink tree " +
    "echo printf cksum b2sum md5sum sha1sum sha256sum sha512sum"
)

/** They write the files that they name, and start nothing. */
const writers = named("cp mv mkdir touch tee uniq")

/** Tests, builds, formatters and linters. Their operands are files, tests or targets. */
const tools = named(
  "make just jest pytest eslint prettier stylelint tsc oxlint oxfmt black isort flake8 mypy pyright gofmt rustfmt shellcheck"
)

/** By program: what the rule must go on with. `*` is one more word of the rule. */
const subcommands: Readonly<Record<string, ReadonlySet<string>>> = {
  npm: named("run run-script test"),
  pnpm: named("run test"),
  // `yarn run` also starts the programs of installed packages, so the rule names the script.
  yarn: named("run/* test"),
  cargo: named("test build check clippy fmt"),
  go: named("test build vet"),
  vitest: named("run"),
  biome: named("check lint format ci"),
  ruff: named("check format"),
  // Neither the network nor what writes files of another revision or of a patch.
  git: named(
    "status log diff show blame annotate shortlog describe ls-files ls-tree rev-parse rev-list merge-base name-rev cat-file grep archive " +
      "count-objects for-each-ref show-ref show-branch range-diff cherry diff-files diff-index diff-tree check-ignore whatchanged " +
      "add commit rm mv branch tag"
  )
}

/** What a program does with its operands: it reads them, writes them, or runs what the project configures for them. */
export type Widened = "reads" | "writes" | "runs"

/** `cat` and `/usr/bin/cat`, not `./cat`. */
const ofSystem = /^(?:(?:\/usr)?\/bin\/)?([^/\\]+)$/

/** How a program treats further operands, or `undefined` where a rule must list the whole command. */
export const widenedBy = ([program = "", ...rest]: ReadonlyArray<string>): Widened | undefined => {
  const name = ofSystem.exec(program)?.[1] ?? ""
  if (Object.hasOwn(subcommands, name)) {
    const [first = "", second = ""] = rest
    const allowed = subcommands[name]
    const isNamed =
      allowed?.has(first) === true || (allowed?.has(`${first}/*`) === true && /^\w/.test(second))
    // The listed subcommands of git start nothing from a file that they are given.
    return isNamed ? (name === "git" ? "writes" : "runs") : undefined
  }
  if (readers.has(name)) return "reads"
  if (writers.has(name)) return "writes"
  return tools.has(name) ? "runs" : undefined
}
