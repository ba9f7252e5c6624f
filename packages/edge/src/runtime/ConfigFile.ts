/**
 * The file of profiles and runners, as it is now: read again whenever it has changed, and looked at before every use and once a second.
 *
 * A file that is missing offers nothing more. One that is not usable stops a start; later it leaves in use what the file said before,
 * and says why. It is looked at by its status and not by a watcher on its folder: the store writes there too, and each write would wake
 * the Edge (ADR 13).
 */
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Data, Effect, Result, Schedule, Schema, SchemaIssue, type Scope } from "effect"
import { type BigIntStats, readFileSync, statSync } from "node:fs"
import * as AdapterPackages from "./AdapterPackages.ts"
import { EdgeConfigFile } from "./ConfigSchema.ts"
import { type Misfit, offer, type Offers } from "./Offers.ts"

export class ConfigFileInvalid extends Data.TaggedError("ConfigFileInvalid")<{ readonly message: string }> {}

export interface ConfigState {
  readonly offers: Offers
  /** Why what the file says now is not in use, in a sentence. */
  readonly problem?: string | undefined
}

export interface ConfigFile {
  readonly look: Effect.Effect<ConfigState>
}

/** Reads that file now, and keeps an eye on it as long as the scope is open. Without a file there are the adapters and the presets. */
export const open = Effect.fnUntraced(function* (
  file: string | undefined,
  adapters: ReadonlyMap<string, AnyRuntimeAdapter>
): Effect.fn.Return<ConfigFile, ConfigFileInvalid, Scope.Scope> {
  let seen = file === undefined ? undefined : lookAt(file)
  const atStart = yield* Effect.fromResult(contentOf(file, seen))
  const listed = atStart.adapters ?? []
  const loaded = yield* Effect.mapError(
    AdapterPackages.loadAdapters(file, listed, adapters),
    ({ message }) => new ConfigFileInvalid({ message })
  )
  const read = (now: typeof seen) =>
    Result.flatMap(contentOf(file, now), (content) => offersOf(file, content, listed, loaded))
  let configured: ConfigState = { offers: yield* Effect.fromResult(offersOf(file, atStart, listed, loaded)) }
  if (file === undefined) return { look: Effect.succeed(configured) }

  const look = Effect.suspend(() => {
    const now = lookAt(file)
    if (fingerprint(now) === fingerprint(seen)) return Effect.succeed(configured)
    seen = now
    const problem = configured.problem
    configured = Result.match(read(now), {
      onSuccess: (offers): ConfigState => ({ offers }),
      onFailure: ({ message }): ConfigState => ({ offers: configured.offers, problem: message })
    })
    const said =
      configured.problem === undefined
        ? Effect.logInfo(`${file} is in use as it is now.`)
        : configured.problem === problem
          ? Effect.void
          : Effect.logWarning(`${configured.problem} What it said before stays in use.`)
    return Effect.as(said, configured)
  })
  yield* Effect.forkScoped(Effect.repeat(look, Schedule.spaced("1 second")))
  return { look }
})

/** The status of the file, `undefined` without one, or the reason why it cannot be read. */
const lookAt = (file: string): BigIntStats | string | undefined => {
  try {
    return statSync(file, { bigint: true, throwIfNoEntry: false })
  } catch {
    return "it cannot be reached"
  }
}

const fingerprint = (seen: BigIntStats | string | undefined): string | undefined =>
  typeof seen === "object"
    ? [seen.ino, seen.size, seen.mode, seen.uid, seen.mtimeNs, seen.ctimeNs].join(" ")
    : seen

const MAX_BYTES = 1_048_576n

/** It names programs that will be run: who may write it may run them. */
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
  seen: BigIntStats | string | undefined
): Result.Result<EdgeConfigFile, ConfigFileInvalid> => {
  if (typeof seen === "string") return refusal(file, seen)
  const reason = seen === undefined ? undefined : unsafe(seen)
  if (reason !== undefined) return refusal(file, reason)
  let value: unknown = {}
  try {
    if (file !== undefined && seen !== undefined) value = JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    return refusal(file, error instanceof SyntaxError ? "it is not JSON" : "it cannot be read")
  }
  const decoded = decode(value)
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
  const { issues } = format(decoded.failure.issue)
  return refusal(file, sentence(issues.map(({ path = [], message }) => ({ path: path.join("."), message }))))
}

/** `listed` are the adapters that were loaded at start: they do not change while the Edge runs. */
const offersOf = (
  file: string | undefined,
  content: EdgeConfigFile,
  listed: ReadonlyArray<string>,
  adapters: ReadonlyMap<string, AnyRuntimeAdapter>
): Result.Result<Offers, ConfigFileInvalid> => {
  if (JSON.stringify(content.adapters ?? []) !== JSON.stringify(listed))
    return refusal(file, "adapters: they are loaded at start, so restart the Edge to change them")
  const offered = offer(content, adapters)
  return "byId" in offered ? Result.succeed(offered) : refusal(file, sentence(offered))
}

/** Paths and expectations; nothing of what stands there. */
const sentence = (misfits: ReadonlyArray<Misfit>): string => {
  const [first = { path: "", message: "it does not fit" }, ...more] = misfits
  const said = first.path === "" ? first.message : `${first.path}: ${first.message}`
  return more.length === 0 ? said : `${said} (and ${more.length} more)`
}
