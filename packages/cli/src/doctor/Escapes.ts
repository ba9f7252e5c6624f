/**
 * Tests of the confinement for `corral doctor --probe`, with the settings of this machine's Edge, and their text: a table of attempts and modes,
 * and a sentence about what held. Needs no running Edge.
 */
import { readEdgeConfig } from "@corral/edge/EdgeSettings"
import { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import { Confinement } from "@corral/edge/confinement/Confinement"
import {
  type ProbedAttempt,
  type ProbedMode,
  probeEscapes,
  probedModes
} from "@corral/edge/confinement/probe/EscapeProbe"
import { Effect, Layer, References } from "effect"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { Host } from "../terminal/Host.ts"
import type { Paint } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

/**
 * Tests of the confinement for `corral doctor --probe`, with the settings of this machine's Edge. Needs no running Edge. Runs them, also if the
 * setting of the Edge is `off`. Fails with a sentence if this machine cannot confine runs.
 */
export const findEscapes: Effect.Effect<ReadonlyArray<ProbedAttempt>, CommandFailed, Host> = Effect.gen(
  function* () {
    const { environment } = yield* Host
    const settings = yield* Effect.mapError(readEdgeConfig(environment), ({ message }) => refused(message))
    // A listed host may be this machine, which the attempts try to reach.
    const config: EdgeConfig = { ...settings, confinement: "required", runHosts: [] }
    const probe = Effect.gen(function* () {
      const { problem, hint = "", kind } = (yield* Confinement).readiness
      // Its attempts are those of a program on Linux.
      if (kind === "seatbelt")
        return yield* refused("The attempts are for Linux. This machine uses Seatbelt.")
      if (problem !== undefined) return yield* refused(`${problem} ${hint}`.trimEnd())
      return yield* Effect.mapError(
        probeEscapes(),
        ({ message }) => new CommandFailed({ message, exitCode: exitCodes.failed })
      )
    })
    return yield* probe.pipe(
      Effect.provide(Layer.provideMerge(Confinement.layer, Layer.succeed(EdgeConfig, config))),
      // The failure says what is missing.
      Effect.provideService(References.MinimumLogLevel, "None")
    )
  }
)

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
