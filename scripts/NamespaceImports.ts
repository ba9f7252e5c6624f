/**
 * Build plugin: imports of Effect's modules by their own files.
 *
 * `import { Effect } from "effect"` names a module that an index exports as a namespace. The bundler keeps such a module whole and calls
 * a getter for each use. Imported as `import * as Effect from "…/Effect.js"`, it keeps the functions in use and calls them directly.
 *
 * Does not: change sources, or move a line.
 */
import type { Plugin } from "esbuild"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type EcmaScriptModule, parseSync } from "oxc-parser"

const LIBRARY = /^(effect|@effect\/[a-z-]+)(\/|$)/

type StaticImport = EcmaScriptModule["staticImports"][number]

/** Files of the modules that an index exports as namespaces, by name. */
const namespacesOf = (index: string): ReadonlyMap<string, string> =>
  new Map(
    parseSync(index, readFileSync(index, "utf8"))
      .module.staticExports.flatMap(({ entries }) => entries)
      .flatMap(({ exportName, importName, moduleRequest }): ReadonlyArray<readonly [string, string]> =>
        importName.kind === "All" && exportName.name !== null && moduleRequest !== null
          ? [[exportName.name, join(dirname(index), moduleRequest.value)]]
          : []
      )
  )

/** The import with one statement for each namespace, on as many lines. */
export const splitImport = (
  text: string,
  { end, entries, moduleRequest, start }: StaticImport,
  namespaces: ReadonlyMap<string, string>
): string => {
  const original = text.slice(start, end)
  const values = entries.filter(({ isType }) => !isType)
  if (values.some(({ importName }) => importName.kind !== "Name")) return original
  const statements: Array<string> = []
  const others: Array<string> = []
  for (const { importName, localName } of values) {
    const file = namespaces.get(importName.name ?? "")
    if (file === undefined) others.push(`${importName.name} as ${localName.value}`)
    else statements.push(`import * as ${localName.value} from ${JSON.stringify(file)};`)
  }
  if (statements.length === 0) return original
  if (others.length > 0)
    statements.push(`import { ${others.join(", ")} } from ${JSON.stringify(moduleRequest.value)};`)
  return statements.join(" ") + original.replaceAll(/[^\n]/g, "")
}

/** Modules of this project's packages. */
export const SOURCES = /\/packages\/[^/]+\/src\/.*\.ts$/

/** Gives the file of a library. */
type ResolveLibrary = (library: string, resolveDir: string) => Promise<string>

const namespaces = new Map<string, ReadonlyMap<string, string>>()

const splitImports = async (path: string, resolve: ResolveLibrary): Promise<string> => {
  const text = readFileSync(path, "utf8")
  const { staticImports } = parseSync(path, text).module
  const parts: Array<string> = []
  let copied = 0
  for (const each of staticImports) {
    const library = each.moduleRequest.value
    if (!LIBRARY.test(library)) continue
    const index = await resolve(library, dirname(path))
    const found = namespaces.get(index) ?? namespacesOf(index)
    namespaces.set(index, found)
    parts.push(text.slice(copied, each.start), splitImport(text, each, found))
    copied = each.end
  }
  return parts.join("") + text.slice(copied)
}

/** Sources by their paths: the services share most of them. A process that bundles changes none. */
const sources = new Map<string, Promise<string>>()

export const namespaceImports: Plugin = {
  name: "namespace imports",
  setup: ({ onLoad, resolve }) => {
    const fileOf: ResolveLibrary = async (library, resolveDir) =>
      (await resolve(library, { kind: "import-statement", resolveDir })).path
    onLoad({ filter: SOURCES }, async ({ path }) => {
      const source = sources.get(path) ?? splitImports(path, fileOf)
      sources.set(path, source)
      return { contents: await source, loader: "ts" }
    })
  }
}
