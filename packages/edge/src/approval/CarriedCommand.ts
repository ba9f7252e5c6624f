/**
 * What the arguments of a program carry: files, names of the project, or commands and code. Data and its lookup.
 *
 * A list of programs that start other programs is never complete. So this module recognizes arguments: the name of a shell, a subcommand that runs
 * something, an option that takes code. In doubt, the user is asked.
 *
 * Rules of listed programs may have a `prefix`: their operands are files, names of tests, or names of scripts and targets of the project. A program
 * that takes code, an address, a package or another program as an operand is not listed: its rules contain whole commands.
 *
 * Scripts of `sed` may only print, delete and substitute. `e` runs commands, and `w` and `r` access other files, in many spellings, so only clear
 * cases are accepted. Linear in the script's length.
 */
import { capped } from "@corral/domain/text/CappedPattern"
import { systemProgramOf, programOf } from "./ProgramName.ts"

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
type OperandUse = "reads" | "writes" | "runs"

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

/** Programs whose operands are files and names, and whose `-c` and `-e` take no code. */
const plain = named(
  "rm rmdir ln chmod chown chgrp kill tar bsdtar zip unzip gzip gunzip zcat xz bzip zstd ar unrar jq yq xxd hexdump strings readelf objdump nm tr " +
    "iconv seq column join expand date df ps pgrep lsof ping find fd fdfind ag ack test [ command which type whereis gcc g++ cc c++ clang " +
    "clang++ rustc javac"
)

/** Test runners and build tools whose options of that form name settings. */
const builds = named(
  "cargo dotnet mvn mvnw gradle gradlew playwright cypress mocha ava tox rspec phpunit golangci-lint"
)

/** Programs that run the project itself. */
const runsProject = named("cargo yarn golangci-lint")

/** Subcommands that run what follows, at the beginning of the arguments. */
const running = named("exec run shell ssh eval console runner dlx cmd tinker dbshell eval-file shell_plus")

/** Subcommands that run what follows as the first argument only. Elsewhere they are names. */
const abbreviated = named("x e ex exe c")

/** Maximum number of words of a subcommand: `ip netns exec`. */
const MAX_SUBCOMMAND = 3

const takesCode = /^(-[ceE]|--(eval|exec|command|execute))$/
const holdsCode = /^--(eval|exec|command|execute)=/

const isOption = (word: string): boolean => word.startsWith("-")

/** `npm start` runs the project's script with that name. */
const startsScript = (program: string, first: string): boolean =>
  /^(npm|pnpm|yarn)$/.test(program) && /^(start|stop|restart|test)$/.test(first)

/** `yarn run` also starts programs. */
const takesNames = (words: ReadonlyArray<string>): boolean =>
  operandUseOf(words) !== undefined && !(systemProgramOf(words) === "yarn" && words[1] !== "test")

/** Whether the operands of a program are files, not commands. */
export const takesFiles = (words: ReadonlyArray<string>): boolean => plain.has(systemProgramOf(words) ?? "")

/** Subcommands of npm that run something. npm completes abbreviations: `npm ini x`. */
const ofNpm = "config create edit exec explore init innit set".split(" ")

const completes = (word: string): boolean =>
  !/^(i|in)?$/.test(word) && ofNpm.some((subcommand) => subcommand.startsWith(word))

/** Whether the first word of a script's arguments makes it run code: `php artisan tinker`. */
export const runsByScript = (rest: ReadonlyArray<string>): boolean =>
  rest.filter((word) => !isOption(word)).some((word, at) => at < MAX_SUBCOMMAND && running.has(word))

/** The program in a word, or in an option's value: `bash -c id` and `--shell=bash` contain bash. */
const programIn = (word: string): string => {
  const value = isOption(word) ? word.split("=").slice(1).join("=") : word
  return programOf(value.trim().split(/\s/, 1))
}

/** Whether the arguments contain a command or code, as far as is visible. `startsPrograms` knows programs that run others, by name. */
export const carriesCommand = (
  words: ReadonlyArray<string>,
  startsPrograms: (program: string) => boolean
): boolean => {
  const program = systemProgramOf(words) ?? ""
  const rest = words.slice(1)
  const operands = rest.filter((word) => !isOption(word))
  const [first = ""] = operands
  if (takesNames(words) || takesFiles(words) || startsScript(program, first)) return false
  // Options may take the first operands as their values.
  const subcommands = operands.slice(0, rest[0]?.startsWith("-") === true ? MAX_SUBCOMMAND : 1)
  if (programOf(words) === "npm" && subcommands.some(completes)) return true
  if (rest.some((word) => startsPrograms(programIn(word)))) return true
  const runs = abbreviated.has(first) || runsByScript(rest)
  if (runs && !runsProject.has(program)) return true
  if (builds.has(program)) return false
  return rest.some((word, at) => holdsCode.test(word) || (takesCode.test(word) && at + 1 < rest.length))
}

// Versions of sed differ in whether a separator in brackets ends a part.
const literal = String.raw`\[[\w ^-]+\]|\\.`
const address = String.raw`(?:\d+|\$|/(?:${literal}|[^/\\[\n])+/)`
const part = String.raw`(?:${literal}|(?!\1)[^\\[\n])*`
const substitution = String.raw`s([/|#,:@%!])${part}\1${part}\1[gIip\d]*`
const statement = capped(
  2_048,
  new RegExp(`(?:${address}(?:,${address})?)?!?(?:[dpq=]|${substitution})(?:;\\s*|$)`, "y")
)

const isHarmless = (script: string): boolean => {
  statement.lastIndex = 0
  // A failed match resets it to the start.
  while (statement.test(script)) if (statement.lastIndex === script.length) return true
  return false
}

const options = /^(-[nErsuz]+|-i[\w.]*|--(quiet|silent|in-place|regexp-extended|null-data|separate|posix))$/

interface SedWords {
  readonly scripts: ReadonlyArray<string>
  readonly options: ReadonlyArray<string>
  readonly files: ReadonlyArray<string>
}

const wordsOf = (args: ReadonlyArray<string>): SedWords => {
  const scripts: Array<string> = []
  const found: Array<string> = []
  const files: Array<string> = []
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ""
    if (word === "-e") scripts.push(args[++at] ?? "")
    else if (word.startsWith("-")) found.push(word)
    else files.push(word)
  }
  if (scripts.length === 0) scripts.push(files.shift() ?? "")
  return { scripts, options: found, files }
}

/** Whether `sed` with these arguments only changes the text of its input. */
export const changesTextOnly = (args: ReadonlyArray<string>): boolean => {
  const words = wordsOf(args)
  return words.options.every((word) => options.test(word)) && words.scripts.every(isHarmless)
}

/** Arguments that are not scripts. */
export const withoutSedScripts = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const words = wordsOf(args)
  return [...words.options, ...words.files]
}
