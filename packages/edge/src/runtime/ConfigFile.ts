/**
 * Current content of the file of profiles and runners. The file is checked before every use and once a second, and read when it has changed.
 *
 * Guarantees: an invalid file fails the start. Later, the previous content stays in use, with the reason. A deleted file removes its offers.
 * The check reads the file's status. A watcher on its folder would wake the Edge at every write of the store (ADR 13).
 */
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Data, Effect, Result, Schedule, Schema, SchemaIssue, type Scope } from "effect"
import { type BigIntStats, readFileSync, statSync } from "node:fs"
import * as AdapterPackages from "./AdapterPackages.ts"
import { EdgeConfigFile } from "./ConfigSchema.ts"
import { type ConfigProblem, makeOffers, type Offers } from "./Offers.ts"

export class ConfigFileInvalid extends Data.TaggedError("ConfigFileInvalid")<{ readonly message: string }> {}

export interface ConfigState {
  readonly offers: Offers
  /** Reason why the current content is not in use, as a sentence. */
  readonly problem?: string | undefined
}

export interface ConfigFile {
  readonly look: Effect.Effect<ConfigState>
  /** A sentence about each listed adapter that does not work. */
  readonly adapterProblems: () => ReadonlyArray<string>
}

/** Reads a file now, and checks it while the scope is open. Without a file, only the adapters and the presets are offered. */
export const openConfigFile = Effect.fnUntraced(function* (
  file: string | undefined,
  adapters: ReadonlyMap<string, AnyRuntimeAdapter>,
  environment: Readonly<Record<string, string>> = {}
): Effect.fn.Return<ConfigFile, ConfigFileInvalid, Scope.Scope> {
  let lastStatus = file === undefined ? undefined : lookAt(file)
  const atStart = yield* Effect.fromResult(contentOf(file, lastStatus))
  const listed = atStart.adapters ?? []
  const loaded = yield* AdapterPackages.loadAdapters(file, listed, adapters, environment)
  const adapterProblems = () => [...loaded.problems(), ...configured.offers.left]
  const read = (now: typeof lastStatus) =>
    Result.flatMap(contentOf(file, now), (content) => offersOf(file, content, listed, loaded))
  let configured: ConfigState = { offers: yield* Effect.fromResult(offersOf(file, atStart, listed, loaded)) }
  if (file === undefined) return { look: Effect.succeed(configured), adapterProblems }

  const look = Effect.suspend(() => {
    const now = lookAt(file)
    if (fingerprint(now) === fingerprint(lastStatus)) return Effect.succeed(configured)
    lastStatus = now
    const problem = configured.problem
    configured = Result.match(read(now), {
      onSuccess: (offers): ConfigState => ({ offers }),
      onFailure: ({ message }): ConfigState => ({ offers: configured.offers, problem: message })
    })
    const report =
      configured.problem === undefined
        ? Effect.logInfo("reloaded the file of profiles and runners", { file })
        : configured.problem === problem
          ? Effect.void
          : Effect.logWarning(`${configured.problem} What it said before stays in use.`)
    return Effect.as(report, configured)
  })
  yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced("1 second")))
  return { look, adapterProblems }
})

/** Status of the file; `undefined` without one, or the reason why it cannot be read. */
const lookAt = (file: string): BigIntStats | string | undefined => {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })
  } catch {
    return "it cannot be reached"
  }
}

const fingerprint = (status: BigIntStats | string | undefined): string | undefined =>
  typeof status === "object"
    ? [status.ino, status.size, status.mode, status.uid, status.mtimeNs, status.ctimeNs].join(" ")
    : status

const MAX_BYTES = 1_048_576n

/** The file names programs to run, so users who can write it can run programs as the Edge. */
const unsafe = (stat: BigIntStats): string | undefined => {
  if (!stat.isFile()) return "it is no file"
  if (stat.size > MAX_BYTES) return "it is larger than 1 MiB"
  if ((stat.mode & 0o022n) !== 0n) return "others can write it; chmod it to 600"
  const ours = process.getuid === undefined || stat.uid === BigInt(process.getuid()) || stat.uid === 0n
  return ours ? undefined : "it belongs to another user"
}

const decode = Schema.decodeUnknownResult(EdgeConfigFile, { errors: "all", onExcessProperty: "error" })
const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    if (issue._tag === "UnexpectedKey") return "Not a field of this object"
    return issue._tag === "MissingKey" ? "Required" : SchemaIssue.defaultLeafHook(issue)
  }
})

const refusal = (file: string | undefined, reason: string) =>
  Result.fail(new ConfigFileInvalid({ message: `${file} is not usable: ${reason}.` }))

const contentOf = (
  file: string | undefined,
  status: BigIntStats | string | undefined
): Result.Result<EdgeConfigFile, ConfigFileInvalid> => {
  if (typeof status === "string") return refusal(file, status)
  const reason = status === undefined ? undefined : unsafe(status)
  if (reason !== undefined) return refusal(file, reason)
  let value: unknown = {}
  try {
    if (file !== undefined && status !== undefined) value = JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    return refusal(file, error instanceof SyntaxError ? "it is not JSON" : "it cannot be read")
  }
  const decoded = decode(value)
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
  const { issues } = format(decoded.failure.issue)
  return refusal(file, sentence(issues.map(({ path = [], message }) => ({ path: path.join("."), message }))))
}

/** `listed` are the adapters that were loaded at start. They do not change. */
const offersOf = (
  file: string | undefined,
  content: EdgeConfigFile,
  listed: ReadonlyArray<string>,
  { adapters }: AdapterPackages.LoadedAdapters
): Result.Result<Offers, ConfigFileInvalid> => {
  if (JSON.stringify(content.adapters ?? []) !== JSON.stringify(listed))
    return refusal(file, "adapters: they are loaded at start, so restart the Edge to change them")
  const offered = makeOffers(content, adapters)
  return "byId" in offered ? Result.succeed(offered) : refusal(file, sentence(offered))
}

/** Problem with paths and expectations, without the content. */
const sentence = (problems: ReadonlyArray<ConfigProblem>): string => {
  const [first = { path: "", message: "it does not fit" }, ...more] = problems
  const text = first.path === "" ? first.message : `${first.path}: ${first.message}`
  return more.length === 0 ? text : `${text} (and ${more.length} more)`
}
