/** Text of `corral doctor --probe`: a table of attempts and modes, and a sentence about what held. */
import { type ProbedAttempt, type ProbedMode, probedModes } from "@corral/edge/confinement/probe/EscapeProbe"
import type { Paint } from "../terminal/Paint.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/** By kind of attempts, in the order of the table. */
const titles: Readonly<Record<string, string>> = {
  hidden: "Change a folder that the run does not see",
  readable: "Change a folder that the run may only read",
  workspace: "Change the workspace",
  protected: "Change protected folders of the workspace",
  copies: "Change protected folders by their copies",
  state: "Change the state of a runtime",
  opened: "Write files of this machine (asked, not done)",
  read: "Read files of this machine",
  processes: "Reach processes",
  rights: "Use rights",
  visible: "Reach the machine through folders that the run sees",
  calls: "Reach the kernel by system calls",
  network: "Reach the network",
  outside: "Seen from outside"
}

const words = { held: "held", not_held: "NOT HELD", not_tried: "not tried" } as const
/** An attempt that the mode allows. */
const ALLOWED = "allowed"
const WIDTH =
  Math.max(...probedModes.map((mode) => mode.length), ...Object.values(words).map((word) => word.length)) + 2

const colours = { held: "green", not_held: "red", not_tried: "yellow" } as const

const cell = (paint: Paint, found: ProbedAttempt | undefined): string => {
  const text = (found === undefined ? ALLOWED : words[found.outcome]).padEnd(WIDTH)
  return found === undefined ? paint("dim", text) : paint(colours[found.outcome], text)
}

type Rows = ReadonlyMap<string, ReadonlyMap<ProbedMode, ProbedAttempt>>

const rowsOf = (found: ReadonlyArray<ProbedAttempt>): Rows => {
  const rows = new Map<string, Map<ProbedMode, ProbedAttempt>>()
  for (const each of found) {
    const row = rows.get(each.attempt) ?? new Map<ProbedMode, ProbedAttempt>()
    rows.set(each.attempt, row.set(each.mode, each))
  }
  return rows
}

export const outcomeCount = (
  found: ReadonlyArray<ProbedAttempt>,
  outcome: ProbedAttempt["outcome"]
): number => found.filter((each) => each.outcome === outcome).length

const summary = (found: ReadonlyArray<ProbedAttempt>): string => {
  const [notHeld, notTried] = [outcomeCount(found, "not_held"), outcomeCount(found, "not_tried")]
  const tried = found.length - notTried
  const skipped = notTried === 0 ? "" : ` ${notTried} could not be tried here.`
  return notHeld === 0
    ? `The confinement held: all ${tried} attempts in ${probedModes.length} modes failed.${skipped}`
    : `The confinement did not hold: ${notHeld} of ${tried} attempts got through.${skipped}`
}

/** Formats the table. The last line ends with a newline. */
export const formatEscapes = (found: ReadonlyArray<ProbedAttempt>, paint: Paint): string => {
  const width = Math.max(...found.map(({ attempt }) => attempt.length)) + 4
  const header = `${"".padEnd(width)}${probedModes.map((mode) => mode.padEnd(WIDTH)).join("")}`
  const lines = Object.entries(titles).flatMap(([kind, title]) => {
    const rows = rowsOf(found.filter((each) => each.kind === kind))
    return rows.size === 0
      ? []
      : [
          title,
          ...[...rows].map(
            ([attempt, row]) =>
              `  ${escapeLine(attempt).padEnd(width - 2)}${probedModes.map((mode) => cell(paint, row.get(mode))).join("")}`
          )
        ]
  })
  return [header, ...lines, "", summary(found), "Runs in full_access are not confined.", ""]
    .map((line) => line.trimEnd())
    .join("\n")
}
