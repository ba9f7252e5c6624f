/** The lock file of `dist`: of the repository's own, what its manifest needs, with the hashes. */

interface Entry {
  readonly version?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}
export interface Lock {
  readonly packages: Readonly<Record<string, Entry>>
}
interface DistManifest {
  readonly name: string
  readonly version: string
  readonly dependencies: Readonly<Record<string, string | undefined>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** Where npm finds `name` from a package at `from`: in its own folder, else further up. */
const placeOf = ({ packages }: Lock, from: string, name: string): string | undefined => {
  for (let at = from; ; at = at.slice(0, at.lastIndexOf("node_modules/")).replace(/\/$/, "")) {
    const place = `${at === "" ? "" : `${at}/`}node_modules/${name}`
    if (packages[place] !== undefined) return place
    if (at === "") return undefined
  }
}

export const distLock = (lock: Lock, manifest: DistManifest): object => {
  const { dependencies, name, optionalDependencies, version } = manifest
  const needed = new Map<string, boolean>()
  const add = (
    from: string,
    names: Readonly<Record<string, string | undefined>> = {},
    isOptional: boolean
  ): void => {
    for (const each of Object.keys(names)) {
      const place = placeOf(lock, from, each)
      if (place === undefined) {
        if (isOptional) continue
        throw new Error(`${each} is not in the lock file`)
      }
      const existing = needed.get(place)
      if (existing === false || existing === isOptional) continue
      needed.set(place, isOptional)
      const entry = lock.packages[place] ?? {}
      add(place, entry.dependencies, isOptional)
      add(place, entry.optionalDependencies, true)
    }
  }
  add("", dependencies, false)
  add("", optionalDependencies, true)
  const entries = [...needed]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([place, isOptional]) => {
      // Marks of the repository's lock file: what is for development there may be needed here.
      const {
        dev: _dev,
        devOptional: _both,
        optional: _optional,
        peer: _peer,
        ...entry
      } = {
        dev: undefined,
        devOptional: undefined,
        optional: undefined,
        peer: undefined,
        ...lock.packages[place]
      }
      return [place, { ...entry, ...(isOptional ? { optional: true } : {}) }] as const
    })
  const { private: _private, type: _type, ...root } = { private: undefined, type: undefined, ...manifest }
  return {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { "": root, ...Object.fromEntries(entries) }
  }
}
