/**
 * Outputs without a name in an adapter since the Edge started, which show that a runtime has changed. Stores counts, names and one sample per
 * kind, in bounded memory.
 */
import { firstCharacters } from "@corral/domain/text/Cut"
import type { RuntimeDrift } from "@corral/domain/http/Health"

const MAX_KINDS = 1_000
const MAX_CHARACTERS = 200
const MAX_RAW = 2_000
const REPORTED_KINDS = 20
const MAX_VERSIONS = 20

interface Kind {
  count: number
  /** The first sample. */
  raw: string | undefined
}

interface Counted {
  unknown: number
  readonly kinds: Map<string, Kind>
}

export class Drift {
  readonly #counted = new Map<string, Counted>()
  readonly #versions = new Map<string, Set<string>>()

  /** `what` is a name of the runtime's protocol, `raw` the printed text, both without secrets. Kinds over the limit count in the total only. */
  count(runtime: string, what: string, raw?: string): void {
    const counted = this.#counted.get(runtime) ?? { unknown: 0, kinds: new Map<string, Kind>() }
    this.#counted.set(runtime, counted)
    counted.unknown++
    const name = what.slice(0, MAX_CHARACTERS).replaceAll(/[^\w .:/-]/g, "?")
    const kind = counted.kinds.get(name) ?? { count: 0, raw: undefined }
    kind.count++
    kind.raw ??= raw === undefined ? undefined : firstCharacters(raw, MAX_RAW)
    if (kind.count > 1 || counted.kinds.size < MAX_KINDS) counted.kinds.set(name, kind)
  }

  /** Records the version of a runtime's program. */
  record(runtime: string, version: string): void {
    const versions = this.#versions.get(runtime) ?? new Set()
    this.#versions.set(runtime, versions)
    if (versions.size < MAX_VERSIONS) versions.add(version)
  }

  /** `undefined` if every output had a name. */
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
      kinds: kinds.toSorted((a, b) => b.count - a.count).slice(0, REPORTED_KINDS),
      versionsSeen: [...(this.#versions.get(runtime) ?? [])]
    }
  }
}
