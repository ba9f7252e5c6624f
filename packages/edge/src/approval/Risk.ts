/**
 * Class and risk of a request, from its effects. The adapter's values are the minimum; both are only raised.
 *
 * They guide the user who decides, and prevent remembered decisions for publishing and deploying.
 * Does not: recognize every risk.
 */
import type { ActionClass, ApprovalRequest, Risk } from "@corral/domain/approval/Approval"
import { grantabilityOf, interpreters, privilegePrograms, shells } from "./Interpreters.ts"
import { programOf, systemProgramOf } from "./ProgramName.ts"
import {
  MAX_WORDS,
  type SubcommandTable,
  deployCommands,
  deployName,
  destructiveCommands,
  fetchCommands,
  networkCommands,
  publishCommands,
  publishName,
  runners
} from "./RiskyWords.ts"
import { editAnswer, operandAnswer } from "./OrdinaryFiles.ts"
import type { WorkspacePaths } from "./PathTarget.ts"
import type { ParsedSegment } from "./ParsedSegment.ts"
import { inFolder } from "./ShellCommand.ts"
import { takesFiles, operandUseOf } from "./CarriedCommand.ts"

// Words with which any program publishes or deploys: `nerdctl push`, `yarn workspace x publish`, `argocd app sync x`.
//
// A word counts at any position. An existing file with that name makes no difference, because an agent can create one. Programs whose operands
// are files or names are exempt.

const publishes = new Set(["publish", "push", "upload", "release", "submit", "deliver", "trunk"])
const deploys = new Set(["deploy", "apply", "sync", "reconcile", "promote", "rollout"])

/** By program: words that stay local. */
const local: Readonly<Record<string, RegExp>> = {
  // `RiskyWords` lists git's network commands.
  git: /^/,
  cd: /^/,
  gh: /^(release (list|view|download)|repo sync)\b/,
  glab: /^release (list|view|download)\b/,
  uv: /^sync\b/,
  poetry: /^sync\b/,
  pdm: /^sync\b/,
  rye: /^sync\b/,
  go: /^work sync\b/,
  mix: /^release\b/,
  npm: /^test\b/,
  pnpm: /^test\b/,
  yarn: /^test\b/
}

const staysLocal = (words: ReadonlyArray<string>, rest: string): boolean => {
  const program = systemProgramOf(words) ?? ""
  if (Object.hasOwn(local, program) && local[program]?.test(rest) === true) return true
  if (takesFiles(words)) return true
  return operandUseOf(words) !== undefined && !runners.has(program)
}

/** Actions of a command's words. `rest` are the words after the program and its first options. */
const releaseOf = (words: ReadonlyArray<string>, rest: string): "publish" | "deploy" | undefined => {
  const args = words.slice(1)
  const found = args.some((word) => deploys.has(word))
    ? "deploy"
    : args.some((word) => publishes.has(word))
      ? "publish"
      : undefined
  return found === undefined || staysLocal(words, rest) ? undefined : found
}

const classes: ReadonlyArray<ActionClass> = ["write", "shell", "network", "publish", "deploy"]
const risks: ReadonlyArray<Risk> = ["low", "medium", "high"]

const highest = <A>(order: ReadonlyArray<A>, found: ReadonlyArray<A>, least: A): A =>
  found.reduce((most, one) => (order.indexOf(one) > order.indexOf(most) ? one : most), least)

/** Maximum number of files of one request that are examined. */
const MAX_FILES = 64

/** Whether a write is more than editing the project. A path that is known only at run time may be any. */
const isDelicate = (path: string, place: WorkspacePaths, folder: string): boolean =>
  /[$`]/.test(path) || operandAnswer(place.targetOf(path, folder)).risk === "high"

/** Programs that write the named files. */
const writers = new Set(
  "cp mv ln install tee touch rm rmdir mkdir truncate dd sed chmod chown patch unzip tar rsync scp git".split(
    " "
  )
)

const does = (table: SubcommandTable, program: string, rest: string): boolean =>
  Object.hasOwn(table, program) && table[program]?.test(rest) === true

/** A program's words without its options: `push` for `git -C x --no-pager push`. */
const textWithoutOptions = ([, ...args]: ReadonlyArray<string>): string => {
  let at = 0
  while (args[at]?.startsWith("-") === true && !/^--?[a-z-]*version$/.test(args[at] ?? "")) {
    at += /^(-[CcHnR]|--(context|namespace|host|prefix|filter|cwd|repo|profile|region|config))$/.test(
      args[at] ?? ""
    )
      ? 2
      : 1
  }
  return args.slice(at).join(" ")
}

/** Positions at which the command of a launcher may begin. */
const MAX_READINGS = 8

/** The command after privilege and launchers, as far as is visible: `rm -rf /` for `sudo -u x rm -rf /`. */
const readings = (inner: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const program = programOf(inner)
  const carries =
    privilegePrograms.has(program) ||
    ["xargs", "npx", "bunx", "pnpx", "watch", "parallel", "find"].includes(program)
  if (!carries) return [inner]
  const starts = inner.flatMap((word, i) => (i > 0 && /^[a-z]/i.test(word) ? [i] : []))
  return [inner, ...starts.slice(0, MAX_READINGS).map((i) => inner.slice(i))]
}

/** Words in the name of a script or a target. */
const nameOf = (words: ReadonlyArray<string>): string => {
  const program = programOf(words)
  if (shells.has(program) || interpreters.has(program)) return words[1] ?? ""
  if (!runners.has(program)) return words[0]?.includes("/") === true ? program : ""
  return (
    textWithoutOptions(words)
      .replace(/^run(-script)? /, "")
      .split(" ", 1)[0] ?? ""
  )
}

const judgeWords = (
  inner: ReadonlyArray<string>,
  hasPipedInput: boolean,
  writesDelicate: (path: string) => boolean
): readonly [ActionClass, Risk] => {
  const found: Array<readonly [ActionClass, Risk]> = []
  for (const words of readings(inner)) {
    const program = programOf(words)
    const rest = textWithoutOptions(words)
    const all = words.slice(1).join(" ")
    const name = nameOf(words)
    if (does(deployCommands, program, rest) || deployName.test(name)) found.push(["deploy", "high"])
    if (does(publishCommands, program, rest) || publishName.test(name))
      found.push(["publish", program === "git" ? "medium" : "high"])
    const release = releaseOf(words, rest)
    if (release !== undefined) found.push([release, "high"])
    if (does(networkCommands, program, rest) || does(fetchCommands, program, rest))
      found.push(["network", "medium"])
    if (does(destructiveCommands, program, rest) || does(destructiveCommands, program, all))
      found.push(["shell", "high"])
    if (privilegePrograms.has(program) || program.startsWith("mkfs")) found.push(["shell", "high"])
    if (program === "rm" || program === "rmdir") found.push(["shell", "medium"])
    const runsCode = shells.has(program) || interpreters.has(program)
    if (runsCode && hasPipedInput && grantabilityOf(words) === "never") found.push(["shell", "high"])
    if (grantabilityOf(words) === "never") found.push(["shell", "medium"])
    if (runsCode) found.push(["shell", "medium"])
    if (writers.has(program) && words.slice(1).some((word) => !word.startsWith("-") && writesDelicate(word)))
      found.push(["shell", "high"])
  }
  return [
    highest(
      classes,
      found.map(([action]) => action),
      "shell"
    ),
    highest(
      risks,
      found.map(([, risk]) => risk),
      "low"
    )
  ]
}

/** The words that are examined. A command with more text is of high risk in any case. */
const first = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.join("\0").slice(0, MAX_WORDS).split("\0")

const judgeSegment = (
  segment: ParsedSegment,
  cwd: string,
  place: WorkspacePaths
): readonly [ActionClass, Risk] => {
  const { inner, input, opaque, words, writes } = segment
  const folder = inFolder(cwd, segment.cwd ?? ".")
  const writesDelicate = (path: string) => isDelicate(path, place, folder)
  const read = first(inner.length === 0 ? words : inner)
  const [action, risk] = judgeWords(read, input !== undefined, writesDelicate)
  const delicate = opaque !== undefined || writes.some(({ file }) => writesDelicate(file))
  return [action, delicate ? "high" : risk]
}

/** Class and risk, at least the adapter's. */
export const assessRisk = (
  { action, command, cwd = ".", files = [], risk }: ApprovalRequest,
  segments: ReadonlyArray<ParsedSegment>,
  place: WorkspacePaths
): { readonly action: ActionClass; readonly risk: Risk } => {
  const found = segments.map((segment) => judgeSegment(segment, cwd, place))
  const edits: ReadonlyArray<Risk> =
    action !== "write"
      ? []
      : files.length > MAX_FILES
        ? ["high"]
        : files.map((file) => editAnswer(place.targetOf(file)).risk)
  return {
    action: highest(
      classes,
      found.map(([action]) => action),
      command === undefined ? action : highest(classes, [action], "shell")
    ),
    risk: highest(risks, [...found.map(([, risk]) => risk), ...edits], risk)
  }
}
