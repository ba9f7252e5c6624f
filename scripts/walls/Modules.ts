/** Modules of the repository: what each imports, types included. */
import { globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { parse } from "./Trees.ts"

export interface SourceModule {
  /** From the root of the repository, with `/`. */
  readonly path: string
  /** Paths of imported modules of the repository. Packages from outside are not in it. */
  readonly imports: ReadonlyArray<string>
}

const OWN_PACKAGE = /^@corral\/([a-z-]+)(?:\/(.+))?$/

const resolve = (from: string, specifier: string): string | undefined => {
  if (specifier.startsWith(".")) return join(dirname(from), specifier.replace(/\?.*$/, ""))
  const ownModule = OWN_PACKAGE.exec(specifier)
  return ownModule === null ? undefined : `packages/${ownModule[1]}/src/${ownModule[2] ?? "index"}.ts`
}

/** Imports of one source text. */
export const moduleOf = (path: string, text: string): SourceModule => {
  const { staticExports, staticImports } = parse(path, text).module
  const entries = staticExports.flatMap((each) => each.entries)
  const specifiers = [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
    ...[...text.matchAll(/\bimport\("([^"]+)"\)/g)].map(([, specifier = ""]) => specifier)
  ]
  return {
    path,
    imports: [...new Set(specifiers.flatMap((specifier) => resolve(path, specifier) ?? []))]
  }
}

/** Every module below `root` that a pattern of `globSync` finds. */
export const modulesOf = (root: string, patterns: ReadonlyArray<string>): ReadonlyArray<SourceModule> =>
  patterns
    .flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ["**/node_modules/**", "**/fixtures/**"] }))
    .map((path) => moduleOf(path, readFileSync(join(root, path), "utf8")))
