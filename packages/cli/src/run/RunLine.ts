/** A run in a list: one line, or three on a terminal that is too narrow for one. No line is wider than the terminal. */
import { messageOfPrompt } from "@corral/domain/session/TranscribedPrompt"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { ConfinementKind } from "@corral/domain/run/Confinement"
import type { Run } from "@corral/domain/run/Run"
import { columnsOf, fitColumns } from "../terminal/FitColumns.ts"
import type { Paint } from "../terminal/Paint.ts"
import { listedTime } from "../terminal/ShownTime.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

const tints = {
  queued: "dim",
  created: "dim",
  starting: "dim",
  running: "cyan",
  waiting_approval: "yellow",
  waiting_input: "yellow",
  completed: "green",
  failed: "red",
  cancelled: "dim"
} as const

const PROMPT_SHOWN = 60
/** Columns of a relative time. */
const TIME = 12
/** Columns of an id, a state, a time and the spaces after them. */
const FIXED = 52 + TIME
/** Columns that agent and workspace need besides, before a run takes three lines. */
const PLACE = 24
const INDENT = "  "

const limitsOf = (kind: ConfinementKind): string => {
  if (kind === "none") return "not confined"
  return kind === "landlock" ? "files confined" : "confined"
}

/** `width`: columns of the terminal; `undefined` where the output is not one, so nothing but the prompt is cut and times are absolute. */
export const formatRun = (
  { id, state, paused, agentId, workspace, confinement, createdAt, input }: Run | HubRun,
  paint: Paint,
  width: number | undefined,
  now: number
): string => {
  const columns = width ?? Infinity
  const time = listedTime(createdAt, width, now)
  const limits = confinement === undefined ? "" : `, ${limitsOf(confinement.kind)}`
  const place = escapeLine(`${agentId} in ${workspace}${limits}`)
  const prompt = escapeLine(messageOfPrompt(input.text))
  // A run that needs a decision or an answer says so, also while it is paused.
  const isShownPaused = paused === true && state !== "waiting_approval" && state !== "waiting_input"
  const label = isShownPaused ? "paused" : state
  const status = (text: string) => paint(isShownPaused ? "yellow" : tints[state], text)
  if (columns < FIXED + PLACE) {
    const rest = fitColumns(`${place}  ${prompt}`, columns - INDENT.length)
    return `${id}\n${INDENT}${status(label)}  ${time}\n${INDENT}${paint("dim", rest)}\n`
  }
  const shownPlace = fitColumns(place, columns - FIXED)
  const room = columns - FIXED - columnsOf(shownPlace) - INDENT.length
  const shown = room > 1 ? fitColumns(prompt, Math.min(PROMPT_SHOWN, room)) : ""
  return (
    `${id}  ${status(label.padEnd(16))}  ${time.padEnd(TIME)}  ${shownPlace}  ${paint("dim", shown)}`.trimEnd() +
    "\n"
  )
}
