/** Files of the repository that name its version, as they are for another version. Pure: text → text. */

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9a-z.]+)?$/
const DATE = /^\d{4}-\d{2}-\d{2}$/

export interface Release {
  readonly version: string
  readonly date: string
}

/** The release, or a sentence that says what is wrong with the arguments. */
export const parseRelease = ([version = "", date = ""]: ReadonlyArray<string>): Release | string =>
  !VERSION.test(version)
    ? `"${version}" is not a version. Expected a version such as 0.2.0, and a date such as 2026-11-23.`
    : !DATE.test(date)
      ? `"${date}" is not a date. Expected a date such as 2026-11-23.`
      : { version, date }

const FIELDS = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"] as const

type Manifest = { readonly version?: string } & {
  readonly [Field in (typeof FIELDS)[number]]?: Readonly<Record<string, string>>
}

/** Dependencies on packages of the repository have its version. */
const withVersion = (manifest: Manifest, version: string): object => ({
  ...manifest,
  version,
  ...Object.fromEntries(
    FIELDS.flatMap((field) => {
      const ranges = manifest[field]
      if (ranges === undefined) return []
      const changed = Object.entries(ranges).map(([name, range]) => [
        name,
        name.startsWith("@corral/") ? range.replace(/\d.*$/, version) : range
      ])
      return [[field, Object.fromEntries(changed)]]
    })
  )
})

const inOrderOf = (keys: ReadonlyArray<string>, value: object): object => {
  const entries = new Map(Object.entries(value))
  return Object.fromEntries(keys.map((key) => [key, entries.get(key)]))
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

export const manifestWithVersion = (text: string, version: string): string => {
  const manifest: Manifest = JSON.parse(text)
  return json(inOrderOf(Object.keys(manifest), withVersion(manifest, version)))
}

/** The entry for the registry of editors names its version twice. */
export const registryEntryWithVersion = (text: string, version: string): string => {
  const entry: { readonly version: string } = JSON.parse(text)
  return text
    .replaceAll(`"${entry.version}"`, `"${version}"`)
    .replaceAll(`@${entry.version}"`, `@${version}"`)
}

export const lockWithVersion = (text: string, version: string): string => {
  const lock: { readonly packages: Readonly<Record<string, Manifest>> } = JSON.parse(text)
  const packages = Object.entries(lock.packages).map(([place, entry]) => [
    place,
    place.includes("node_modules/") ? entry : inOrderOf(Object.keys(entry), withVersion(entry, version))
  ])
  return json({ ...lock, version, packages: Object.fromEntries(packages) })
}

export const moduleWithVersion = (text: string, version: string): string =>
  text.replace(/^export const VERSION = ".*"$/m, `export const VERSION = "${version}"`)

const PENDING = "## Pending\n"

/** Pending changes become those of the release. Throws if there are none, or if the version has a section. */
export const changelogWithRelease = (text: string, { date, version }: Release): string => {
  const [head, pending, ...more] = text.split(PENDING)
  if (head === undefined || pending === undefined || more.length > 0)
    throw new Error("CHANGELOG.md needs one section Pending.")
  if (text.includes(`\n## ${version} `)) throw new Error(`CHANGELOG.md has a section ${version} already.`)
  if (!/^- /m.test(pending.split("\n## ")[0] ?? "")) throw new Error("CHANGELOG.md has no pending changes.")
  return `${head}${PENDING}\n## ${version} (${date})\n${pending}`
}
