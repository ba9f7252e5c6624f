/**
 * Check of an external adapter, for `corral adapters check` and `add`: its files, its version and shape, and the conformance checks that
 * need no program.
 *
 * Guarantees: the adapter's code runs in threads with time limits.
 */
import { checkModule } from "@corral/conformance/CheckModule"
import { inventedRecordings, loadRecordings } from "@corral/conformance/Recordings"
import {
  type AdapterFile,
  isAdapterPath,
  loadAdapter,
  locateAdapter
} from "@corral/edge/runtime/AdapterPackages"
import { Effect } from "effect"
import { existsSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { refused } from "../CommandFailed.ts"

export interface AdapterFinding {
  /** A rule of the conformance kit; `load` if the adapter is not loaded. */
  readonly rule: string
  readonly check: string
  readonly message: string
}

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
