/** Imports of another package's test code. What tests share is in `packages/testing`. */
import type { SourceModule } from "./Modules.ts"

const ownerOf = (path: string): string => /^packages\/[^/]+/.exec(path)?.[0] ?? path.split("/")[0] ?? path

/** `importer > imported` */
export const harnessImports = (modules: ReadonlyArray<SourceModule>): ReadonlyArray<string> =>
  modules.flatMap(({ imports, path }) =>
    imports
      .filter((imported) => /^packages\/[^/]+\/test\//.test(imported) && ownerOf(imported) !== ownerOf(path))
      .map((imported) => `${path} > ${imported}`)
  )
