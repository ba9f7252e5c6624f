/**
 * What adapters had no name for since the Edge started: signs that a runtime has moved on. Counts and names, no content; bounded whatever
 * a runtime prints.
 */
import type { RuntimeDrift } from "@corral/domain/Health"

const MAX_KINDS = 1_000
const MAX_CHARACTERS = 200
const TOLD_KINDS = 20
const MAX_VERSIONS = 20

interface Counted {
  unknown: number
  readonly kinds: Map<string, number>
}

export class Drift {
  readonly #counted = new Map<string, Counted>()
  readonly #versions = new Map<string, Set<string>>()

  /** `what` is a name of the runtime's protocol. Kinds over the limit count in the sum alone. */
  count(runtime: string, what: string): void {
    const counted = this.#counted.get(runtime) ?? { unknown: 0, kinds: new Map<string, number>() }
    this.#counted.set(runtime, counted)
    counted.unknown++
    const name = what.slice(0, MAX_CHARACTERS).replaceAll(/[^\w .:/-]/g, "?")
    const known = counted.kinds.get(name)
    if (known !== undefined || counted.kinds.size < MAX_KINDS) counted.kinds.set(name, (known ?? 0) + 1)
  }

  /** A version of the runtime's program is on this machine. */
  saw(runtime: string, version: string): void {
    const versions = this.#versions.get(runtime) ?? new Set()
    this.#versions.set(runtime, versions)
    if (versions.size < MAX_VERSIONS) versions.add(version)
  }

  /** `undefined` where everything had a name. */
  of(runtime: string): RuntimeDrift | undefined {
    const counted = this.#counted.get(runtime)
    if (counted === undefined) return undefined
    const kinds = [...counted.kinds].map(([what, count]) => ({ what, count }))
    return {
      unknown: counted.unknown,
      kinds: kinds.toSorted((a, b) => b.count - a.count).slice(0, TOLD_KINDS),
      versionsSeen: [...(this.#versions.get(runtime) ?? [])]
    }
  }
}
