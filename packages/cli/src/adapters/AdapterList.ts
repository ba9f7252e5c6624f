/** Adapters of this machine, for `corral adapters list`: built in, configured and external ones, as an Edge would offer them. */
import type { Agent, Runner } from "@corral/domain/run/Agent"
import type { RuntimeReadiness } from "@corral/domain/http/Health"
import type { RunMode } from "@corral/domain/run/Run"
import { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import { Confinement } from "@corral/edge/confinement/Confinement"
import { RuntimeRegistry } from "@corral/edge/runtime/RuntimeRegistry"
import { builtInRunners } from "@corral/edge/runtime/Offers"
import { Runtimes } from "@corral/edge/runtime/Runtimes"
import { Effect, Layer } from "effect"
import { refused } from "../CommandFailed.ts"
import { fitColumns, type Paint } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

export interface ListedAdapter {
  readonly id: string
  readonly label: string
  /** `configured`: a profile, a runner or an agent of `edge.config.json`. `custom`: an entry of its `adapters`. */
  readonly source: "built in" | "configured" | "custom"
  readonly installed: boolean
  readonly version?: string | undefined
  /** Absolute path of the program. */
  readonly path?: string | undefined
  /** Modes that it can enforce. */
  readonly modes: ReadonlyArray<RunMode>
}

export interface AdapterList {
  readonly adapters: ReadonlyArray<ListedAdapter>
  /** A sentence about each configured adapter that does not work. */
  readonly problems: ReadonlyArray<string>
}

const fromAgent = (
  agent: Agent,
  readiness: ReadonlyArray<RuntimeReadiness>,
  registered: ReadonlySet<string>
): ListedAdapter => {
  const { available, id, label, modes = [], version } = agent
  const path = readiness.find((each) => each.id === id)?.path
  return {
    id,
    label,
    source: id.startsWith("custom:") ? "custom" : registered.has(id) ? "built in" : "configured",
    installed: available,
    ...(version === undefined ? {} : { version }),
    ...(path === undefined ? {} : { path }),
    modes
  }
}

const fromRunner = ({ available, id, label, modes = [] }: Runner): ListedAdapter => ({
  id,
  label,
  source: builtInRunners.some((runner) => runner.id === id) ? "built in" : "configured",
  installed: available,
  modes
})

/** Reads the configuration, loads external adapters for a moment, and asks each program for its version. */
export const listAdapters = (config: EdgeConfig) =>
  Effect.gen(function* () {
    const runtimes = yield* Runtimes
    const registered = new Set((yield* RuntimeRegistry).keys())
    const agents = yield* runtimes.list
    const readiness = yield* runtimes.readiness
    const runners = yield* runtimes.runners
    return {
      adapters: [
        ...agents.map((agent) => fromAgent(agent, readiness, registered)),
        ...runners.map(fromRunner)
      ],
      problems: yield* runtimes.adapterProblems
    } satisfies AdapterList
  }).pipe(
    Effect.provide(
      Layer.provide(Layer.provide(Runtimes.layer, Confinement.layer), Layer.succeed(EdgeConfig, config))
    ),
    Effect.mapError(({ message }) => refused(message))
  )

/** Narrow enough for half a screen. */
export const LIST_COLUMNS = 44

/** Three lines per adapter: its id and source, its program, its modes. */
export const formatAdapters = (
  { adapters, problems }: AdapterList,
  columns: number,
  paint: Paint
): ReadonlyArray<string> => {
  const fit = (text: string) => fitColumns(escapeLine(text), columns)
  return [
    ...adapters.flatMap(({ id, installed, modes, path, source, version = "" }) => [
      `${installed ? paint("green", "✓") : paint("yellow", "–")} ${fitColumns(id, columns - 14).padEnd(columns - 14)} ${source}`,
      ...(installed
        ? [
            paint(
              "dim",
              fit(`  ${[version, path].filter((each) => each !== undefined && each !== "").join(" ")}`)
            )
          ]
        : [fit("  not installed")]),
      paint("dim", fit(`  ${modes.join(" ")}`))
    ]),
    ...problems.map((problem) => `${paint("red", "✗")} ${escapeLine(problem)}`)
  ]
}
