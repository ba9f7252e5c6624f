/**
 * Allowlist of programs whose rules may have a `prefix`. Data and its lookup.
 *
 * Operands of a listed program are files, names of tests, or names of scripts and targets of the project. A program that takes code, an
 * address, a package or another program as an operand is not listed: its rules contain whole commands.
 */

import { systemProgramOf } from "./ProgramName.ts"

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Programs that read their operands. Without options they write and start nothing. */
const readers = named(
  "cat head tail wc ls stat file du cmp diff comm grep egrep fgrep rg nl cut sort paste fold od basename dirname realpath readlink tree " +
    "echo printf cksum b2sum md5sum sha1sum sha256sum sha512sum"
)

/** Programs that write the named files, and start nothing. */
const writers = named("cp mv mkdir touch tee uniq")

/** Tests, builds, formatters and linters. Their operands are files, tests or targets. */
const tools = named(
  "make just jest pytest eslint prettier stylelint tsc oxlint oxfmt black isort flake8 mypy pyright gofmt rustfmt shellcheck"
)

/** By program: the next words of the rule. `*` is any word. */
const subcommands: Readonly<Record<string, ReadonlySet<string>>> = {
  npm: named("run run-script test"),
  pnpm: named("run test"),
  // `yarn run` also starts programs of installed packages, so the rule names the script.
  yarn: named("run/* test"),
  cargo: named("test build check clippy fmt"),
  go: named("test build vet"),
  vitest: named("run"),
  biome: named("check lint format ci"),
  ruff: named("check format"),
  // Excludes network access, and writes of files from another revision or a patch.
  git: named(
    "status log diff show blame annotate shortlog describe ls-files ls-tree rev-parse rev-list merge-base name-rev cat-file grep archive " +
      "count-objects for-each-ref show-ref show-branch range-diff cherry diff-files diff-index diff-tree check-ignore whatchanged " +
      "add commit rm mv branch tag"
  )
}

/** What a program does with its operands: reads them, writes them, or runs what the project configures for them. */
export type OperandUse = "reads" | "writes" | "runs"

/** How a program treats further operands; `undefined` if a rule must contain the whole command. */
export const operandUseOf = (words: ReadonlyArray<string>): OperandUse | undefined => {
  const name = systemProgramOf(words) ?? ""
  if (Object.hasOwn(subcommands, name)) {
    const [, first = "", second = ""] = words
    const allowed = subcommands[name]
    const isNamed =
      allowed?.has(first) === true || (allowed?.has(`${first}/*`) === true && /^\w/.test(second))
    // The listed subcommands of git start nothing from the named files.
    return isNamed ? (name === "git" ? "writes" : "runs") : undefined
  }
  if (readers.has(name)) return "reads"
  if (writers.has(name)) return "writes"
  return tools.has(name) ? "runs" : undefined
}
