/**
 * Commands and code that the arguments of any program carry. Data, and how it is read.
 *
 * Names of programs that start others are never complete, so this looks at what stands behind a program: the name of a shell, a
 * subcommand that means to run something, an option that takes code. It errs towards asking.
 */
import { programOf } from "./ProgramName.ts"
import { widenedBy } from "./PrefixPrograms.ts"

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Their operands are files and names, and their `-c` and `-e` take no code. */
const plain = named(
  "rm rmdir ln chmod chown chgrp kill tar bsdtar zip unzip gzip gunzip zcat xz bzip zstd ar unrar jq yq xxd hexdump strings readelf objdump nm tr " +
    "iconv seq column join expand date df ps pgrep lsof ping find fd fdfind ag ack test [ command which type whereis gcc g++ cc c++ clang " +
    "clang++ rustc javac"
)

/** Tests and builds whose options of that form name settings. */
const builds = named(
  "cargo dotnet mvn mvnw gradle gradlew playwright cypress mocha ava tox rspec phpunit golangci-lint"
)

/** They run the project itself. */
const runsProject = named("cargo yarn golangci-lint")

/** Subcommands that run what follows, at the beginning of the arguments. */
const running = named("exec run shell ssh eval console runner dlx cmd tinker dbshell eval-file shell_plus")

/** The same, as the first argument only: elsewhere they are names. */
const abbreviated = named("x e ex exe c")

/** As many words as can be part of a subcommand: `ip netns exec`. */
const MAX_SUBCOMMAND = 3

const takesCode = /^(-[ceE]|--(eval|exec|command|execute))$/
const holdsCode = /^--(eval|exec|command|execute)=/

const isOption = (word: string): boolean => word.startsWith("-")

/** `npm start` runs a script of the project by that name. */
const startsScript = (program: string, first: string): boolean =>
  /^(npm|pnpm|yarn)$/.test(program) && /^(start|stop|restart|test)$/.test(first)

/** `yarn run` starts programs, too. */
const takesNames = (words: ReadonlyArray<string>): boolean =>
  widenedBy(words) !== undefined && !(words[0] === "yarn" && words[1] !== "test")

/** Whether the operands of a program are files, and not words that it obeys. */
export const takesFiles = (words: ReadonlyArray<string>): boolean => plain.has(programOf(words))

/** Subcommands of npm that run something. It completes their beginnings: `npm ini x`. */
const ofNpm = "config create edit exec explore init innit set".split(" ")

const completes = (word: string): boolean =>
  !/^(i|in)?$/.test(word) && ofNpm.some((subcommand) => subcommand.startsWith(word))

/** Whether the arguments of a script begin with a word that makes it run code: `php artisan tinker`. */
export const runsByScript = (rest: ReadonlyArray<string>): boolean =>
  rest.filter((word) => !isOption(word)).some((word, at) => at < MAX_SUBCOMMAND && running.has(word))

/** The program that a word, or an option's value, may name: `bash -c id` and `--shell=bash` name bash. */
const programIn = (word: string): string => {
  const value = isOption(word) ? word.split("=").slice(1).join("=") : word
  return programOf(value.trim().split(/\s/, 1))
}

/** Whether the arguments carry a command or code, as far as it shows. `startsPrograms` knows the programs that run others, by name. */
export const carriesCommand = (
  words: ReadonlyArray<string>,
  startsPrograms: (program: string) => boolean
): boolean => {
  const program = programOf(words)
  const rest = words.slice(1)
  const operands = rest.filter((word) => !isOption(word))
  const [first = ""] = operands
  if (takesNames(words) || takesFiles(words) || startsScript(program, first)) return false
  // Options in front may take the first operands for their values.
  const subcommands = operands.slice(0, rest[0]?.startsWith("-") === true ? MAX_SUBCOMMAND : 1)
  if (program === "npm" && subcommands.some(completes)) return true
  if (rest.some((word) => startsPrograms(programIn(word)))) return true
  const runs = abbreviated.has(first) || runsByScript(rest)
  if (runs && !runsProject.has(program)) return true
  if (builds.has(program)) return false
  return rest.some((word, at) => holdsCode.test(word) || (takesCode.test(word) && at + 1 < rest.length))
}
