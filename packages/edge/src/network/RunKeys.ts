/**
 * Keys of one confined run: its placeholders, its authority, and the proxy that replaces the placeholders. Also the files with the authority's
 * certificate, for programs of the run.
 *
 * Guarantees: without keys nothing is made, and asn1js is not loaded.
 */
import type { RequestId } from "@corral/domain/identity/Ids"
import type { RuntimeKey } from "@corral/domain/run/RuntimeNetwork"
import { mint } from "@corral/service/Identifiers"
import { Clock, Effect, FiberSet, type Scope } from "effect"
import type { KeyEntry } from "../config/EdgeConfig.ts"
import { KeyProxy } from "./KeyProxy.ts"
import { type KeyedService, keysOfRun, type KeySources, PlaceholderKeys } from "./KeyServices.ts"
import { isLoopbackHost, type NetworkTarget } from "./NetworkTarget.ts"
import type { ProxyConnectionOptions } from "./ProxyConnection.ts"
import { type SignedCertificate, makeRunAuthority } from "./RunAuthority.ts"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { rootCertificates } from "node:tls"

// Files with the certificate of a run's authority, and the variables by which programs find them. Some programs add the file to what they
// trust, others trust nothing else: the second file has the authorities of the system, too.

/** Files of the authorities that a system trusts: Debian, Red Hat, SUSE, Alpine. */
const SYSTEM_FILES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/ssl/cert.pem"
]
const ADDED = "authority.pem"
const WHOLE = "authorities.pem"

const BEGIN = "-----BEGIN CERTIFICATE-----"
const END = "-----END CERTIFICATE-----"

/** The certificates of a text, and not a private key that is in the same file. */
const certificatesIn = (text: string): string => {
  const found: Array<string> = []
  for (let at = text.indexOf(BEGIN); at !== -1;) {
    const end = text.indexOf(END, at)
    if (end === -1) break
    found.push(text.slice(at, end + END.length))
    at = text.indexOf(BEGIN, end)
  }
  return found.join("\n")
}

const textOf = (path: string | undefined): string | undefined => {
  try {
    return path === undefined || path === "" ? undefined : certificatesIn(readFileSync(path, "utf8"))
  } catch {
    return undefined
  }
}

const trustedBySystem = (file: string | undefined): string => {
  for (const path of [file, ...SYSTEM_FILES]) {
    const text = textOf(path)
    if (text !== undefined && text !== "") return text
  }
  return rootCertificates.join("\n")
}

/** Writes the files. `environment`: the Edge's own, which may name files of authorities. Throws the system's error. */
const writeTrustFiles = (
  folder: string,
  certificate: string,
  environment: Readonly<Record<string, string>>
): void => {
  const added = [certificate, textOf(environment["NODE_EXTRA_CA_CERTS"]) ?? ""].join("\n")
  writeFileSync(join(folder, ADDED), added, { mode: 0o400 })
  const whole = [added, trustedBySystem(environment["SSL_CERT_FILE"])].join("\n")
  writeFileSync(join(folder, WHOLE), whole, { mode: 0o400 })
}

/** Variables of the run. `folder`: where the run sees the files. Node and Bun read the first one, Codex the last one. */
const trustVariables = (folder: string): Readonly<Record<string, string>> => {
  const [added, whole] = [join(folder, ADDED), join(folder, WHOLE)]
  return {
    NODE_EXTRA_CA_CERTS: added,
    SSL_CERT_FILE: whole,
    CURL_CA_BUNDLE: whole,
    REQUESTS_CA_BUNDLE: whole,
    CODEX_CA_CERTIFICATE: whole
  }
}

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
