/**
 * Lines that the host writes into the stream of a chat: who decided what, and what happened outside of messages and calls.
 *
 * Guarantees: what a program or a person named is text in them, never markup.
 */
import { inputText } from "@corral/domain/approval/InputEdit"
import { unknownChangesText } from "@corral/domain/changes/UnknownChanges"
import { answerTexts, type RequestedInput } from "@corral/domain/input/InputRequest"
import type { ApprovalResolution, InputResolution } from "@corral/domain/run/Resolution"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { firstCharacters } from "@corral/domain/text/Cut"
import { safeCommand, safeText } from "@corral/domain/text/SafeText"

export type NameOf = (user: string) => string

const MARKUP = /[\\`*_{}[\]<>#|~!&$]/g
const MAX_LINE = 2_000

/** Text as one line of Markdown that shows it as it is. */
export const plain = (text: string): string =>
  safeText(firstCharacters(text, MAX_LINE))
    .replaceAll(/[\r\n\t\u2028\u2029]+/g, " ")
    .replaceAll(MARKUP, String.raw`\$&`)

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => String.raw`\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
  ).join("")

/** The input of a call. JSON is escaped where a person does not see a character, and stays the same value. */
export const visibleInput = (input: unknown): string => {
  if (typeof input === "string") return safeCommand(input)
  const text = inputText(input)
  return safeText(text) === text
    ? text
    : text.replaceAll(/./gsu, (each) => (safeText(each) === each ? each : escaped(each)))
}

/** A block of text that no line of it ends. */
export const codeBlock = (text: string, language = ""): string => {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map(({ length }) => length))
  const fence = "`".repeat(Math.max(3, longest + 1))
  return `${fence}${language}\n${text}\n${fence}`
}

const origins: Readonly<Record<string, string>> = {
  console: " in the console",
  terminal: " in a terminal",
  chat: " in a chat",
  editor: " in an editor",
  policy: ""
}

const scopes: Readonly<Record<string, string>> = {
  once: "once",
  run: "for the run",
  session: "for the session",
  always: "always in this workspace"
}

const whoAndWhere = (by: string | undefined, origin: string | undefined, nameOf: NameOf): string =>
  `${by === undefined ? "" : ` by ${plain(nameOf(by))}`}${origin === undefined ? "" : (origins[origin] ?? "")}`

const decisionText = ({ decision, scope, state }: ApprovalResolution): string => {
  if (state === "approved") return `Allowed ${scopes[scope ?? "once"] ?? "once"}`
  if (state === "expired") return "Expired without a decision"
  if (state === "cancelled" && decision === undefined) return "Closed without a decision"
  return decision === "cancel" ? "Denied, and the run stopped" : "Denied"
}

/** Who decided an approval, where and how. */
export const decisionLine = (title: string, resolution: ApprovalResolution, nameOf: NameOf): string => {
  const { decidedBy, edited, origin, reason } = resolution
  const how = `${decisionText(resolution)}${whoAndWhere(decidedBy, origin, nameOf)}`
  const changed = edited === true ? ", with an edited input" : ""
  return `${how}${changed}: ${plain(title)}${reason === undefined ? "" : ` – ${plain(reason)}`}`
}

const answerStates: Readonly<Record<InputResolution["state"], string>> = {
  pending: "Open",
  answered: "Answered",
  declined: "Skipped",
  expired: "Expired without an answer",
  withdrawn: "No longer asked",
  self_answered: "The agent continued without an answer",
  cancelled: "Closed without an answer"
}

/** Who answered a question, where, how and what. */
export const answerLine = (
  request: RequestedInput | undefined,
  { answeredBy, answers, approved, comment, mode, origin, state }: InputResolution,
  nameOf: NameOf
): string => {
  const how =
    approved === undefined
      ? answerStates[state]
      : approved
        ? `Plan approved${mode === undefined ? "" : `, to work in ${plain(mode)}`}`
        : "Plan sent back"
  const what = request === undefined ? "" : `: ${plain(request.title)}`
  const texts = [...answerTexts(request, answers), ...(comment === undefined ? [] : [comment])]
  const answer = texts.length === 0 ? "" : ` – ${plain(texts.join("; "))}`
  return `${how}${whoAndWhere(answeredBy, origin, nameOf)}${what}${answer}`
}

/** Reason of a run that a person stopped in an editor. */
export const STOPPED_IN_EDITOR = "cancelled in an editor"

/** Who stopped a run, and where. */
export const stopLine = ({ by, reason }: PayloadOf<"run.cancelled">, nameOf: NameOf): string | undefined =>
  by === undefined
    ? undefined
    : `Stopped${whoAndWhere(by, reason === STOPPED_IN_EDITOR ? "editor" : undefined, nameOf)}`

const SHOWN_TITLES = 5

/** For the turn after one that a window has stopped: the window does not show what its stopped turn receives later. */
export const stoppedLine = (titles: ReadonlyArray<string>): string =>
  `Stopped by this window while a decision waited: ${titles.slice(0, SHOWN_TITLES).map(plain).join(", ")}. The editor also stops a run for a message during a decision.`

/** `Working in the background: 2 (npm run dev, watch tests)`. */
export const backgroundLine = (count: number, titles: ReadonlyArray<string>): string => {
  const shown = titles.slice(0, SHOWN_TITLES).map(plain)
  const more = count - shown.length
  const names = [...shown, ...(shown.length > 0 && more > 0 ? [`${more} more`] : [])].join(", ")
  return `Working in the background: ${count}${names === "" ? "" : ` (${names})`}`
}

const listed = (files: ReadonlyArray<{ readonly path: string; readonly change: string }>, count: number) => {
  const names = files.map(({ change, path }) => `${plain(path)} (${change})`)
  return [...names, ...(count > files.length ? [`${count - files.length} more`] : [])].join(", ")
}

export const protectedLine = ({ count, files }: PayloadOf<"run.protected.changed">): string =>
  count === 0
    ? "Some protected names were not compared: too many files."
    : `Changed without an approval that names it: ${listed(files, count)}. Other programs run or obey such files. Review them.`

export const repositoryLine = ({
  count,
  fileCount = 0,
  files = [],
  head,
  index,
  refs
}: PayloadOf<"run.repository.changed">): string => {
  const changes = [
    ...refs.map(({ name }) => plain(name)),
    ...(count > refs.length ? [`${count - refs.length} more refs`] : []),
    ...(head === undefined ? [] : ["HEAD"]),
    ...(index === undefined ? [] : ["the index"]),
    ...(files.length === 0 ? [] : [listed(files, fileCount)])
  ]
  return changes.length === 0
    ? "Some names in the repository were not compared: too many files."
    : `The repository changed without an approved git command: ${changes.join(", ")}. Review it before you commit or push.`
}

export const unknownChangesLine = (payload: PayloadOf<"run.changes.unknown">): string =>
  `The changes of this run are unknown. ${plain(unknownChangesText(payload))}`

/** `waiting`: the run whose changes a person accepts. VS Code shows no operations of a change set. */
export const diffLine = (
  { additions, deletions, files }: PayloadOf<"run.diff.ready">,
  waiting: string | undefined
): string => {
  const counts = `${files} ${files === 1 ? "file" : "files"} changed, +${additions} −${deletions}`
  return files === 0 || waiting === undefined
    ? counts
    : `${counts}. They wait: accept or reject them with \`corral changes ${waiting}\`, or in the console.`
}

export const timeoutLine = ({ afterMs, kind }: PayloadOf<"runtime.timeout">): string =>
  `Time limit reached: ${kind.replaceAll("_", " ")}, ${Math.round(afterMs / 1_000)} s`
