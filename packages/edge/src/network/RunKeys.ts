/**
 * Keys of one confined run: its placeholders, its authority, and the proxy that replaces the placeholders.
 *
 * Guarantees: without keys nothing is made, and asn1js is not loaded.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import type { RuntimeKey } from "@corral/domain/run/RuntimeNetwork"
import { mint } from "@corral/service/Identifiers"
import { Clock, Effect, FiberSet, type Scope } from "effect"
import type { KeyEntry } from "../config/KeyEntries.ts"
import { KeyProxy } from "./KeyProxy.ts"
import { keysOfRun, type KeySources } from "./KeyServices.ts"
import { isLoopbackHost } from "./NetworkAddress.ts"
import type { NetworkTarget } from "./NetworkTarget.ts"
import { PlaceholderKeys, type KeyedService } from "./PlaceholderKeys.ts"
import type { ProxyConnectionOptions } from "./ProxyConnection.ts"
import { makeRunAuthority, type SignedCertificate } from "./RunAuthority.ts"
import { trustVariables, writeTrustFiles } from "./TrustFiles.ts"

/** The setting for the adapter of a run, and what the adapter declares. */
export interface RunKeyOptions {
  readonly entry: KeyEntry
  readonly declared: ReadonlyArray<RuntimeKey>
  /** Environment of the run, with its keys. */
  readonly env: Readonly<Record<string, string>>
}

export interface RunKeys {
  /** The proxy for the services; `undefined` without keys. */
  readonly makeProxy: (
    options: ProxyConnectionOptions
  ) => Effect.Effect<KeyProxy | undefined, never, Scope.Scope>
  /** Services that the setting lists, which the run reaches in every mode. */
  readonly listed: ReadonlyArray<NetworkTarget>
  /** The environment of the run without its keys. `folder`: where the run sees the folder of its network. */
  readonly environmentOf: (
    env: Readonly<Record<string, string>>,
    folder: string
  ) => Readonly<Record<string, string>>
}

export const noKeys: RunKeys = {
  makeProxy: () => Effect.undefined,
  listed: [],
  environmentOf: (env) => env
}

const namesOf = ({ target: { host } }: KeyedService): ReadonlyArray<string> =>
  isLoopbackHost(host) ? [...new Set([host, "localhost", "127.0.0.1", "::1"])] : [host]

/** Replaces the keys of a run. Writes the certificate of its authority to the folder. */
export const openRunKeys = Effect.fnUntraced(function* (
  folder: string,
  { declared, entry, env }: RunKeyOptions,
  environment: KeySources["environment"]
): Effect.fn.Return<RunKeys, string> {
  const found = keysOfRun({ declared, entry, env, environment })
  if ("problem" in found) return yield* Effect.fail(found.problem)
  if (found.length === 0) return noKeys
  const placeholders = new PlaceholderKeys(found)
  const { services } = placeholders
  const now = yield* Clock.currentTimeMillis
  const secure = services.filter(({ isSecure }) => isSecure)
  const authority = yield* Effect.tryPromise({
    try: async () => {
      if (secure.length === 0) return undefined
      const issued = await makeRunAuthority(secure.map(namesOf), now)
      writeTrustFiles(folder, issued.certificate, environment)
      return issued
    },
    catch: String
  })
  const certificates = new Map<KeyedService, SignedCertificate>()
  for (const [at, service] of secure.entries()) {
    const certificate = authority?.signed[at]
    if (certificate !== undefined) certificates.set(service, certificate)
  }
  const { addresses = {} } = entry
  return {
    makeProxy: (options) => makeKeyProxy(services, certificates, options),
    listed: found
      .filter(({ variable }) => addresses[variable] !== undefined)
      .flatMap((key) => key.services.map(({ target }) => target)),
    environmentOf: (before, seen) => ({
      ...placeholders.environmentOf(before),
      ...(authority === undefined ? {} : trustVariables(seen))
    })
  }
})

const makeKeyProxy = Effect.fnUntraced(function* (
  services: ReadonlyArray<KeyedService>,
  certificates: ReadonlyMap<KeyedService, SignedCertificate>,
  options: ProxyConnectionOptions
) {
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const clock = yield* Clock.Clock
  const newId = () => mint<RequestId>("req", clock.currentTimeMillisUnsafe())
  return new KeyProxy(services, certificates, { ...options, fork: (effect) => void fork(effect), newId })
})
