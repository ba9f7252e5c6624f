/**
 * Services that the types of public layers name: what a layer gives and what it needs. A program can use and provide only services that it can
 * import.
 */
import { parseSync, type TSType, type TSTypeReference, Visitor } from "oxc-parser"
import { posix } from "node:path"
import { readFileSync } from "node:fs"
import { declarationOf, type Module } from "./Modules.ts"
import { publicModules } from "./pack.ts"
import { packed } from "./packages.ts"

/** A service in the type of a layer, and the module that declares it; `undefined` for the module of the layer. */
interface NamedService {
  readonly name: string
  readonly address: string | undefined
}

/** `Layer` or `Layer.Layer`. */
const isLayer = ({ typeName }: TSTypeReference): boolean =>
  typeName.type === "Identifier"
    ? typeName.name === "Layer"
    : typeName.type === "TSQualifiedName" && typeName.right.name === "Layer"

/** Services of all layers in a declaration file. */
export const servicesIn = (text: string): ReadonlyArray<NamedService> => {
  const { module, program } = parseSync("module.d.ts", text)
  const imports = new Map(
    module.staticImports.flatMap(({ entries, moduleRequest }) =>
      entries.map(({ localName }) => [localName.value, moduleRequest.value] as const)
    )
  )
  const membersOf = (type: TSType): ReadonlyArray<NamedService> => {
    if (type.type === "TSUnionType") return type.types.flatMap(membersOf)
    if (type.type === "TSParenthesizedType") return membersOf(type.typeAnnotation)
    if (type.type === "TSImportType")
      return [{ name: text.slice(type.start, type.end), address: type.source.value }]
    if (type.type !== "TSTypeReference") return []
    const name = text.slice(type.typeName.start, type.typeName.end)
    return [{ name, address: imports.get(name.split(".", 1)[0] ?? "") }]
  }
  const found: Array<NamedService> = []
  new Visitor({
    TSTypeReference: (type) => {
      if (!isLayer(type)) return
      const [offered, , needed] = type.typeArguments?.params ?? []
      for (const services of [offered, needed]) if (services !== undefined) found.push(...membersOf(services))
    }
  }).visit(program)
  return found
}

/** Whether a program with the packages can import what the address in a module refers to. */
const isImportable = (address: string | undefined, from: Module): boolean => {
  if (address === undefined) return true
  const [, owner, path] = /^@corral\/([a-z]+)\/(.+)$/.exec(address) ?? []
  const module = address.startsWith(".")
    ? { owner: from.owner, path: posix.join(posix.dirname(from.path), address).replace(/\.ts$/, "") }
    : owner !== undefined && path !== undefined
      ? { owner, path }
      : undefined
  if (module === undefined) return true
  const other = packed.find(({ name }) => name === module.owner)
  return other !== undefined && publicModules(other).includes(module.path)
}

/** Services of public layers that programs cannot import, as `package/module: name`. */
export const hiddenServices = (): ReadonlyArray<string> =>
  packed.flatMap((each) =>
    publicModules(each).flatMap((path) => {
      const module = { owner: each.name, path }
      return [
        ...new Set(
          servicesIn(readFileSync(declarationOf(module), "utf8"))
            .filter(({ address }) => !isImportable(address, module))
            .map(({ name }) => `${each.name}/${path}: ${name}`)
        )
      ]
    })
  )
