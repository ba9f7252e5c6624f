/**
 * Placeholders of one run: random values in the shape of keys, which only the proxy of the run accepts.
 *
 * Guarantees: no variable of the run contains a key. A key is in a request only if the request has its placeholder, for a service of the key.
 */
import type { IncomingHttpHeaders } from "node:http"
import { randomBytes } from "node:crypto"
import { isSameTarget, type KeyService, type RunKey } from "./KeyServices.ts"
import type { NetworkTarget } from "./NetworkTarget.ts"

interface PlacedKey extends RunKey {
  readonly placeholder: string
}

/** A service with the keys that it accepts. */
export interface KeyedService extends KeyService {
  readonly keys: ReadonlyArray<PlacedKey>
}

const BEARER = /^bearer +/i

export class PlaceholderKeys {
  readonly services: ReadonlyArray<KeyedService>
  readonly #keys: ReadonlyArray<PlacedKey>

  constructor(keys: ReadonlyArray<RunKey>) {
    const byKey = new Map<string, string>()
    for (const { key, prefix } of keys)
      if (!byKey.has(key)) byKey.set(key, `${prefix}${randomBytes(24).toString("hex")}`)
    this.#keys = keys.map((each) => ({ ...each, placeholder: byKey.get(each.key) ?? "" }))
    const services: Array<KeyService> = []
    for (const service of keys.flatMap((each) => each.services))
      if (!services.some(({ target }) => isSameTarget(target, service.target))) services.push(service)
    this.services = services.map((service) => ({
      ...service,
      keys: this.#keys.filter((each) =>
        each.services.some(
          ({ isSecure, target }) => isSecure === service.isSecure && isSameTarget(target, service.target)
        )
      )
    }))
  }

  serviceAt(target: NetworkTarget): KeyedService | undefined {
    return this.services.find((service) => isSameTarget(service.target, target))
  }

  /** The environment with placeholders, also inside of other values. */
  environmentOf(env: Readonly<Record<string, string>>): Record<string, string> {
    // The longest first: a key may begin with another one.
    const longestFirst = this.#keys.toSorted((a, b) => b.key.length - a.key.length)
    const placed = Object.entries(env).map(([name, value]): [string, string] => [
      name,
      longestFirst.reduce((text, { key, placeholder }) => text.replaceAll(key, placeholder), value)
    ])
    return Object.fromEntries(placed)
  }
}

/** Headers that replace those with a placeholder of the service; empty without any. */
export const keyHeaders = (
  { keys }: KeyedService,
  headers: IncomingHttpHeaders
): Readonly<Record<string, string>> => {
  const replaced: Record<string, string> = {}
  for (const { headers: names, key, placeholder } of keys)
    for (const name of names) {
      const value = headers[name]
      if (name !== "authorization") {
        if (value === placeholder) replaced[name] = key
      } else if (typeof value === "string" && BEARER.test(value) && value.replace(BEARER, "") === placeholder)
        replaced[name] = `Bearer ${key}`
    }
  return replaced
}
