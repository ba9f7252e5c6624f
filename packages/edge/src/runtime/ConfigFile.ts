/**
 * Current content of the file of profiles and runners. The file is checked before every use and once a second, and read when it has changed.
 *
 * Guarantees: an invalid file fails the start. Later, the previous content stays in use, with the reason. A deleted file removes its offers.
 * The check reads the file's status. A watcher on its folder would wake the Edge at every write of the store (ADR 13).
 */
import type { AnyRuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Effect, Result, Schedule, type Scope } from "effect"
import * as AdapterPackages from "./AdapterPackages.ts"
import {
  type ConfigFileInvalid,
  fingerprint,
  lookAt,
  readEntries,
  refusal,
  sentence,
  strictDecoder
} from "./ConfigContent.ts"
import { EdgeConfigFile } from "./ConfigSchema.ts"
import { makeOffers, type Offers } from "./Offers.ts"

export interface ConfigState {
  readonly content: EdgeConfigFile
  /** Built-in adapters, and those that the file lists. */
  readonly adapters: ReadonlyMap<string, AnyRuntimeAdapter>
  readonly offers: Offers
  /** Reason why the current content is not in use, as a sentence. */
  readonly problem?: string | undefined
}

export interface ConfigFile {
  readonly look: Effect.Effect<ConfigState>
  /** A sentence about each listed adapter, and each profile over one, that does not work. */
  readonly problems: () => ReadonlyArray<string>
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
  const problems = () => [...loaded.problems(), ...configured.offers.left]
  const { adapters: installed } = loaded
  const stateOf = (content: EdgeConfigFile) =>
    Result.map(offersOf(file, content, listed, loaded), (offers): ConfigState => ({
      content,
      adapters: installed,
      offers
    }))
  const read = (now: typeof lastStatus) => Result.flatMap(contentOf(file, now), stateOf)
  let configured = yield* Effect.fromResult(stateOf(atStart))
  if (file === undefined) return { look: Effect.succeed(configured), problems }

  const look = Effect.suspend(() => {
    const now = lookAt(file)
    if (fingerprint(now) === fingerprint(lastStatus)) return Effect.succeed(configured)
    lastStatus = now
    const problem = configured.problem
    configured = Result.match(read(now), {
      onSuccess: (state) => state,
      onFailure: ({ message }) => ({ ...configured, problem: message })
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
  return { look, problems }
})

const decode = strictDecoder(EdgeConfigFile)

const contentOf = (file: string | undefined, status: ReturnType<typeof lookAt>) =>
  readEntries(decode, file, status)

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
