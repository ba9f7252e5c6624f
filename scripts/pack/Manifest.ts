/** `package.json` of a package as it is shipped. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Closure, root } from "./Modules.ts"
import { repositoryField } from "./Repository.ts"

/** `package.json` in the workspace, as far as it is read here. */
export interface SourceManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Libraries that an application has once: the application installs them. */
const shared = new Set(["effect", "@effect/platform-node", "@effect/sql-pg"])

/** Ending of a module that browsers load instead of the one without it. */
const BROWSER = ".browser"

export const isBrowserForm = (path: string): boolean => path.endsWith(BROWSER)

const entriesOf = (exported: ReadonlyArray<string>) => {
  const entry = (path: string) => ({
    types: `./lib/${path}.d.ts`,
    ...(exported.includes(`${path}${BROWSER}`) ? { browser: `./lib/${path}${BROWSER}.js` } : {}),
    default: `./lib/${path}.js`
  })
  return Object.fromEntries(
    exported.filter((path) => !isBrowserForm(path)).map((path) => [`./${path}`, entry(path)])
  )
}

/** Version of a library that some package of the workspace depends on. */
const versionIn = (name: string, manifests: ReadonlyArray<SourceManifest>): string => {
  const version = manifests
    .map(({ dependencies }) => dependencies?.[name])
    .find((found) => found !== undefined)
  if (version === undefined) throw new Error(`no package depends on ${name}`)
  return version
}

/** Declarations of libraries that have none themselves, as dependencies: the shipped declarations name their types. */
const declarationPackages = ({ libraries }: Closure): Readonly<Record<string, string>> => {
  const { devDependencies }: { readonly devDependencies: Readonly<Record<string, string>> } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8")
  )
  const names = [...libraries].map((name) => `@types/${name}`).filter((name) => name in devDependencies)
  return Object.fromEntries(names.map((name) => [name, devDependencies[name] ?? ""]))
}

export interface Closures {
  readonly code: Closure
  readonly types: Closure
}

export const manifestOf = (
  source: SourceManifest,
  exported: ReadonlyArray<string>,
  { code, types }: Closures,
  folders: ReadonlyArray<string>
) => {
  const service: SourceManifest = JSON.parse(
    readFileSync(join(root, "packages/service/package.json"), "utf8")
  )
  const names = [...new Set([...code.libraries, ...types.libraries])].toSorted()
  const versions = (of: ReadonlyArray<string>, range: (version: string) => string) =>
    Object.fromEntries(of.map((name) => [name, range(versionIn(name, [source, service]))]))
  const owners = [...code.imported, ...types.imported].map(({ owner }) => `@corral/${owner}`)
  return {
    name: source.name,
    version: source.version,
    description: source.description,
    license: source.license,
    ...repositoryField(`packages/${source.name.replace("@corral/", "")}`),
    type: "module",
    engines: { node: ">=22.19" },
    sideEffects: false,
    files: ["lib", ...folders],
    exports: {
      ...entriesOf(exported),
      "./package.json": "./package.json"
    },
    dependencies: {
      ...Object.fromEntries(owners.toSorted().map((name) => [name, source.version])),
      ...versions(
        names.filter((name) => !shared.has(name)),
        (version) => version
      ),
      ...declarationPackages(types)
    },
    peerDependencies: versions(
      names.filter((name) => shared.has(name)),
      (version) => `^${version}`
    )
  }
}
