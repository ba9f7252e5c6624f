/**
 * Lines of text about what happened in a run: a decision, a pause, a retry, steps, background work, changes of protected names and of the repository,
 * changes that are unknown, artifacts of a result, its usage, and why it failed. The same in every output of the command line.
 */
import { unknownChangesText } from "@corral/domain/changes/UnknownChanges"
import { confinedFailureText, confinedHintOf, lastWordsOf } from "@corral/domain/run/ConfinementText"
import type { ProtectedChanges, RepositoryChanged } from "@corral/domain/run/ProtectedChange"
import type { ApprovalResolution } from "@corral/domain/run/Resolution"
import type { Isolation, RunFailure, RunLayer, Usage } from "@corral/domain/run/Run"
import type { PauseBlock } from "@corral/domain/run/RunBlock"
import type { PayloadOf } from "@corral/domain/run/RunEvent"
import { costText } from "@corral/domain/run/UsageText"
import type { Step } from "@corral/domain/run/Work"
import type { LeftOut } from "@corral/domain/run/Worktree"
import { originTexts } from "../question/QuestionLines.ts"
import type { Row } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** `1200 tokens in, 340 out, $0.0042 estimated`. Empty without usage. */
export const usageLine = ({ costSource, costUsd, inputTokens, outputTokens }: Usage = {}): string =>
  [
    ...(inputTokens === undefined ? [] : [`${inputTokens} tokens in`]),
    ...(outputTokens === undefined ? [] : [`${outputTokens} out`]),
    ...(costUsd === undefined
      ? []
      : [`${costText(costUsd)}${costSource === "estimated" ? " estimated" : ""}`])
  ].join(", ")

const SHOWN_TITLES = 5

/** `working in the background: 2 (npm run dev, watch tests)`. Titles are the program's. */
export const backgroundText = (count: number, titles: ReadonlyArray<string>): string => {
  const shown = titles.slice(0, SHOWN_TITLES)
  const more = count - shown.length
  const names = [...shown, ...(more > 0 && shown.length > 0 ? [`${more} more`] : [])].join(", ")
  return `working in the background: ${count}${names === "" ? "" : ` (${names})`}`
}

/** Where a run writes, if that is not the workspace. */
export const isolationText = ({
  layer,
  worktree
}: {
  readonly layer?: RunLayer | undefined
  readonly worktree?: unknown
}): string | undefined => {
  if (layer !== undefined) return layer.enforced ? "in a layer" : "in a copy of the workspace"
  return worktree === undefined ? undefined : "in a worktree"
}

/** The same for an agent of a chat: `, in a layer`. */
export const isolationSuffix = (isolation: Isolation | undefined): string =>
  isolation === "overlay" ? ", in a layer" : isolation === "worktree" ? ", in a worktree" : ""

/** Lines of the program that are shown. The whole text is in the event. */
const SHOWN = 12

/** What explains a failed run in a terminal: the last lines of its program, and what the confinement may have to do with it. */
export const failureLines = (error: RunFailure): ReadonlyArray<string> => {
  const words = lastWordsOf(error)?.split("\n").slice(-SHOWN).map(escapeLine) ?? []
  const hint = confinedHintOf(error)
  return hint === undefined ? words : [...words, confinedFailureText(hint)]
}

/** Line of text about a pause or its end: what happened, and by whom or why. */
export const pauseLine = (
  { by, change, reason }: Pick<PauseBlock, "by" | "change" | "reason">,
  nameOf: (user: string) => string
): Row => {
  const who = by === undefined ? "" : ` by ${escapeLine(nameOf(by))}`
  const why = reason === undefined ? "" : `: ${escapeLine(reason)}`
  return [{ text: change, style: "yellow" }, { text: `${who}${why}` }]
}

/** Changes of protected names in a terminal, as one line. What changed, and what to do next. */
export const protectedLine = ({ count, files, incomplete }: ProtectedChanges): string => {
  const unread = incomplete === true ? "Some protected names were not compared: too many files." : ""
  if (count === 0) return unread
  const listed = files
    .map(
      ({ change, discarded, path }) =>
        `${escapeLine(path)} (${change}${discarded === true ? ", discarded" : ""})`
    )
    .join(", ")
  const more = count > files.length ? ` and ${count - files.length} more` : ""
  const changed = `Changed without an approval that names it: ${listed}${more}. Other programs run or obey such files. Review them.`
  return unread === "" ? changed : `${changed} ${unread}`
}

/** Changes of a repository in a terminal, as one line. What changed, and what to do next. */
export const repositoryLine = ({
  count,
  fileCount = 0,
  files = [],
  head,
  incomplete,
  index,
  refs
}: RepositoryChanged): string => {
  const changes = [
    ...refs.map(({ from, name, to }) => {
      const change = from === undefined ? "created" : to === undefined ? "deleted" : "moved"
      return `${escapeLine(name)} (${change})`
    }),
    ...(count > refs.length ? [`${count - refs.length} more refs`] : []),
    ...(head === undefined ? [] : [`HEAD (now ${escapeLine(head.to)})`]),
    ...(index === undefined ? [] : ["the index"]),
    ...files.map(
      ({ change, discarded, path }) =>
        `.git/${escapeLine(path)} (${change}${discarded === true ? ", discarded" : ""})`
    ),
    ...(fileCount > files.length ? [`${fileCount - files.length} more files`] : [])
  ]
  const unread = "Some names in the repository were not compared: it has too many files."
  if (changes.length === 0) return unread
  const changed = `The repository changed without an approved git command: ${changes.join(", ")}. Review it before you commit or push.`
  return incomplete === true ? `${changed} ${unread}` : changed
}

type Content = PayloadOf<"run.tool.result">["content"]

/**
 * Lines for parts of a tool result that its output cannot show: images, recordings and files, which are artifacts of the run. One line for each
 * part with an artifact: `image screen.png (art_…)`.
 */
export const contentLines = (content: Content): ReadonlyArray<string> =>
  (content ?? []).flatMap(({ artifactId, mediaType, name, type }) =>
    artifactId === undefined
      ? []
      : [
          `${type === "resource" ? "file" : type} ${escapeLine(name ?? mediaType ?? "")} (${artifactId})`.replaceAll(
            "  ",
            " "
          )
        ]
  )

const seconds = (millis: number): string => `${Math.ceil(millis / 1_000)} s`

/** Line of text about a retried model call, or about a silent runtime. */
export const retryLine = ({
  attempt,
  delayMs,
  maxAttempts,
  message,
  reason,
  silentMs
}: PayloadOf<"runtime.retrying">): string => {
  if (silentMs !== undefined) return `no output for ${seconds(silentMs)}`
  const of = maxAttempts === undefined ? "" : ` of ${maxAttempts}`
  const which = attempt === undefined ? "" : ` (attempt ${attempt}${of})`
  const when = delayMs === undefined ? "" : ` in ${seconds(delayMs)}`
  const why = message === undefined ? "" : `: ${escapeLine(message)}`
  return `model call failed (${escapeLine(reason)}), retrying${when}${which}${why}`
}

/** Changes that are unknown, and files that were not compared, in a terminal. `reason` may be one of a later version. */
export const unknownChangesLine = (unknown: Parameters<typeof unknownChangesText>[0]): string =>
  `Changes unknown. ${escapeLine(unknownChangesText(unknown))} Look at the workspace yourself.`

/** Appended to the counts of a diff. */
export const leftOutText = (leftOut: LeftOut | undefined): string =>
  leftOut === undefined ? "" : `, ${leftOut.count} not compared`

/** Line of text about a decision: what was decided, by whom, where and why. */
export const resolutionLine = (
  {
    decidedBy,
    edited,
    origin,
    reason,
    scope,
    state
  }: Omit<ApprovalResolution, "resolvedAt" | "allowedInput">,
  nameOf: (user: string) => string
): Row => {
  const changes = edited === true ? " with changes" : ""
  const how =
    scope === undefined || scope === "once"
      ? ""
      : ` for this ${scope === "always" ? "and all later runs" : scope}`
  const who = decidedBy === undefined ? "" : ` by ${escapeLine(nameOf(decidedBy))}`
  const where = origin === undefined ? "" : originTexts[origin]
  const why = reason === undefined ? "" : `: ${escapeLine(reason)}`
  return [
    { text: state, style: state === "approved" ? "green" : "yellow" },
    { text: `${changes}${how}${who}${where}${why}` }
  ]
}

const marks = { pending: "○", in_progress: "◐", completed: "✓", cancelled: "–" } as const
const tints = { pending: undefined, in_progress: "cyan", completed: "green", cancelled: "dim" } as const

const countText = (steps: ReadonlyArray<Step>): string => {
  const done = steps.filter(({ state }) => state === "completed").length
  return `steps: ${done} of ${steps.length}`
}

/** Rows of an agent's whole list of steps: one each, with its state. */
const stepRows = (steps: ReadonlyArray<Step>): ReadonlyArray<Row> => [
  [{ text: `  ${countText(steps)}`, style: "dim" }],
  ...steps.map(({ state, text }): Row => [
    { text: `  ${marks[state]} `, style: tints[state] },
    { text: escapeLine(text), style: state === "completed" || state === "cancelled" ? "dim" : undefined }
  ])
]

/** Rows of what changed since the list before: the count and the changed steps; the whole list if it is another one. */
export const changedStepRows = (
  before: ReadonlyArray<Step>,
  steps: ReadonlyArray<Step>
): ReadonlyArray<Row> => {
  const earlier = new Map(before.map(({ id, state, text }) => [id, `${state} ${text}`]))
  const isSame =
    before.length > 0 && steps.every(({ id }) => earlier.has(id)) && steps.length === before.length
  if (!isSame) return stepRows(steps)
  const changed = steps.filter(({ id, state, text }) => earlier.get(id) !== `${state} ${text}`)
  return changed.length === 0
    ? []
    : [[{ text: `  ${countText(steps)}`, style: "dim" }], ...stepRows(changed).slice(1)]
}
