/**
 * Adapters of this machine: the list for `corral adapters list`, built in, configured and external ones, as an Edge would offer them; and the check of
 * an external one for `corral adapters check` and `add`: its files, its version and shape, and the conformance checks that need no program.
 *
 * Guarantees: the code of a checked adapter runs in threads with time limits.
 */
import { checkModule } from "@corral/conformance/CheckModule"
import { inventedRecordings, loadRecordings } from "@corral/conformance/Recordings"
import type { RuntimeReadiness } from "@corral/domain/http/Health"
import type { Agent, Runner } from "@corral/domain/run/Agent"
import type { RunMode } from "@corral/domain/run/Run"
import { EdgeConfig } from "@corral/edge/config/EdgeConfig"
import { Confinement } from "@corral/edge/confinement/Confinement"
import {
  type AdapterFile,
  isAdapterPath,
  loadAdapter,
  locateAdapter
} from "@corral/edge/runtime/AdapterPackages"
import { builtInRunners } from "@corral/edge/runtime/Offers"
import { RuntimeRegistry } from "@corral/edge/runtime/RuntimeRegistry"
import { Runtimes } from "@corral/edge/runtime/Runtimes"
import { Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { refused } from "../CommandFailed.ts"
import { type Paint, fitColumns } from "../terminal/Rows.ts"
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

export interface AdapterFinding {
  /** A rule of the conformance kit; `load` if the adapter is not loaded. */
  readonly rule: string
  readonly check: string
  readonly message: string
}

/** What the check of an external adapter found. */
export interface AdapterCheck {
  /** The entry of `adapters`: the name of a package, or an absolute path. */
  readonly entry: string
  /** Absent if the adapter is not loaded. */
  readonly id?: string | undefined
  readonly file?: string | undefined
  readonly version?: string | undefined
  /** Recordings of the package; 0 if the checks used invented output. */
  readonly recordings: number
  readonly findings: ReadonlyArray<AdapterFinding>
}

/** Examples per property. The package's own tests try more. */
const RUNS = 20
const LIMIT_MS = 30_000

/** `recordings` in the folder of a package, or next to a file. */
const recordingsOf = ({ file, root }: AdapterFile) => {
  const folder = join(root ?? dirname(file), "recordings")
  return existsSync(folder) ? loadRecordings(folder) : []
}

const located = (entry: string, folder: string) =>
  Effect.try({
    try: () => locateAdapter(entry, folder),
    catch: () => refused(`Can't read the adapter ${entry}.`)
  })

/** `adapter` is the name of a package, as seen from the configuration's folder, or a path. */
export const checkAdapter = Effect.fnUntraced(function* (
  adapter: string,
  configFolder: string,
  environment: Readonly<Record<string, string>>
) {
  // A folder of the same name here is not the package.
  const isPackage = !isAdapterPath(adapter) && (yield* located(adapter, configFolder)) !== undefined
  const isPath = isAdapterPath(adapter) || (!isPackage && existsSync(resolve(adapter)))
  const entry = isPath ? resolve(adapter) : adapter
  const loaded = yield* loadAdapter(entry, configFolder, { environment, report: () => undefined }).pipe(
    Effect.scoped,
    Effect.result
  )
  if (loaded._tag === "Failure")
    return {
      entry,
      recordings: 0,
      findings: [{ rule: "load", check: "is loaded", message: loaded.failure.reason }]
    } satisfies AdapterCheck
  const found = yield* located(entry, configFolder)
  if (found === undefined) return yield* refused(`The adapter ${entry} was removed during the check.`)
  const recordings = yield* Effect.try({
    try: () => recordingsOf(found),
    catch: () => refused(`Can't read the recordings of ${entry}.`)
  })
  const checked = yield* Effect.promise(() =>
    checkModule({
      module: found.file,
      recordings: recordings.length > 0 ? recordings : inventedRecordings,
      runs: RUNS,
      limitMs: LIMIT_MS
    })
  )
  const findings = checked.flatMap(({ findings: each, name }) =>
    each.map(({ message, rule }) => ({ rule, check: name, message }))
  )
  const { file, version } = found
  const { id } = loaded.success
  return {
    entry,
    id,
    file,
    ...(version === undefined ? {} : { version }),
    recordings: recordings.length,
    findings
  } satisfies AdapterCheck
})

/** One line per finding, then the result. */
export const formatCheck = ({ entry, findings, id, recordings }: AdapterCheck): ReadonlyArray<string> => {
  const source =
    recordings === 0 ? "invented output" : recordings === 1 ? "1 recording" : `${recordings} recordings`
  return findings.length === 0
    ? [`✓ ${id ?? entry}: no findings with ${source}`]
    : findings.map(({ check, message, rule }) =>
        rule === "load" ? `✗ ${entry}: ${message}` : `✗ ${rule}: ${check}: ${message}`
      )
}
