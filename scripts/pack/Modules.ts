/**
 * Modules of a package as they are shipped: JavaScript with source maps, and declarations.
 *
 * The modules of `@corral/service` and `@corral/agent-host` are internal: each package contains those that it uses, in `service/` and `agent-host/`.
 */
import { transformSync } from "esbuild"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { isBuiltin } from "node:module"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { addressesIn, mapAddresses } from "./Specifiers.ts"

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** A module of the workspace: a package's name without its scope, and a path below `src` without its extension. */
export interface Module {
  readonly owner: string
  readonly path: string
}

/** Packages that are not shipped: others contain their modules. */
const internal: ReadonlySet<string> = new Set(["service", "agent-host"])

const isContained = (owner: string, module: Module): boolean =>
  module.owner === owner || internal.has(module.owner)

const keyOf = ({ owner, path }: Module): string => `${owner}/${path}`

const sourceOf = ({ owner, path }: Module): string => join(root, "packages", owner, "src", `${path}.ts`)
/** Written by `npm run declarations`. */
export const declarationOf = ({ owner, path }: Module): string =>
  join(root, ".build", owner, "src", `${path}.d.ts`)

/** JavaScript of a module, and its source map. */
const compiled = (module: Module): { readonly code: string; readonly map: string } =>
  transformSync(readFileSync(sourceOf(module), "utf8"), {
    loader: "ts",
    target: "node22",
    sourcemap: "external",
    sourcefile: `${posix.basename(module.path)}.ts`,
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } }
  })

/** The module that an address in another one refers to; `undefined` for a library or a file that is no module. */
const moduleAt = (address: string, from: Module): Module | undefined => {
  const [, owner, path] = /^@corral\/([a-z-]+)\/(.+)$/.exec(address) ?? []
  if (owner !== undefined && path !== undefined) return { owner, path }
  if (!/^\.\.?\/.*\.ts$/.test(address)) return undefined
  return { owner: from.owner, path: posix.join(posix.dirname(from.path), address.slice(0, -".ts".length)) }
}

/** What entries lead to, by code or by type. */
export interface Closure {
  /** The package's modules, and internal ones. */
  readonly contained: ReadonlyArray<Module>
  /** Modules of other packages. */
  readonly imported: ReadonlyArray<Module>
  /** Libraries, by package name. */
  readonly libraries: ReadonlySet<string>
}

/** Addresses in what is shipped of a module: its code, or its declarations. */
export const codeAddresses = (module: Module) => addressesIn("module.js", compiled(module).code)
export const declarationAddresses = (module: Module) =>
  addressesIn("module.d.ts", readFileSync(declarationOf(module), "utf8"))

export const closureOf = (
  owner: string,
  entries: ReadonlyArray<string>,
  addressesOf: typeof codeAddresses
): Closure => {
  const contained = new Map<string, Module>()
  const imported = new Map<string, Module>()
  const libraries = new Set<string>()
  const waiting: Array<Module> = entries.map((path) => ({ owner, path }))
  for (let module = waiting.pop(); module !== undefined; module = waiting.pop()) {
    const isInside = isContained(owner, module)
    const seen = isInside ? contained : imported
    if (seen.has(keyOf(module))) continue
    seen.set(keyOf(module), module)
    if (!isInside) continue
    for (const { value } of addressesOf(module)) {
      const found = moduleAt(value, module)
      if (found !== undefined) {
        if (existsSync(sourceOf(found))) waiting.push(found)
      } else if (/^[@a-z]/.test(value) && !isBuiltin(value)) {
        libraries.add(value.split("/", value.startsWith("@") ? 2 : 1).join("/"))
      }
    }
  }
  return { contained: [...contained.values()], imported: [...imported.values()], libraries }
}

/** Where a module lies below the package's `lib`, without its extension. */
const placeOf = (owner: string, module: Module): string =>
  module.owner === owner ? module.path : `${module.owner}/${module.path}`

/** The address of a module from another one's place. Addresses of libraries and of other packages stay. */
const relocation =
  (owner: string, module: Module) =>
  (address: string): string => {
    const found = moduleAt(address, module)
    if (found === undefined || !isContained(owner, found)) return address
    const path = posix.relative(posix.dirname(placeOf(owner, module)), placeOf(owner, found))
    return `${path.startsWith(".") ? path : `./${path}`}.js`
  }

const write = (file: string, text: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Writes `.js` and `.js.map` of a module below `lib`. */
export const writeCode = (owner: string, module: Module, lib: string): void => {
  const place = placeOf(owner, module)
  const { code, map } = compiled(module)
  const mapped = mapAddresses("module.js", code, relocation(owner, module))
  write(join(lib, `${place}.js`), `${mapped}//# sourceMappingURL=${posix.basename(place)}.js.map\n`)
  write(join(lib, `${place}.js.map`), map)
}

/** Writes `.d.ts` of a module below `lib`. */
export const writeDeclarations = (owner: string, module: Module, lib: string): void => {
  const text = readFileSync(declarationOf(module), "utf8")
  write(
    join(lib, `${placeOf(owner, module)}.d.ts`),
    mapAddresses("module.d.ts", text, relocation(owner, module))
  )
}
