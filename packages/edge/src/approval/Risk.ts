/**
 * The class and the risk of a request from what it would do. The adapter's word is a first guess, and the least: both are only raised.
 *
 * An orientation for the person who decides, and what keeps publishing and deploying from being remembered. It promises no completeness.
 */
import type { ActionClass, ApprovalRequest, Risk } from "@corral/domain/approval/Approval"
import { interpreters, privileged, shells, holdOf } from "./Interpreters.ts"
import { programOf } from "./ProgramName.ts"
import {
  deploying,
  MAX_WORDS,
  destroying,
  fetching,
  networking,
  publishing,
  runners,
  saysDeploy,
  saysPublish,
  type Table
} from "./RiskyWords.ts"
import { editAnswer, operandAnswer } from "./OrdinaryFiles.ts"
import type { WorkspacePaths } from "./PathTarget.ts"
import { releaseOf } from "./ReleaseWords.ts"
import type { ParsedSegment } from "./ParsedSegment.ts"
import { inFolder } from "./ShellCommand.ts"

const classes: ReadonlyArray<ActionClass> = ["write", "shell", "network", "publish", "deploy"]
const risks: ReadonlyArray<Risk> = ["low", "medium", "high"]

const highest = <A>(order: ReadonlyArray<A>, found: ReadonlyArray<A>, least: A): A =>
  found.reduce((most, one) => (order.indexOf(one) > order.indexOf(most) ? one : most), least)

/** Files of one request that are looked at. */
const MAX_FILES = 64

/** Whether writing there is more than editing the project. What stands for a path until it runs may be any. */
const isDelicate = (path: string, place: WorkspacePaths, folder: string): boolean =>
  /[$`]/.test(path) || operandAnswer(place.targetOf(path, folder)).risk === "high"

/** They write the files that they name. */
const writers = new Set(
  "cp mv ln install tee touch rm rmdir mkdir truncate dd sed chmod chown patch unzip tar rsync scp git".split(
    " "
  )
)

const does = (table: Table, program: string, rest: string): boolean =>
  Object.hasOwn(table, program) && table[program]?.test(rest) === true

/** What a program's words say, `git -C x --no-pager push` as `push`. */
const said = ([, ...args]: ReadonlyArray<string>): string => {
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

/** Places where the command behind a launcher may begin. */
const MAX_READINGS = 8

/** The command behind privilege and launchers, as far as it shows: `sudo -u x rm -rf /` as `rm -rf /`. */
const readings = (inner: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => {
  const program = programOf(inner)
  const carries =
    privileged.has(program) || ["xargs", "npx", "bunx", "pnpx", "watch", "parallel", "find"].includes(program)
  if (!carries) return [inner]
  const starts = inner.flatMap((word, i) => (i > 0 && /^[a-z]/i.test(word) ? [i] : []))
  return [inner, ...starts.slice(0, MAX_READINGS).map((i) => inner.slice(i))]
}

/** What a script or a target calls itself. */
const nameOf = (words: ReadonlyArray<string>): string => {
  const program = programOf(words)
  if (shells.has(program) || interpreters.has(program)) return words[1] ?? ""
  if (!runners.has(program)) return words[0]?.includes("/") === true ? program : ""
  return (
    said(words)
      .replace(/^run(-script)? /, "")
      .split(" ", 1)[0] ?? ""
  )
}

const judgeWords = (
  inner: ReadonlyArray<string>,
  fed: boolean,
  writesDelicate: (path: string) => boolean
): readonly [ActionClass, Risk] => {
  const found: Array<readonly [ActionClass, Risk]> = []
  for (const words of readings(inner)) {
    const program = programOf(words)
    const rest = said(words)
    const all = words.slice(1).join(" ")
    const name = nameOf(words)
    if (does(deploying, program, rest) || saysDeploy.test(name)) found.push(["deploy", "high"])
    if (does(publishing, program, rest) || saysPublish.test(name))
      found.push(["publish", program === "git" ? "medium" : "high"])
    const release = releaseOf(words, rest)
    if (release !== undefined) found.push([release, "high"])
    if (does(networking, program, rest) || does(fetching, program, rest)) found.push(["network", "medium"])
    if (does(destroying, program, rest) || does(destroying, program, all)) found.push(["shell", "high"])
    if (privileged.has(program) || program.startsWith("mkfs")) found.push(["shell", "high"])
    if (program === "rm" || program === "rmdir") found.push(["shell", "medium"])
    const runsCode = shells.has(program) || interpreters.has(program)
    if (runsCode && fed && holdOf(words) === "never") found.push(["shell", "high"])
    if (holdOf(words) === "never") found.push(["shell", "medium"])
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

/** As many of the words as are judged: a command with more of them is of high risk in any case. */
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

/** Class and risk, none lower than the adapter's. */
export const assessed = (
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
