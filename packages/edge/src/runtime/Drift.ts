/**
 * What adapters had no name for since the Edge started: signs that a runtime has moved on. Counts, names, and one of each kind as it was
 * printed; in memory alone, and bounded whatever a runtime prints.
 */
import type { RuntimeDrift } from "@corral/domain/http/Health"

const MAX_KINDS = 1_000
const MAX_CHARACTERS = 200
const MAX_RAW = 2_000
const TOLD_KINDS = 20
const MAX_VERSIONS = 20

interface Kind {
  count: number
  /** The first that was told. */
  raw: string | undefined
}

interface Counted {
  unknown: number
  readonly kinds: Map<string, Kind>
}

export class Drift {
  readonly #counted = new Map<string, Counted>()
  readonly #versions = new Map<string, Set<string>>()

  /** `what` is a name of the runtime's protocol, `raw` what was printed, both without secrets. Kinds over the limit count in the sum alone. */
  count(runtime: string, what: string, raw?: string): void {
    const counted = this.#counted.get(runtime) ?? { unknown: 0, kinds: new Map<string, Kind>() }
    this.#counted.set(runtime, counted)
    counted.unknown++
    const name = what.slice(0, MAX_CHARACTERS).replaceAll(/[^\w .:/-]/g, "?")
    const kind = counted.kinds.get(name) ?? { count: 0, raw: undefined }
    kind.count++
    kind.raw ??= raw?.slice(0, MAX_RAW)
    if (kind.count > 1 || counted.kinds.size < MAX_KINDS) counted.kinds.set(name, kind)
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
    const kinds = [...counted.kinds].map(([what, { count, raw }]) => ({
      what,
      count,
      ...(raw === undefined ? {} : { raw })
    }))
    return {
      unknown: counted.unknown,
      kinds: kinds.toSorted((a, b) => b.count - a.count).slice(0, TOLD_KINDS),
      versionsSeen: [...(this.#versions.get(runtime) ?? [])]
    }
  }
}
