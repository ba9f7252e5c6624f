/** Names that more than one module exports. A name means one thing in the whole repository. A module and its form for browsers count as one. */
import type { SourceModule } from "./Modules.ts"

export interface SharedName {
  readonly name: string
  readonly paths: ReadonlyArray<string>
}

export const sharedNames = (modules: ReadonlyArray<SourceModule>): ReadonlyArray<SharedName> =>
  [
    ...Map.groupBy(
      modules
        .filter(({ path }) => !path.endsWith(".browser.ts"))
        .flatMap(({ exports, path }) => [...new Set(exports)].map((name) => ({ name, path }))),
      ({ name }) => name
    )
  ]
    .filter(([name, uses]) => name !== "default" && uses.length > 1)
    .map(([name, uses]) => ({ name, paths: uses.map(({ path }) => path).toSorted() }))
    .toSorted((one, other) => one.name.localeCompare(other.name))
